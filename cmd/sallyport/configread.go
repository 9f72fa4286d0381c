package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sallyport/hook"
	"sallyport/trade"
	"sallyport/wire"
)

// configReader reads members of the configuration and gathers every error.
type configReader struct {
	raw  []byte
	home string
	errs []error
}

func (r *configReader) fail(v wire.Value, format string, args ...any) {
	r.failAt(v.Offset, format, args...)
}

func (r *configReader) failAt(offset int, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s: %s: %s", configName, place(r.raw, offset), fmt.Sprintf(format, args...)))
}

// object calls the field of each member and refuses unknown and repeated ones.
func (r *configReader) object(v wire.Value, where string, fields map[string]func(string, wire.Value)) {
	if v.Kind != wire.Object {
		r.fail(v, "%s is %s; an object is asked", subject(where), v.Kind)
		return
	}
	seen := make(map[string]bool, len(v.Members))
	for _, m := range v.Members {
		name := strings.TrimPrefix(where+"."+m.Name, ".")
		field, known := fields[m.Name]
		switch {
		case !known:
			keys := slices.Sorted(maps.Keys(fields))
			r.failAt(m.Offset, "the key %q is not known; the keys are %s", show(name), strings.Join(keys, ", "))
		case seen[m.Name]:
			r.failAt(m.Offset, "the key %q is given twice", name)
		default:
			field(name, m.Value)
		}
		seen[m.Name] = true
	}
}

func subject(where string) string {
	if where == "" {
		return "the file"
	}
	return where
}

func (r *configReader) text(name string, v wire.Value) (string, bool) {
	if v.Kind != wire.String {
		r.fail(v, "%s is %s; text is asked", name, v.Kind)
		return "", false
	}
	return v.Text, true
}

func (r *configReader) name(name string, v wire.Value) string {
	s, ok := r.text(name, v)
	if ok && !isName(s) {
		r.fail(v, "%s %q is not 1 to 64 of A-Z a-z 0-9 . _ -", name, show(s))
	}
	return s
}

// isName reports whether s can be the name of an agent or an account.
//
//limit:config-name The name of an agent has 1 to 64 characters, each of them one of A-Z a-z 0-9 . _ and -.
func isName(s string) bool {
	_, ok := trade.ParseClientOrderID(s) // the same characters
	return ok && len(s) <= 64
}

func (r *configReader) path(name string, v wire.Value) string {
	s, ok := r.text(name, v)
	switch {
	case !ok:
		return ""
	case s == "" || strings.ContainsRune(s, 0):
		r.fail(v, "%s is not a path", name)
		return ""
	case filepath.IsAbs(s):
		return filepath.Clean(s)
	}
	return filepath.Join(r.home, s)
}

// maxSources bounds how many sources of quotes there are beside file.
//
//limit:config-sources The configuration names at most 8 sources of quotes beside file.
const maxSources = 8

// sources takes the paths of more quotes files, by name.
func (r *configReader) sources(name string, v wire.Value) map[string]string {
	if v.Kind != wire.Object {
		r.fail(v, "%s is %s; an object is asked", name, v.Kind)
		return nil
	}
	if len(v.Members) > maxSources {
		r.fail(v, "%s names %d sources; at most %d are taken", name, len(v.Members), maxSources)
		return nil
	}
	all := map[string]string{}
	for _, m := range v.Members {
		_, twice := all[m.Name]
		switch {
		case !isSourceName(m.Name) || m.Name == "file":
			r.failAt(m.Offset, "%s names %q; a name of 1 to 32 of a-z 0-9 - _ after a letter is asked, and not file, which is quotes", name, show(m.Name))
		case twice:
			r.failAt(m.Offset, "the key %q is given twice", show(name+"."+m.Name))
		default:
			all[m.Name] = r.path(name+"."+show(m.Name), m.Value)
		}
	}
	return all
}

// isSourceName reports whether a policy can name quotes so.
//
//limit:config-source-name A source of quotes is named by 1 to 32 of a-z 0-9 - _, the first of them a letter.
func isSourceName(s string) bool {
	if len(s) < 1 || len(s) > 32 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func (r *configReader) boolean(name string, v wire.Value) bool {
	if v.Kind != wire.Bool {
		r.fail(v, "%s is %s; true or false is asked", name, v.Kind)
	}
	return v.Text == "true"
}

func (r *configReader) paper(name string, v wire.Value, c *config) {
	r.object(v, name, map[string]func(string, wire.Value){
		"cash": func(n string, v wire.Value) {
			s, ok := r.text(n, v)
			if !ok {
				return
			}
			if c.Cash, ok = trade.ParseDecimal(s); !ok || c.Cash.Sign() == 0 {
				r.fail(v, `%s %q is not a plain decimal above zero such as "100000.00"`, n, show(s))
			}
		},
	})
}

// word takes one of some words.
func (r *configReader) word(name string, v wire.Value, words ...string) string {
	s, ok := r.text(name, v)
	if ok && !slices.Contains(words, s) {
		r.fail(v, "%s %q is not known; use one of %s", name, show(s), strings.Join(words, ", "))
	}
	return s
}

// money takes an amount that bounds orders.
func (r *configReader) money(name string, v wire.Value) *trade.Decimal {
	s, ok := r.text(name, v)
	if !ok {
		return nil
	}
	d, ok := trade.ParseDecimal(s)
	if !ok {
		r.fail(v, `%s %q is not a plain decimal such as "2500.00"`, name, show(s))
	}
	return &d
}

// integer takes a whole number within bounds.
func (r *configReader) integer(name string, v wire.Value, least, most int64) int64 {
	n, err := strconv.ParseInt(v.Text, 10, 64)
	switch {
	case v.Kind != wire.Number:
		r.fail(v, "%s is %s; a whole number is asked", name, v.Kind)
	case err != nil || n < least || n > most:
		r.fail(v, "%s %s is not a whole number from %d to %d", name, show(v.Text), least, most)
	}
	return n
}

// list calls the reader of each element of an array of at most so many.
func (r *configReader) list(name string, v wire.Value, most int, element func(string, wire.Value)) {
	if v.Kind != wire.Array {
		r.fail(v, "%s is %s; an array is asked", name, v.Kind)
		return
	}
	if len(v.Elems) > most {
		r.fail(v, "%s has %d elements; at most %d are taken", name, len(v.Elems), most)
		return
	}
	for i, e := range v.Elems {
		element(fmt.Sprintf("%s[%d]", name, i), e)
	}
}

func (r *configReader) guards(v wire.Value) []hook.Guard {
	guards, err := hook.ParseGuards(v, nil)
	if err != nil {
		r.fail(v, "%v", err)
	}
	return guards
}

func (r *configReader) deadlines(name string, v wire.Value, d *deadlines) {
	r.object(v, name, map[string]func(string, wire.Value){
		//limit:config-deadline-outcome The deadline of an outcome is 1 s to 1 h.
		"outcome": func(n string, v wire.Value) { d.Outcome = r.duration(n, v, time.Second, time.Hour) },
		//limit:config-deadline-send The deadline of a send is 100 ms to 60 s.
		"send": func(n string, v wire.Value) { d.Send = r.duration(n, v, 100*time.Millisecond, time.Minute) },
		//limit:config-deadline-broker The wait for a broker's answer is 100 ms to 60 s.
		"broker": func(n string, v wire.Value) { d.Broker = r.duration(n, v, 100*time.Millisecond, time.Minute) },
		//limit:config-deadline-lock The wait for the journal's lock is 10 ms to 10 s.
		"lock": func(n string, v wire.Value) { d.Lock = r.duration(n, v, 10*time.Millisecond, 10*time.Second) },
	})
}

func (r *configReader) duration(name string, v wire.Value, least, most time.Duration) time.Duration {
	s, ok := r.text(name, v)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		r.fail(v, `%s %q is not a duration such as "10s"`, name, show(s))
	case d < least || d > most:
		r.fail(v, "%s %s is not between %v and %v", name, d, least, most)
	}
	return d
}
