package gate_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// clock is moved by hand.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Now().UTC().Truncate(time.Second)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// office is a daemon's gate with people: the owner olga, who approves, and the approver anna; ben may not approve.
type office struct {
	*gate.Gate
	v     *venue
	clock *clock
	cfg   gate.Config
	olga  gate.Person
	anna  gate.Person
	ben   gate.Person
	creds map[string]string
}

func newOffice(t testing.TB, edit ...func(*gate.Config)) *office {
	t.Helper()
	return newOfficeAt(t, newClock(), edit...)
}

func newOfficeAt(t testing.TB, at *clock, edit ...func(*gate.Config)) *office {
	t.Helper()
	o := &office{v: &venue{}, clock: at, creds: map[string]string{}}
	o.v.clock = o.clock.now
	o.Gate = open(t, o.v, func(c *gate.Config) {
		c.Daemon, c.Now = true, o.clock.now
		gate.Impatient(c)
		for _, f := range edit {
			f(c)
		}
		o.cfg = *c
	})
	o.creds["olga"] = must(o.MakeOwner(ctx, gate.PersonTerms{Name: "olga", Approver: true}))(t)
	o.olga = o.person(t, "olga")
	o.creds["anna"] = must(o.AddPerson(ctx, o.olga, gate.PersonTerms{Name: "anna", Approver: true, Telegram: 77}))(t)
	o.creds["ben"] = must(o.AddPerson(ctx, o.olga, gate.PersonTerms{Name: "ben"}))(t)
	o.anna, o.ben = o.person(t, "anna"), o.person(t, "ben")
	return o
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (o *office) person(t testing.TB, name string) gate.Person {
	t.Helper()
	return must(o.Identify(ctx, o.creds[name], "test"))(t)
}

func (o *office) propose(t testing.TB, c gate.Call) ledger.Decision {
	t.Helper()
	d := o.Propose(ctx, c)
	if d.State != ledger.ApprovalPending || d.Verdict != policy.Hold || !d.Held() {
		t.Fatalf("proposed: %s", d.AppendJSON(nil))
	}
	return d
}

func press(p gate.Person, d ledger.Decision) gate.Press {
	return gate.Press{By: p, Proposal: d.Intent, Digest: d.Order.Digest()}
}

func (o *office) state(t testing.TB, d ledger.Decision) ledger.AuditState {
	t.Helper()
	now, _, err := o.History(ctx, d.Intent)
	if err != nil {
		t.Fatal(err)
	}
	return now.State
}

// attempts returns the refused attempts on record, as action, who and code.
func (o *office) attempts(t testing.TB) (all []string) {
	t.Helper()
	for _, e := range events(t, o.Gate) {
		if a, ok := e.(ledger.AttemptRefused); ok {
			all = append(all, a.Action+" "+a.By+" "+string(a.Code))
		}
	}
	return all
}

// wantRefused makes sure that an attempt was refused with that code, and is on record.
func (o *office) wantRefused(t testing.TB, err error, code trade.Code) {
	t.Helper()
	var r *gate.Refusal
	if !errors.As(err, &r) || r.Code != code {
		t.Errorf("error %v; want the refusal %s", err, code)
	}
	if all := o.attempts(t); len(all) == 0 || !strings.HasSuffix(all[len(all)-1], " "+string(code)) {
		t.Errorf("attempts on record: %v; want one with %s", all, code)
	}
}

func buy(t testing.TB, quantity string, edit ...func(*gate.Call)) gate.Call {
	return call(t, "buy", "AAPL", quantity, "100.00", edit...)
}

func tier(n trade.Tier) func(*gate.Call)     { return func(c *gate.Call) { c.Tier = n } }
func byAgent(a trade.Agent) func(*gate.Call) { return func(c *gate.Call) { c.Origin.Agent = a } }

func inSession(s trade.Session) func(*gate.Call) { return func(c *gate.Call) { c.Origin.Session = s } }

//attack:gate-approved-once
//fault:f56
func TestApprovedProposalIsExecutedOnceAtOnce(t *testing.T) {
	o := newOffice(t)
	d := o.propose(t, buy(t, "10", tier(trade.TierPropose)))
	if o.v.submits() != 0 {
		t.Fatal("a proposal reached the broker")
	}
	done, err := o.Approve(ctx, press(o.anna, d))
	if err != nil || done.State != ledger.Succeeded || o.v.submits() != 1 || !slices.Equal(done.ApprovedBy, []string{"anna"}) {
		t.Fatalf("%v, %d submits: %s", err, o.v.submits(), done.AppendJSON(nil))
	}
	_, err = o.Approve(ctx, press(o.olga, d))
	o.wantRefused(t, err, policy.ProposalEnded)
	if err := o.Settle(ctx); err != nil || o.v.submits() != 1 {
		t.Fatalf("%v, %d submits", err, o.v.submits())
	}
	if got, err := o.Proposal(ctx, "local", d.Intent); err != nil || got.State != ledger.Succeeded || got.OrderStatus() != "filled" {
		t.Fatalf("%v: %s", err, got.AppendJSON(nil))
	}
}

func TestDeniedProposalReachesNobody(t *testing.T) {
	o := newOffice(t)
	d := o.Propose(ctx, buy(t, "201", tier(trade.TierPropose)))
	wantDecision(t, d, policy.Deny, ledger.Blocked, "QUANTITY_EXCEEDS_LIMIT NOTIONAL_EXCEEDS_LIMIT ")
	if ps, err := o.Proposals(ctx); err != nil || len(ps) != 0 {
		t.Fatalf("%v, %v", ps, err)
	}
	_, err := o.Approve(ctx, press(o.anna, d))
	o.wantRefused(t, err, policy.ProposalUnknown)
}

// TestEveryActionInEveryState tries each transition of the proposal machine from each state: only those that the table
// names happen, and each refused one is recorded and changes nothing.
//
//attack:ledger-approval
//attack:gate-approve-once
//attack:gate-attempts
//attack:ledger-proposal-expiry
//fault:f53
func TestEveryActionInEveryState(t *testing.T) {
	two := func(c *gate.Config) { d := trade.Whole(100); c.Approval.TwoAbove = &d }
	states := map[string]func(t *testing.T, o *office, d ledger.Decision){
		"pending":       func(*testing.T, *office, ledger.Decision) {},
		"half approved": func(t *testing.T, o *office, d ledger.Decision) { must(o.Approve(ctx, press(o.olga, d)))(t) },
		"executed": func(t *testing.T, o *office, d ledger.Decision) {
			must(o.Approve(ctx, press(o.olga, d)))(t)
			must(o.Approve(ctx, press(o.anna, d)))(t)
		},
		"declined": func(t *testing.T, o *office, d ledger.Decision) { must(o.Decline(ctx, press(o.olga, d)))(t) },
		"withdrawn": func(t *testing.T, o *office, d ledger.Decision) {
			must(o.Withdraw(ctx, buy(t, "1").Origin, trade.TierPropose, d.Intent, ""))(t)
		},
		"expired": func(t *testing.T, o *office, d ledger.Decision) {
			o.clock.pass(30 * time.Minute)
			if err := o.Settle(ctx); err != nil {
				t.Fatal(err)
			}
		},
		"blocked": func(t *testing.T, o *office, d ledger.Decision) {
			o.writePolicy(t, strings.Replace(openPolicy, "200", "150", 1))
			if _, err := o.Approve(ctx, press(o.olga, d)); err == nil {
				t.Fatal("approved under another policy")
			}
		},
	}
	actions := map[string]func(t *testing.T, o *office, d ledger.Decision) error{
		"approve by anna": func(t *testing.T, o *office, d ledger.Decision) error {
			_, err := o.Approve(ctx, press(o.anna, d))
			return err
		},
		"approve by olga": func(t *testing.T, o *office, d ledger.Decision) error {
			_, err := o.Approve(ctx, press(o.olga, d))
			return err
		},
		"decline": func(t *testing.T, o *office, d ledger.Decision) error {
			_, err := o.Decline(ctx, press(o.anna, d))
			return err
		},
		"withdraw": func(t *testing.T, o *office, d ledger.Decision) error {
			_, err := o.Withdraw(ctx, buy(t, "1").Origin, trade.TierPropose, d.Intent, "no longer")
			return err
		},
		"expire": func(t *testing.T, o *office, d ledger.Decision) error {
			o.clock.pass(30 * time.Minute)
			return o.Settle(ctx)
		},
	}
	const (
		pending   = ledger.ApprovalPending
		executed  = ledger.Succeeded
		declined  = ledger.ApprovalDeclined
		withdrawn = ledger.ApprovalWithdrawn
		expired   = ledger.ApprovalExpired
		blocked   = ledger.Blocked
	)
	want := map[string]map[string]ledger.AuditState{
		"pending":       {"approve by anna": pending, "approve by olga": pending, "decline": declined, "withdraw": withdrawn, "expire": expired},
		"half approved": {"approve by anna": executed, "approve by olga": pending, "decline": declined, "withdraw": withdrawn, "expire": expired},
	}
	ends := map[string]ledger.AuditState{"executed": executed, "declined": declined, "withdrawn": withdrawn, "expired": expired, "blocked": blocked}
	refused := map[string]bool{"half approved/approve by olga": true}
	for state, reach := range states {
		for action, act := range actions {
			t.Run(state+"/"+action, func(t *testing.T) {
				o := newOffice(t, two)
				d := o.propose(t, buy(t, "2"))
				reach(t, o, d)
				before, submits := len(o.attempts(t)), o.v.submits()
				err := act(t, o, d)
				end, over := ends[state]
				if !over {
					end = want[state][action]
				}
				if got := o.state(t, d); got != end {
					t.Errorf("state %s; want %s", got, end)
				}
				no := (over || refused[state+"/"+action]) && action != "expire"
				if no != (err != nil) || no != (len(o.attempts(t)) == before+1) {
					t.Errorf("error %v, %d attempts on record; refused is %v", err, len(o.attempts(t))-before, no)
				}
				sent := 0
				if state == "half approved" && action == "approve by anna" {
					sent = 1
				}
				if o.v.submits() != submits+sent {
					t.Errorf("%d orders reached the broker; want %d", o.v.submits()-submits, sent)
				}
			})
		}
	}
}

func (o *office) writePolicy(t testing.TB, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(o.cfg.Home, gate.PolicyName), []byte(text), gate.FileMode); err != nil {
		t.Fatal(err)
	}
}

//attack:gate-approver-listed
//attack:gate-digest-bound
//fault:f56
func TestPressThatDoesNotCount(t *testing.T) {
	o := newOffice(t)
	d, other := o.propose(t, buy(t, "10")), o.propose(t, buy(t, "20"))
	swapped := press(o.anna, d)
	swapped.Digest = other.Order.Digest()
	removed := must(o.AddPerson(ctx, o.olga, gate.PersonTerms{Name: "rita", Approver: true}))(t)
	rita := must(o.Identify(ctx, removed, "test"))(t)
	if err := o.RemovePerson(ctx, o.olga, "rita"); err != nil {
		t.Fatal(err)
	}
	stale := o.anna
	o.creds["anna"] = must(o.RotatePerson(ctx, o.olga, "anna"))(t)
	unknown := press(o.olga, d)
	unknown.Proposal = "01M8Q1KZD2BVJHH0XMW6MMPXER"
	for name, c := range map[string]struct {
		press gate.Press
		code  trade.Code
	}{
		"nobody":                     {press(gate.Person{}, d), policy.PersonUnknown},
		"not an approver":            {press(o.ben, d), policy.NotAnApprover},
		"another proposal's digest":  {swapped, policy.PersonUnknown}, // anna has another credential by now
		"removed since":              {press(rita, d), policy.PersonUnknown},
		"another credential since":   {press(stale, d), policy.PersonUnknown},
		"no digest":                  {gate.Press{By: o.olga, Proposal: d.Intent}, policy.DigestMismatch},
		"another one's digest":       {gate.Press{By: o.olga, Proposal: d.Intent, Digest: other.Order.Digest()}, policy.DigestMismatch},
		"a proposal that is not one": {unknown, policy.ProposalUnknown},
		"no proposal":                {gate.Press{By: o.olga}, policy.ProposalUnknown},
	} {
		for action, act := range map[string]func(gate.Press) error{
			"approve": func(p gate.Press) error { _, err := o.Approve(ctx, p); return err },
			"decline": func(p gate.Press) error { _, err := o.Decline(ctx, p); return err },
		} {
			t.Run(name+"/"+action, func(t *testing.T) {
				o.wantRefused(t, act(c.press), c.code)
				if o.state(t, d) != ledger.ApprovalPending || o.v.submits() != 0 {
					t.Errorf("%s, %d submits", o.state(t, d), o.v.submits())
				}
			})
		}
	}
}

// TestTwoPressesAtOnce: many presses of several people arrive at the same time, and one execution comes of it.
func TestTwoPressesAtOnce(t *testing.T) {
	o := newOffice(t)
	d := o.propose(t, buy(t, "10"))
	var wg sync.WaitGroup
	var mu sync.Mutex
	counted := 0
	for i := range 20 {
		p := o.anna
		if i%2 == 1 {
			p = o.olga
		}
		wg.Go(func() {
			if _, err := o.Approve(ctx, press(p, d)); err == nil {
				mu.Lock()
				counted++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if counted != 1 || o.v.submits() != 1 || len(o.attempts(t)) != 19 {
		t.Fatalf("%d presses counted, %d orders, %d attempts refused", counted, o.v.submits(), len(o.attempts(t)))
	}
}

func TestTwoApproversAreTwoPersons(t *testing.T) {
	o := newOffice(t, func(c *gate.Config) { d := trade.Whole(1000); c.Approval.TwoAbove = &d })
	at := o.propose(t, buy(t, "10"))
	if d := must(o.Approve(ctx, press(o.anna, at)))(t); d.State != ledger.Succeeded {
		t.Fatalf("exactly the bound needs one person: %s", d.AppendJSON(nil))
	}
	over := o.propose(t, buy(t, "11"))
	if d := must(o.Approve(ctx, press(o.anna, over)))(t); d.State != ledger.ApprovalPending || over.Hold.Approvers != 2 {
		t.Fatalf("one of two: %s", d.AppendJSON(nil))
	}
	_, err := o.Approve(ctx, press(o.anna, over))
	o.wantRefused(t, err, policy.AlreadyApproved)
	if d := must(o.Approve(ctx, press(o.olga, over)))(t); d.State != ledger.Succeeded || len(d.ApprovedBy) != 2 {
		t.Fatalf("two of two: %s", d.AppendJSON(nil))
	}
	if o.v.submits() != 2 {
		t.Fatalf("%d submits", o.v.submits())
	}
}

// TestProposalOfAnAgentThatIsGoneEnds: whom the owner removes has nothing left to be approved.
//
//attack:gate-approval-revoked
func TestProposalOfAnAgentThatIsGoneEnds(t *testing.T) {
	o := newOffice(t)
	must(o.AddAgent(ctx, o.olga, "bot", trade.TierPropose))(t)
	d, other := o.propose(t, buy(t, "10", byAgent("bot"))), o.propose(t, buy(t, "11"))
	if err := o.RemoveAgent(ctx, o.olga, "bot"); err != nil {
		t.Fatal(err)
	}
	_, err := o.Approve(ctx, press(o.anna, d))
	o.wantRefused(t, err, policy.ProposalEnded)
	if o.v.submits() != 0 || o.state(t, d) != ledger.ApprovalWithdrawn || o.state(t, other) != ledger.ApprovalPending {
		t.Fatalf("%d submits, %s, %s", o.v.submits(), o.state(t, d), o.state(t, other))
	}
}

// TestApprovalWithAClockThatIsBehindDoesNotCount: no time can be trusted, that of an expiry neither.
//
//attack:gate-clock-halts
func TestApprovalWithAClockThatIsBehindDoesNotCount(t *testing.T) {
	o := newOffice(t)
	d := o.propose(t, buy(t, "10"))
	o.clock.pass(-6 * time.Second)
	_, err := o.Approve(ctx, press(o.anna, d))
	o.wantRefused(t, err, policy.KillSwitchActive)
	if o.v.submits() != 0 || o.state(t, d) != ledger.ApprovalPending {
		t.Fatalf("%d submits, %s", o.v.submits(), o.state(t, d))
	}
}

// TestApprovalOfSomebodyWhoIsGoneDoesNotCount: one of two approvers is removed, or gets another credential, before the
// other presses.
//
//attack:gate-approval-revoked
func TestApprovalOfSomebodyWhoIsGoneDoesNotCount(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *office){
		"removed": func(t *testing.T, o *office) {
			if err := o.RemovePerson(ctx, o.olga, "anna"); err != nil {
				t.Fatal(err)
			}
		},
		"rotated": func(t *testing.T, o *office) { must(o.RotatePerson(ctx, o.olga, "anna"))(t) },
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, func(c *gate.Config) { d := trade.Whole(100); c.Approval.TwoAbove = &d })
			d, other := o.propose(t, buy(t, "10")), o.propose(t, buy(t, "11"))
			must(o.Approve(ctx, press(o.anna, d)))(t)
			change(t, o)
			_, err := o.Approve(ctx, press(o.olga, d))
			o.wantRefused(t, err, policy.ProposalExpired)
			if o.v.submits() != 0 || o.state(t, d) != ledger.ApprovalExpired || o.state(t, other) != ledger.ApprovalPending {
				t.Fatalf("%d submits, %s, %s", o.v.submits(), o.state(t, d), o.state(t, other))
			}
		})
	}
}

//attack:gate-proposal-expires
//attack:gate-proposal-most
//fault:f52
func TestExpiryIsStrict(t *testing.T) {
	o := newOffice(t)
	d := o.propose(t, buy(t, "10"))
	o.clock.pass(30*time.Minute - time.Microsecond)
	if got := must(o.Approve(ctx, press(o.anna, d)))(t); got.State != ledger.Succeeded {
		t.Fatalf("a microsecond before its expiry: %s", got.AppendJSON(nil))
	}
	d = o.propose(t, buy(t, "11"))
	o.clock.pass(30 * time.Minute)
	wrong := press(o.anna, d)
	wrong.Digest = trade.Digest{}
	_, err := o.Approve(ctx, wrong)
	o.wantRefused(t, err, policy.ProposalExpired) // whatever is wrong besides
	_, err = o.Approve(ctx, press(o.anna, d))
	o.wantRefused(t, err, policy.ProposalExpired) // also once that is on record
	if o.state(t, d) != ledger.ApprovalExpired {
		t.Fatal(o.state(t, d))
	}
	for _, bad := range []time.Duration{24*time.Hour + 1, -1} {
		cfg := config(t.TempDir(), nil)
		cfg.Approval.Expires = bad
		if _, err := gate.Open(ctx, cfg); err == nil {
			t.Errorf("proposals may live for %s", bad)
		}
	}
}

// TestApprovalIsAsGoodAsItsTime approves in time, and the process ends before the order is sent.
//
//attack:gate-execute-within
//fault:f61
func TestApprovalIsAsGoodAsItsTime(t *testing.T) {
	for name, c := range map[string]struct {
		pass time.Duration
		want ledger.AuditState
		sent int
	}{
		"in time":  {15*time.Second - time.Microsecond, ledger.Succeeded, 1},
		"too late": {15 * time.Second, ledger.ApprovalExpired, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			d := o.propose(t, buy(t, "10"))
			o.Gate = o.crashAt(t, "approved", func(g *gate.Gate) { _, _ = g.Approve(ctx, press(o.anna, d)) })
			if o.state(t, d) != ledger.ApprovalGranted || o.v.submits() != 0 {
				t.Fatalf("%s, %d submits", o.state(t, d), o.v.submits())
			}
			o.clock.pass(c.pass)
			if err := o.Settle(ctx); err != nil {
				t.Fatal(err)
			}
			if o.state(t, d) != c.want || o.v.submits() != c.sent {
				t.Fatalf("%s, %d submits", o.state(t, d), o.v.submits())
			}
		})
	}
}

// crashAt runs act on a gate of its own that ends at a step, as a process that is killed there, and opens another.
func (o *office) crashAt(t *testing.T, step string, act func(*gate.Gate)) *gate.Gate {
	t.Helper()
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	doomed := must(gate.Open(ctx, gate.WithStep(o.cfg, func(s string) {
		if s == step {
			panic("the process ends at " + s)
		}
	})))(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Fatalf("it never came to the step %q", step)
			}
		}()
		act(doomed)
	}()
	if err := doomed.Close(); err != nil {
		t.Fatal(err)
	}
	return reopen(t, o.cfg)
}

// TestWhatChangesBetweenApprovalAndExecutionDenies approves an order and changes something before it is executed.
//
//attack:gate-policy-changed
//attack:gate-approve-killed
//fault:f62
func TestWhatChangesBetweenApprovalAndExecutionDenies(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*testing.T, *office)
		code   trade.Code
	}{
		"the policy, tighter": {func(t *testing.T, o *office) { o.writePolicy(t, strings.Replace(openPolicy, "200", "5", 1)) }, policy.PolicyChanged},
		"the policy, looser":  {func(t *testing.T, o *office) { o.writePolicy(t, strings.Replace(openPolicy, "200", "500", 1)) }, policy.PolicyChanged},
		"the policy, no more": {func(t *testing.T, o *office) { o.writePolicy(t, "{") }, policy.PolicyChanged},
		"a kill": {func(t *testing.T, o *office) {
			must(o.Kill(ctx, gate.StopRequest{Local: "test", Reason: "stop"}))(t)
		}, policy.KillSwitchActive},
		"a kill of the symbol": {func(t *testing.T, o *office) {
			must(o.Kill(ctx, gate.StopRequest{Scope: ledger.Scope{Kind: ledger.OneSymbol, Name: "AAPL"}, Local: "test", Reason: "stop"}))(t)
		}, policy.KillSwitchActive},
		"a stop file": {func(t *testing.T, o *office) {
			must(gate.WriteStopFile(o.cfg.Home, ledger.Stop{By: "test", Reason: "stop"}))(t)
		}, policy.KillSwitchActive},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			d := o.propose(t, buy(t, "10"))
			o.Gate = o.crashAt(t, "approved", func(g *gate.Gate) { _, _ = g.Approve(ctx, press(o.anna, d)) })
			c.change(t, o)
			if err := o.Settle(ctx); err != nil {
				t.Fatal(err)
			}
			now, _, err := o.History(ctx, d.Intent)
			if err != nil || now.State != ledger.Blocked || o.v.submits() != 0 || !strings.Contains(codes(now), string(c.code)) {
				t.Fatalf("%v, %d submits: %s", err, o.v.submits(), now.AppendJSON(nil))
			}
		})
		t.Run(name+", before the approval", func(t *testing.T) {
			o := newOffice(t)
			d := o.propose(t, buy(t, "10"))
			c.change(t, o)
			_, err := o.Approve(ctx, press(o.anna, d))
			o.wantRefused(t, err, c.code)
			if o.v.submits() != 0 {
				t.Fatalf("%d submits", o.v.submits())
			}
		})
	}
}

// TestApprovalDoesNotOutliveWhatItUses: the position that a proposed sale would use is used up before the approval.
func TestApprovalDoesNotOutliveWhatItUses(t *testing.T) {
	o := newOffice(t)
	wantDecision(t, o.Execute(ctx, buy(t, "10")), policy.Allow, ledger.Succeeded, "")
	d := o.propose(t, call(t, "sell", "AAPL", "10", "100.00"))
	if again := o.Execute(ctx, call(t, "sell", "AAPL", "1", "100.00")); again.Verdict != policy.Deny {
		t.Fatalf("a proposed sale reserves what it would sell: %s", again.AppendJSON(nil))
	}
	if _, err := o.Reduce(ctx, o.ben, call(t, "sell", "AAPL", "1", "100.00").Order); err != nil {
		t.Fatalf("what an agent proposes bars a person's way out: %v", err)
	}
	o.v.mu.Lock() // and the broker's own position goes
	o.v.event(gate.VenueFill, gate.Cleared{Order: call(t, "sell", "AAPL", "5", "100.00").Order, ID: "other"}, trade.Whole(5))
	o.v.mu.Unlock()
	if err := o.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	_, err := o.Approve(ctx, press(o.anna, d))
	o.wantRefused(t, err, policy.KillSwitchActive) // nobody's decision explains that sale
	if err := o.Reset(ctx, o.olga, ledger.Scope{Kind: ledger.OneAccount, Name: "paper"}, "it was mine"); err != nil {
		t.Fatal(err)
	}
	_, err = o.Approve(ctx, press(o.anna, d))
	o.wantRefused(t, err, policy.ShortSaleNotAllowed)
	if o.v.submits() != 2 || o.state(t, d) != ledger.Blocked {
		t.Fatalf("%d submits, %s", o.v.submits(), o.state(t, d))
	}
}

func TestSameProposalCollapses(t *testing.T) {
	o := newOffice(t)
	d := o.propose(t, buy(t, "10"))
	again := o.Propose(ctx, buy(t, "10"))
	if again.Intent != d.Intent || !again.Repeated || again.State != ledger.ApprovalPending {
		t.Fatalf("%s", again.AppendJSON(nil))
	}
	if other := o.Propose(ctx, buy(t, "10", byAgent("other"))); other.Intent == d.Intent || other.State != ledger.ApprovalPending {
		t.Fatalf("another agent's: %s", other.AppendJSON(nil))
	}
	if ps := must(o.Proposals(ctx))(t); len(ps) != 2 {
		t.Fatalf("%d open", len(ps))
	}
}

//attack:gate-open-proposals
func TestPeopleAreNotFlooded(t *testing.T) {
	o := newOffice(t)
	for i := range 5 {
		o.propose(t, buy(t, string(rune('1'+i))))
	}
	d := o.Propose(ctx, buy(t, "9"))
	wantDecision(t, d, policy.Deny, ledger.Blocked, "PROPOSALS_EXCEED_LIMIT ")
	o.propose(t, buy(t, "9", byAgent("other")))
	o.clock.pass(30 * time.Minute)
	o.propose(t, buy(t, "9"))
}

//attack:gate-withdraw-own
func TestAgentWithdrawsItsOwn(t *testing.T) {
	o := newOffice(t)
	d := o.propose(t, buy(t, "10"))
	for _, end := range []bool{false, true} {
		if end {
			must(o.Withdraw(ctx, buy(t, "1").Origin, trade.TierPropose, d.Intent, ""))(t)
		}
		before := len(o.attempts(t))
		got, err := o.Withdraw(ctx, buy(t, "1", byAgent("other")).Origin, trade.TierExecute, d.Intent, "")
		var r *gate.Refusal
		if !errors.As(err, &r) || r.Code != policy.ProposalUnknown || got.Intent != "" || len(o.attempts(t)) != before+1 {
			t.Fatalf("ended %v: %v: %s", end, err, got.AppendJSON(nil))
		}
	}
	d = o.propose(t, buy(t, "10"))
	var err error
	_, err = o.Withdraw(ctx, buy(t, "1").Origin, trade.TierRead, d.Intent, "")
	o.wantRefused(t, err, policy.TierTooLow)
	if _, err := o.Proposal(ctx, "other", d.Intent); err == nil {
		t.Fatal("another agent's proposal is shown")
	}
	if o.state(t, d) != ledger.ApprovalPending {
		t.Fatal(o.state(t, d))
	}
}

// TestHeldOrderOfAnExecutingSurface: an order above the bound waits for a person wherever it comes from.
func TestHeldOrderOfAnExecutingSurface(t *testing.T) {
	o := newOffice(t, holdAbove1000)
	wantDecision(t, o.Execute(ctx, buy(t, "10")), policy.Allow, ledger.Succeeded, "")
	d := o.Execute(ctx, buy(t, "11", withOrder("c-1")))
	wantDecision(t, d, policy.Hold, ledger.ApprovalPending, "APPROVAL_REQUIRED ")
	if again := o.Execute(ctx, buy(t, "11", withOrder("c-1"))); !again.Repeated || again.Intent != d.Intent {
		t.Fatalf("%s", again.AppendJSON(nil))
	}
	if got := must(o.Approve(ctx, press(o.anna, d)))(t); got.State != ledger.Succeeded || o.v.submits() != 2 {
		t.Fatalf("%d submits: %s", o.v.submits(), got.AppendJSON(nil))
	}
	if check := o.Check(ctx, buy(t, "11")); check.Verdict != policy.Hold {
		t.Fatalf("a dry run: %s", check.AppendJSON(nil))
	}
}

func holdAbove1000(c *gate.Config) { d := trade.Whole(1000); c.Approval.HoldAbove = &d }

//attack:gate-new-hold
func TestNewReasonForHoldingEndsTheProposal(t *testing.T) {
	o := newOffice(t)
	d := o.propose(t, buy(t, "11"))
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	holdAbove1000(&o.cfg)
	o.Gate = reopen(t, o.cfg)
	_, err := o.Approve(ctx, press(o.anna, d))
	o.wantRefused(t, err, policy.ApprovalRequired)
	if o.state(t, d) != ledger.Blocked || o.v.submits() != 0 {
		t.Fatalf("%s, %d submits", o.state(t, d), o.v.submits())
	}
}

// TestHoldAtAHook: after the approval the same call of that session is permitted once, until the proposal expires.
func TestHoldAtAHook(t *testing.T) {
	held := func(t *testing.T, o *office) ledger.Decision {
		d := o.Authorize(ctx, buy(t, "11", atHook, withCall("c1")))
		wantDecision(t, d, policy.Hold, ledger.ApprovalPending, "APPROVAL_REQUIRED ")
		if again := o.Authorize(ctx, buy(t, "11", atHook, withCall("c2"))); again.Intent != d.Intent || again.State != ledger.ApprovalPending {
			t.Fatalf("the same call again: %s", again.AppendJSON(nil))
		}
		return d
	}
	granted := func(t *testing.T, o *office) {
		d := held(t, o)
		if got := must(o.Approve(ctx, press(o.anna, d)))(t); got.State != ledger.ApprovalGranted || o.v.submits() != 0 {
			t.Fatalf("%s", got.AppendJSON(nil))
		}
	}
	t.Run("once", func(t *testing.T) {
		o := newOffice(t, holdAbove1000)
		granted(t, o)
		if d := o.Authorize(ctx, buy(t, "11", atHook, withCall("c3"), inSession("other"))); d.Verdict == policy.Allow {
			t.Fatalf("another session: %s", d.AppendJSON(nil))
		}
		wantDecision(t, o.Authorize(ctx, buy(t, "12", atHook, withCall("c4"))), policy.Hold, ledger.ApprovalPending, "APPROVAL_REQUIRED ")
		d := o.Authorize(ctx, buy(t, "11", atHook, withCall("c5")))
		wantDecision(t, d, policy.Allow, ledger.Allowed, "")
		if next := o.Authorize(ctx, buy(t, "11", atHook, withCall("c6"))); next.Verdict == policy.Allow {
			t.Fatalf("the approval was used twice: %s", next.AppendJSON(nil))
		}
		rep, found, err := o.Report(ctx, report(buy(t, "11", atHook, withCall("c5")), trade.Accepted))
		if err != nil || !found || rep.Intent != d.Intent || rep.State != ledger.Succeeded {
			t.Fatalf("%v, found %v: %s", err, found, rep.AppendJSON(nil))
		}
	})
	t.Run("and then through us", func(t *testing.T) {
		o := newOffice(t, holdAbove1000)
		granted(t, o)
		wantDecision(t, o.Authorize(ctx, buy(t, "11", atHook, withCall("c3"))), policy.Allow, ledger.Allowed, "")
		d := o.Execute(ctx, buy(t, "11", withCall("c3")))
		wantDecision(t, d, policy.Allow, ledger.Succeeded, "")
		if again := o.Execute(ctx, buy(t, "11", withCall("c3"))); !again.Repeated || o.v.submits() != 1 {
			t.Fatalf("%d submits: %s", o.v.submits(), again.AppendJSON(nil))
		}
	})
	for name, change := range map[string]func(*testing.T, *office){
		"after its expiry":    func(_ *testing.T, o *office) { o.clock.pass(30 * time.Minute) },
		"after a policy edit": func(t *testing.T, o *office) { o.writePolicy(t, strings.Replace(openPolicy, "200", "300", 1)) },
		"after a kill":        func(t *testing.T, o *office) { must(o.Kill(ctx, gate.StopRequest{Local: "x", Reason: "y"}))(t) },
		"after a permission and a policy edit": func(t *testing.T, o *office) {
			wantDecision(t, o.Authorize(ctx, buy(t, "11", atHook, withCall("c8"))), policy.Allow, ledger.Allowed, "")
			o.writePolicy(t, strings.Replace(openPolicy, "200", "300", 1))
			if d := o.Execute(ctx, buy(t, "11", withCall("c8"))); d.Verdict != policy.Deny || !strings.Contains(codes(d), "POLICY_CHANGED") || o.v.submits() != 0 {
				t.Fatalf("a permission that people approved under another policy: %s", d.AppendJSON(nil))
			}
		},
		"after a withdrawal": func(t *testing.T, o *office) { o.withdrawAll(t) },
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, holdAbove1000)
			granted(t, o)
			change(t, o)
			if d := o.Authorize(ctx, buy(t, "11", atHook, withCall("c9"))); d.Verdict == policy.Allow {
				t.Fatalf("%s", d.AppendJSON(nil))
			}
		})
	}
}

func (o *office) withdrawAll(t *testing.T) {
	for _, p := range must(o.Proposals(ctx))(t) {
		must(o.Withdraw(ctx, buy(t, "1").Origin, trade.TierPropose, p.Intent, ""))(t)
	}
}

// TestHeldCallThatRanAllTheSame: a harness that ignores the hold is on record, with its exposure.
func TestHeldCallThatRanAllTheSame(t *testing.T) {
	o := newOffice(t, holdAbove1000)
	c := buy(t, "11", atHook, withCall("c1"))
	wantDecision(t, o.Authorize(ctx, c), policy.Hold, ledger.ApprovalPending, "APPROVAL_REQUIRED ")
	d, found, err := o.Report(ctx, report(c, trade.Accepted))
	if err != nil || !found || !slices.Contains(d.Flags, ledger.ExecutedAfterDenial) || d.State != ledger.Succeeded {
		t.Fatalf("%v, found %v: %s", err, found, d.AppendJSON(nil))
	}
	_, err = o.Approve(ctx, press(o.anna, d))
	o.wantRefused(t, err, policy.ProposalEnded)
}

//attack:gate-await-tier
func TestAwaitStartsNothing(t *testing.T) {
	o := newOffice(t)
	d := o.propose(t, buy(t, "10"))
	origin := buy(t, "1").Origin
	if got, err := o.Await(ctx, origin, trade.TierExecute, d.Intent, 0); err != nil || got.State != ledger.ApprovalPending || o.v.submits() != 0 {
		t.Fatalf("%v: %s", err, got.AppendJSON(nil))
	}
	_, err := o.Await(ctx, origin, trade.TierPropose, d.Intent, 0)
	o.wantRefused(t, err, policy.TierTooLow)
	other := origin
	other.Agent = "other"
	if _, err := o.Await(ctx, other, trade.TierExecute, d.Intent, 0); err == nil {
		t.Fatal("another agent's proposal is shown")
	}
	waited := make(chan ledger.Decision, 1)
	go func() {
		got, _ := o.Await(ctx, origin, trade.TierExecute, d.Intent, time.Minute)
		waited <- got
	}()
	must(o.Approve(ctx, press(o.anna, d)))(t)
	if got := <-waited; got.State != ledger.Succeeded {
		t.Fatalf("%s", got.AppendJSON(nil))
	}
}
