package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"sallyport/wire"
)

// status is what an examination found.
type status string

// The statuses; only a finding makes the exit code 1.
const (
	statusOK      status = "ok"
	statusNote    status = "note"
	statusFinding status = "finding"
)

// found is one result of an examination.
type found struct {
	name   string
	status status
	detail string
	repair string // of a finding
}

// examination gathers what is found. Each step goes on as far as it can, so that one run tells everything.
type examination struct {
	app     *app
	home    string
	cfg     config
	results []found
}

func (e *examination) ok(name, format string, args ...any) {
	e.results = append(e.results, found{name, statusOK, fmt.Sprintf(format, args...), ""})
}

func (e *examination) note(name, format string, args ...any) {
	e.results = append(e.results, found{name, statusNote, fmt.Sprintf(format, args...), ""})
}

func (e *examination) finding(name, repair, format string, args ...any) {
	e.results = append(e.results, found{name, statusFinding, fmt.Sprintf(format, args...), repair})
}

// problem adds an error with its own repair.
func (e *examination) problem(name string, err error) {
	var p *problem
	if errors.As(err, &p) {
		e.finding(name, p.repair, "%s", p.what)
		return
	}
	e.finding(name, "", "%s", plain(err))
}

func (e *examination) number(s status) (n int) {
	for _, r := range e.results {
		if r.status == s {
			n++
		}
	}
	return n
}

// report prints the results, and ends with exit code 1 if there is a finding.
func (e *examination) report() error {
	bad := e.number(statusFinding)
	var err error
	if e.app.json {
		err = e.app.printJSON(e.appendJSON(nil, bad))
	} else {
		err = e.app.printLines(func(w *bufio.Writer) error {
			w.WriteString(e.describe(bad))
			return nil
		})
	}
	if err != nil || bad == 0 {
		return err
	}
	return result(exitDenied)
}

func (e *examination) describe(bad int) string {
	p := e.app.color()
	var b strings.Builder
	for _, r := range e.results {
		word, color := "ok  ", p.green
		switch r.status {
		case statusNote:
			word, color = "note", p.yellow
		case statusFinding:
			word, color = "BAD ", p.red
		case statusOK:
		}
		const margin = "                      "
		lines := indent(margin, showLines(r.detail))
		fmt.Fprintf(&b, "%s  %-14s  %s", color(word), r.name, strings.TrimPrefix(lines, margin))
		if r.repair != "" {
			b.WriteString(indent(margin, "-> "+r.repair))
		}
	}
	switch notes := uint64(e.number(statusNote)); {
	case bad > 0:
		b.WriteString("\n" + plural(uint64(bad), "finding") + ".\n")
	case notes > 0:
		b.WriteString("\nNo findings; " + plural(notes, "note") + ".\n")
	default:
		b.WriteString("\nAll is well.\n")
	}
	return b.String()
}

func (e *examination) appendJSON(b []byte, bad int) []byte {
	b = append(wire.AppendName(append(b, '{'), "ok"), trueOrFalse(bad == 0)...)
	b = wire.AppendOptional(b, "data_dir", e.home)
	b = append(wire.AppendName(b, "checks"), '[')
	for i, r := range e.results {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendText(append(b, '{'), "name", r.name)
		b = wire.AppendText(b, "status", string(r.status))
		b = wire.AppendText(b, "detail", masked(r.detail))
		b = append(wire.AppendOptional(b, "repair", masked(r.repair)), '}')
	}
	return append(b, "]}"...)
}
