package subject_test

import (
	"fmt"
	"net/netip"

	"github.com/edgelimit/edgelimit/shared-contract/secret"
	"github.com/edgelimit/edgelimit/shared-contract/subject"
)

// A service and the gateway that share a secret name one subject alike.
func ExampleDigester() {
	shared, err := secret.FromFile([]byte("correct-horse-battery-staple-123\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	digester := subject.NewDigester(shared)
	fmt.Println(digester.Digest(subject.Name("client-1")))

	client, err := subject.IP(netip.MustParseAddr("2001:db8:1:1::1"), 64)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(digester.Digest(client))
	// Output:
	// 3C0KyIlCBlbRiD4kC7bJMz8WDPoCex5PmZ6RBaj7uwg
	// ZEFOXZoWYKjnQrVNg37Tq5bqV3jV--r618Zfc_71wPE
}
