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
// it. The daemon, which may be of a newer release than the record, finds it out for itself. A process that must answer soon
// denies where finding it out takes longer than it has, and says what does it without a deadline.
//
//limit:gate-policy-tests A policy whose own tests fail, or that has tests and nothing that runs them, is not loaded: POLICY_TESTS_FAIL.
//limit:gate-policy-proof A policy with a bound that no made-up order passes is not loaded: POLICY_INVALID.
func (g *Gate) sound(v PolicyView) *policy.Reason {
	if !g.cfg.Daemon && g.loaded() == v.SHA256 {
		return nil
	}
	if g.cfg.ProveWithin == 0 {
		return soundness(v, g.cfg.Trial)
	}
	found := make(chan *policy.Reason, 1)
	go func() { found <- soundness(v, g.cfg.Trial) }() // it ends with the process
	select {
	case r := <-found:
		return r
	case <-time.After(g.cfg.ProveWithin):
	}
	return &policy.Reason{
		Code: policy.PolicyUnproved, Field: "policy",
		Message: fmt.Sprintf("whether the policy is sound was not found out within %s, so nothing is allowed; once the operator has run 'sallyport policy validate' it is on record", g.cfg.ProveWithin),
	}
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

// soundness never panics: what it cannot find out is no.
func soundness(v PolicyView, trial Trial) (why *policy.Reason) {
	defer func() {
		if p := recover(); p != nil {
			why = &policy.Reason{Code: policy.InternalError, Field: "policy", Message: fmt.Sprintf("the policy's bounds could not be proved, so nothing is allowed: %v", p)}
		}
	}()
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
// bytes; in a journal of an earlier release that the state begins to remember; and what the broker
// shows of an account that was never looked at.
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
	if by.look.shows(at) {
		all = g.seen(v, by.look)
	}
	if v.Book == nil {
		return all
	}
	if !st.Remembers() {
		all = append(all, ledger.HistoryBegan{})
	}
	if st.PolicyLoaded() != v.SHA256 {
		all = append(all, ledger.PolicyLoaded{SHA256: v.SHA256, Version: 2, Tests: len(v.Book.Tests())})
	}
	return all
}

// Prepare prepares the journal for the policy in force, so that the first order is judged like every other, and a short
// process believes that the policy is sound. Where a daemon has the data directory only the daemon does so.
func (g *Gate) Prepare(ctx context.Context) error {
	by := g.basis(ctx)
	if ready, err := g.prepared(ctx, by); ready || err != nil {
		return err
	}
	return g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		g.prepare(tx, at, by)
		return nil
	})
}

// Prepared reports whether everything is on record that the policy in force needs, or is for a daemon to record.
func (g *Gate) Prepared(ctx context.Context) (bool, error) { return g.prepared(ctx, g.basis(ctx)) }

func (g *Gate) prepared(ctx context.Context, by basis) (ready bool, err error) {
	err = g.journal.Read(ctx, func() error {
		ready = g.follow.state.Owned() && !g.cfg.Daemon || len(g.unprepared(g.now(), by)) == 0
		return nil
	})
	return ready, err
}
