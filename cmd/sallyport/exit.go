package main

import (
	"errors"
	"fmt"
	"strings"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// The exit codes that scripts rely on. The command hook alone uses only 0 and 2.
const (
	exitFine     = 0 // allowed, executed, or nothing found
	exitDenied   = 1 // denied, rejected, not known to be executed, or a finding
	exitUsage    = 2 // wrong usage or configuration
	exitInternal = 3 // a failure of ours
	exitHeld     = 4 // a person must decide

	exitInterrupted = 130 // a question or a search was interrupted, as for every program that SIGINT ends
)

// problem is an error for people: what is wrong, and what they can do about it.
type problem struct {
	exit   int
	what   string
	repair string
	code   trade.Code // a stable code, where the cause has one
}

// Error returns what is wrong, without the repair.
func (p *problem) Error() string { return p.what }

// coded gives a problem its stable code.
func (p *problem) coded(c trade.Code) *problem {
	p.code = c
	return p
}

// appendJSON appends the one object that a command with --json prints when it fails.
func (p *problem) appendJSON(b []byte) []byte {
	b = append(wire.AppendName(append(b, '{'), "error"), '{')
	b = wire.AppendOptional(b, "code", string(p.code))
	b = wire.AppendText(b, "message", masked(strings.TrimPrefix(p.what, string(p.code)+": ")))
	return append(wire.AppendText(b, "repair", masked(p.repair)), "}}"...)
}

// usage returns a problem of usage or configuration.
func usage(repair, format string, args ...any) *problem {
	return &problem{exit: exitUsage, what: fmt.Sprintf(format, args...), repair: repair}
}

// finding returns a problem that a check found.
func finding(repair, format string, args ...any) *problem {
	return &problem{exit: exitDenied, what: fmt.Sprintf(format, args...), repair: repair}
}

// internal returns a failure of ours or of the machine.
func internal(err error) *problem { return &problem{exit: exitInternal, what: plain(err)} }

// problemOf returns what a command's error says to people; what is not classified is a failure of ours.
func problemOf(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	return internal(err)
}

// silent ends a command with a code whose cause has been printed already.
type silent int

// Error is never shown.
func (s silent) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

// codeOfDecision returns the exit code of one decision: 0 only for what was allowed and did not fail.
func codeOfDecision(d ledger.Decision) int {
	switch d.Verdict {
	case policy.Hold:
		if d.State == ledger.ApprovalDeclined || d.State == ledger.ApprovalWithdrawn || d.State == ledger.ApprovalExpired {
			return exitDenied
		}
		return exitHeld
	case policy.Allow:
		if d.State == ledger.Failed || d.State == ledger.OutcomeUnknown {
			return exitDenied
		}
		return exitFine
	}
	for i := range d.Reasons {
		if d.Reasons[i].Code == "INTERNAL_ERROR" {
			return exitInternal
		}
	}
	return exitDenied
}

// result turns an exit code into a command's error.
func result(code int) error {
	if code == exitFine {
		return nil
	}
	return silent(code)
}
