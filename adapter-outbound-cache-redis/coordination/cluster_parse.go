package coordination

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
)

var errSlotsReply = errors.New("the reply to CLUSTER SLOTS cannot be read")

// readSlots reads a raw RESP2 reply to CLUSTER SLOTS. A node that does not know
// its own host is at host, which is where the reply came from. Whatever breaks the
// form, overlaps, or covers nothing is an error.
func readSlots(raw []byte, host string) (*slotMap, error) {
	all, rest, err := readValue(raw, deepestSlots)
	if err != nil || len(rest) != 0 || all.kind != '*' {
		return nil, errSlotsReply
	}
	m := &slotMap{}
	for _, entry := range all.items {
		if err := m.take(entry, host); err != nil {
			return nil, err
		}
	}
	if len(m.masters) == 0 {
		return nil, errors.New("the node knows of no slot that is served")
	}
	return m, nil
}

// take adds one range: its first and last slot, its master, its replicas.
func (m *slotMap) take(entry value, host string) error {
	if entry.kind != '*' || len(entry.items) < 3 || entry.items[0].kind != ':' || entry.items[1].kind != ':' {
		return errSlotsReply
	}
	first, last := entry.items[0].number, entry.items[1].number
	if first < 0 || last >= Slots || first > last {
		return fmt.Errorf("%w: slots %d to %d", errSlotsReply, first, last)
	}
	addr, err := addrOf(entry.items[2], host)
	if err != nil {
		return err
	}
	index := slices.Index(m.masters, addr)
	if index < 0 {
		if len(m.masters) == math.MaxUint16-1 {
			return fmt.Errorf("%w: too many masters", errSlotsReply)
		}
		index = len(m.masters)
		m.masters = append(m.masters, addr)
	}
	for slot := first; slot <= last; slot++ {
		if m.owners[slot] != 0 {
			return fmt.Errorf("%w: slot %d is named twice", errSlotsReply, slot)
		}
		m.owners[slot] = uint16(index + 1)
	}
	return nil
}

// addrOf is host:port of a node, which is its host, its port, its id and more.
func addrOf(node value, host string) (string, error) {
	if node.kind != '*' || len(node.items) < 3 || node.items[0].kind != '$' || node.items[1].kind != ':' {
		return "", errSlotsReply
	}
	named, port := node.items[0].text, node.items[1].number
	if named == "" {
		named = host
	}
	if named == "?" || port < 1 || port > math.MaxUint16 {
		return "", fmt.Errorf("%w: a master at %q, port %d", errSlotsReply, named, port)
	}
	return net.JoinHostPort(named, strconv.FormatInt(port, 10)), nil
}

// deepestSlots is how deep a reply to CLUSTER SLOTS nests: ranges, nodes, what more
// is known of one.
const deepestSlots = 4

// value is one value of a RESP2 reply.
type value struct {
	kind   byte // one of : $ *
	number int64
	text   string // "" for nil
	items  []value
}

// readValue takes one value off raw. No length that raw announces allocates more
// than raw holds.
func readValue(raw []byte, depth int) (value, []byte, error) {
	line, rest, ok := bytes.Cut(raw, []byte("\r\n"))
	if !ok || len(line) < 2 {
		return value{}, nil, errSlotsReply
	}
	n, err := strconv.ParseInt(string(line[1:]), 10, 64)
	if err != nil {
		return value{}, nil, errSlotsReply
	}
	v := value{kind: line[0], number: n}
	switch {
	case v.kind == ':', v.kind == '$' && n == -1:
		return v, rest, nil
	case v.kind == '$' && n >= 0 && n <= int64(len(rest))-2 && string(rest[n:n+2]) == "\r\n":
		v.text = string(rest[:n])
		return v, rest[n+2:], nil
	case v.kind == '*' && n >= 0 && n <= int64(len(rest)) && depth > 0:
		for range n {
			var item value
			if item, rest, err = readValue(rest, depth-1); err != nil {
				return value{}, nil, err
			}
			v.items = append(v.items, item)
		}
		return v, rest, nil
	default:
		return value{}, nil, errSlotsReply
	}
}
