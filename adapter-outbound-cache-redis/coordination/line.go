package coordination

// line is calls that wait, in order of arrival, each of which can leave at once. The
// pool's lock guards it.
type line struct {
	first, last *job
	length      int
}

func (l *line) add(j *job) {
	j.inLine, j.before, j.after = true, l.last, nil
	if l.last == nil {
		l.first = j
	} else {
		l.last.after = j
	}
	l.last = j
	l.length++
}

// remove takes out j, which is in the line.
func (l *line) remove(j *job) {
	if j.before == nil {
		l.first = j.after
	} else {
		j.before.after = j.after
	}
	if j.after == nil {
		l.last = j.before
	} else {
		j.after.before = j.before
	}
	j.inLine, j.before, j.after = false, nil, nil
	l.length--
}
