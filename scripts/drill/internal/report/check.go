package report

import (
	"errors"
	"fmt"
	"strings"

	"github.com/edgelimit/edgelimit/scripts/drill/internal/tally"
)

// Check tells whether text is the report of a full drill of this code that states
// the accepted risk, or fail-closed, as its own figures give it. Its error lists
// what is wrong.
func Check(text, code string) error {
	r, err := Read(text)
	if err != nil {
		return fmt.Errorf("it cannot be read: %w", err)
	}
	var errs []error
	if r.Code != code {
		errs = append(errs, fmt.Errorf("it is of the code %s, and this is %s", r.Code, code))
	}
	if r.Form != Full {
		errs = append(errs, fmt.Errorf("it is of the %s form, and only the full one is evidence", r.Form))
	}
	for _, s := range r.Scenarios {
		if risk := s.Risk(r); !strings.Contains(text, "\n"+risk+"\n") {
			errs = append(errs, fmt.Errorf("it does not state the risk of %q as its figures give it: %s", s.Name(), risk))
		}
	}
	for _, s := range r.Scenarios {
		for i, f := range s.Phases {
			if sum := f.Admitted + f.Denied + f.Refused + f.Failed; sum != f.Requests {
				errs = append(errs, fmt.Errorf("%s, %s: the answers add up to %d of %d requests", s.Name(), tally.Names[i], sum, f.Requests))
			}
		}
	}
	for _, broken := range r.Broken() {
		errs = append(errs, errors.New(broken))
	}
	if len(errs) == 0 {
		errs = append(errs, same(text, r.Text()))
	}
	return errors.Join(errs...)
}

// same names the first line in which the page is not what its figures give.
func same(got, want string) error {
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i, line := range wantLines {
		if i >= len(gotLines) {
			return fmt.Errorf("it ends before line %d: %s", i+1, line)
		}
		if gotLines[i] != line {
			return fmt.Errorf("line %d is not what the figures give: %q, want %q", i+1, gotLines[i], line)
		}
	}
	if len(gotLines) > len(wantLines) {
		return fmt.Errorf("line %d is one too many: %q", len(wantLines)+1, gotLines[len(wantLines)])
	}
	return nil
}
