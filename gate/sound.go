package gate

import (
	"context"
	"fmt"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
)

// Trial runs the tests that a policy of version 2 brings along. The error says which failed, and how.
type Trial func(raw []byte, book *policy.Rulebook) error

// refuse takes a policy out of force for a reason; nil changes nothing.
func (v *PolicyView) refuse(r *policy.Reason) {
	if r != nil {
		v.Policy, v.Book, v.zone, v.Reason = nil, nil, nil, r
	}
}

// sound says why a policy of version 2 is not loaded: its own tests fail, or a bound of it can be seen to stop nothing. It
// is found out once for these bytes; that it was found is on record, so that a process which lives for one call believes
// it. The daemon, which may be of a newer release than the record, finds it out for itself.
//
//limit:gate-policy-tests A policy whose own tests fail, or that has tests and nothing that runs them, is not loaded: POLICY_TESTS_FAIL.
//limit:gate-policy-proof A policy with a bound that no made-up order passes is not loaded: POLICY_INVALID.
func (g *Gate) sound(v PolicyView) *policy.Reason {
	if !g.cfg.Daemon && g.loaded() == v.SHA256 {
		return nil
	}
	return soundness(v, g.cfg.Trial)
}

// loaded returns the SHA-256 of the policy that the journal has as loaded; empty if it cannot be read, which is no harm.
func (g *Gate) loaded() (sum string) {
	if g.journal == nil {
		return ""
	}
	_ = g.journal.Read(context.Background(), func() error {
		sum = g.follow.state.PolicyLoaded()
		return nil
	})
	return sum
}

func soundness(v PolicyView, trial Trial) *policy.Reason {
	for _, p := range v.Book.Prove() {
		if p.Stops == nil {
			return &policy.Reason{
				Code: policy.PolicyInvalid, Field: p.Limit, Rule: p.Rule,
				Message: fmt.Sprintf("the policy is not valid, so nothing is allowed: no order can pass the bound %s of %s in the rule %s", p.Bound, p.Limit, p.Rule),
			}
		}
	}
	err := error(nil)
	switch n := len(v.Book.Tests()); {
	case n > 0 && trial == nil:
		err = fmt.Errorf("this process cannot run its %d tests", n)
	case n > 0:
		err = try(v, trial)
	}
	if err == nil {
		return nil
	}
	return &policy.Reason{
		Code: policy.PolicyTestsFail, Field: "tests",
		Message: fmt.Sprintf("the policy's own tests fail, so nothing is allowed: %v", err),
	}
}

// try runs the tests; a panic of one is a failure.
func try(v PolicyView, trial Trial) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a test could not be run: %v", p)
		}
	}()
	return trial(v.Raw, v.Book)
}

// prepare records what a policy of version 2 needs before anything is judged by it: that it was loaded, once for these
// bytes; in a journal of an earlier release that the state begins to remember; and that an account of which the broker has
// told nothing yet is empty.
//
//limit:gate-remembers A journal that a policy of version 2 first judges on begins to remember then; what was before is not known, and limits that count it deny.
func (g *Gate) prepare(tx *journal.Tx, at time.Time, by basis) {
	for _, e := range g.unprepared(at, by) {
		g.recordIn(tx, streamPeople, at, e)
	}
}

// unprepared returns what is still to be recorded.
func (g *Gate) unprepared(at time.Time, by basis) (all []ledger.Event) {
	v, st := by.policy, g.follow.state
	if v.Book == nil {
		return nil
	}
	if !st.Remembers() {
		all = append(all, ledger.HistoryBegan{})
	}
	if st.PolicyLoaded() != v.SHA256 {
		all = append(all, ledger.PolicyLoaded{SHA256: v.SHA256, Version: 2, Tests: len(v.Book.Tests())})
	}
	if !st.Knows(g.cfg.Account) && by.look.shows(at) && by.look.empty() {
		all = append(all, ledger.AccountSeen{Account: g.cfg.Account})
	}
	return all
}

// begin prepares the journal for the policy in force, so that the first order is judged like every other.
func (g *Gate) begin(ctx context.Context) error {
	by, left := g.basis(ctx), 0
	err := g.journal.Read(ctx, func() error {
		left = len(g.unprepared(g.now(), by))
		return nil
	})
	if err != nil || left == 0 {
		return err
	}
	return g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		g.prepare(tx, at, by)
		return nil
	})
}
