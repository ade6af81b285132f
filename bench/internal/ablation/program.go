package ablation

// Program is what the forms of an algorithm's program cost.
type Program struct {
	Name    string
	Whole   Cost   // one decision a call
	One     Cost   // the batch program, of one decision a call
	Batch   Cost   // and of a full batch
	Savings []Cost // as [Savings] has them
	Steps   []Cost // as [Steps] has them
}

// others are the forms that are neither savings nor steps.
const others = 3

// FamilyOf is the forms of an algorithm's program; a full batch is of that many keys.
func FamilyOf(whole, batch Script, keys int) (Family, error) {
	savings, err := Savings(whole)
	if err != nil {
		return nil, err
	}
	cut, err := Steps(whole)
	if err != nil {
		return nil, err
	}
	family := Family{whole, batch.Sized(1), batch.Sized(keys)}
	return append(append(family, cut...), savings...), nil
}

// ProgramOf reads the costs of a [FamilyOf].
func ProgramOf(costs []Cost) Program {
	return Program{
		Name: costs[0].Name, Whole: costs[0], One: costs[1], Batch: costs[2],
		Steps: costs[others : others+len(steps)], Savings: costs[others+len(steps):],
	}
}
