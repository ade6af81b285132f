package coordination

import (
	"errors"
	"fmt"
	"strings"
)

// Slots is how many slots a cluster's keys are spread over.
const Slots = 16384

var errCrossSlot = errors.New("the keys of one call are not of one slot")

// Slot is the slot of a key on a Redis Cluster: the CRC16 of its hash tag, which
// is what stands between its first brace and the next closing one, or of the whole
// key if that is nothing.
func Slot(key string) int {
	if _, after, open := strings.Cut(key, "{"); open {
		if tag, _, closed := strings.Cut(after, "}"); closed && tag != "" {
			key = tag
		}
	}
	return int(crc16(key)) % Slots
}

// crc16 is CRC-16/XMODEM: polynomial 0x1021, no reflection, initial value 0.
func crc16(text string) uint16 {
	var crc uint16
	for i := range len(text) {
		crc ^= uint16(text[i]) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return crc
}

// slotOf is the one slot of all keys.
func slotOf(keys []string) (int, error) {
	if len(keys) == 0 || keys[0] == "" {
		return 0, errors.New("a call without keys has no slot")
	}
	slot := Slot(keys[0])
	for _, key := range keys[1:] {
		if other := Slot(key); other != slot {
			return 0, fmt.Errorf("%w: %d and %d", errCrossSlot, slot, other)
		}
	}
	return slot, nil
}

// slotMap says which master serves which slot. It does not change once made.
type slotMap struct {
	owners  [Slots]uint16 // 1 + an index of masters; 0 is nobody
	masters []string      // host:port
}

// owner is the address of the master of slot, "" if there is none.
func (m *slotMap) owner(slot int) string {
	if m.owners[slot] == 0 {
		return ""
	}
	return m.masters[m.owners[slot]-1]
}

// unserved are the first and the last slot that nobody serves, and how many there
// are.
func (m *slotMap) unserved() (first, last, count int) {
	for slot, owner := range m.owners {
		if owner != 0 {
			continue
		}
		if count == 0 {
			first = slot
		}
		last, count = slot, count+1
	}
	return first, last, count
}
