package gate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sallyport/gate"
	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

//attack:gate-owner-once
//attack:gate-owner-only
//attack:gate-names
//fault:f70
func TestOnlyTheOwnerAdministers(t *testing.T) {
	o := newOffice(t)
	_, err := o.MakeOwner(ctx, gate.PersonTerms{Name: "mallory", Approver: true})
	o.wantRefused(t, err, policy.NameTaken)
	for name, who := range map[string]gate.Person{"nobody": {}, "an approver": o.anna} {
		t.Run(name, func(t *testing.T) {
			code := policy.NotTheOwner
			if name == "nobody" {
				code = policy.PersonUnknown
			}
			for action, do := range map[string]func() error{
				"add person":    func() error { _, err := o.AddPerson(ctx, who, gate.PersonTerms{Name: "x", Approver: true}); return err },
				"rotate person": func() error { _, err := o.RotatePerson(ctx, who, "olga"); return err },
				"remove person": func() error { return o.RemovePerson(ctx, who, "ben") },
				"add agent":     func() error { _, err := o.AddAgent(ctx, who, "x", trade.TierExecute); return err },
				"rotate agent":  func() error { _, err := o.RotateAgent(ctx, who, "x"); return err },
				"remove agent":  func() error { return o.RemoveAgent(ctx, who, "x") },
			} {
				t.Run(action, func(t *testing.T) { o.wantRefused(t, do(), code) })
			}
		})
	}
	o.wantRefused(t, o.RemovePerson(ctx, o.olga, "olga"), policy.OwnerStays)
	o.wantRefused(t, o.RemovePerson(ctx, o.olga, "nosuch"), policy.NameUnknown)
	o.wantRefused(t, o.RemoveAgent(ctx, o.olga, "nosuch"), policy.NameUnknown)
	for bad, code := range map[string]trade.Code{
		"": policy.NameMalformed, "a b": policy.NameMalformed, strings.Repeat("a", 65): policy.NameMalformed, "\u0430nna": policy.NameMalformed,
		".": policy.NameMalformed, "..": policy.NameMalformed, "-x": policy.NameMalformed, "_y": policy.NameMalformed,
		"anna": policy.NameTaken, "ANNA": policy.NameTaken,
	} {
		_, err := o.AddPerson(ctx, o.olga, gate.PersonTerms{Name: bad})
		o.wantRefused(t, err, code)
		_, err = o.AddAgent(ctx, o.olga, trade.Agent(bad), trade.TierRead)
		o.wantRefused(t, err, code)
	}
	_, err = o.AddPerson(ctx, o.olga, gate.PersonTerms{Name: "twin", Telegram: 77})
	o.wantRefused(t, err, policy.NameTaken)
	if people := must(o.People(ctx))(t); len(people) != 3 || people[0].Hash != "" {
		t.Fatalf("%+v", people)
	}
}

//attack:gate-token
func TestTokensAndCredentialsAreNotEachOther(t *testing.T) {
	o := newOffice(t)
	token := must(o.AddAgent(ctx, o.olga, "bot", trade.TierPropose))(t)
	grant := must(o.Authenticate(ctx, token, "test"))(t)
	if grant.Agent != "bot" || grant.Tier != trade.TierPropose {
		t.Fatalf("%+v", grant)
	}
	second := must(o.RotateAgent(ctx, o.olga, "bot"))(t)
	if got := must(o.Authenticate(ctx, second, "test"))(t); got.Tier != trade.TierPropose {
		t.Fatalf("%+v", got)
	}
	for name, text := range map[string]string{
		"rotated": token, "a person's": o.creds["olga"], "none": "", "cut": second[:len(second)-1], "longer": second + "a",
		"in upper case": strings.ToUpper(second), "a hash": o.journalText(t)[:64],
	} {
		_, err := o.Authenticate(ctx, text, "test")
		var r *gate.Refusal
		if !errors.As(err, &r) || r.Code != policy.TokenUnknown {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := o.RemoveAgent(ctx, o.olga, "bot"); err != nil {
		t.Fatal(err)
	}
	_, err := o.Authenticate(ctx, second, "test")
	o.wantRefused(t, err, policy.TokenUnknown)
	text := o.journalText(t)
	for _, secret := range []string{token, second, o.creds["olga"], o.creds["anna"]} {
		if strings.Contains(text, secret) || strings.Contains(text, secret[10:]) {
			t.Fatal("the journal holds a secret")
		}
	}
}

// TestTokenThatAnotherProcessEndsIsRefusedSoon: the daemon looks at the tokens again before a person could notice.
//
//attack:gate-token-age
func TestTokenThatAnotherProcessEndsIsRefusedSoon(t *testing.T) {
	o := newOffice(t)
	token := must(o.AddAgent(ctx, o.olga, "bot", trade.TierPropose))(t)
	must(o.Authenticate(ctx, token, "test"))(t)
	cfg := o.cfg
	cfg.Daemon, cfg.Broker = false, nil
	other := reopen(t, cfg)
	olga := must(other.Identify(ctx, o.creds["olga"], "test"))(t)
	if err := other.RemoveAgent(ctx, olga, "bot"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(gate.TokensFor)
	if grant, err := o.Authenticate(ctx, token, "test"); err == nil {
		t.Fatalf("%+v is still let in", grant)
	}
}

// TestCallersOfTheSameMomentLookAtTheTokensOnce counts looks: each takes a turn at the journal, between two commits.
func TestCallersOfTheSameMomentLookAtTheTokensOnce(t *testing.T) {
	const callers = 50
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int64
		var held atomic.Bool
		release := make(chan struct{})
		o := newOffice(t, func(c *gate.Config) {
			*c = gate.WithStep(*c, func(step string) {
				if step == "tokens read" && held.Load() {
					looks.Add(1)
					<-release
				}
			})
		})
		token := must(o.AddAgent(ctx, o.olga, "bot", trade.TierPropose))(t)
		must(o.Authenticate(ctx, token, "test"))(t)
		time.Sleep(gate.TokensFor)
		held.Store(true)
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				if grant, err := o.Authenticate(ctx, token, "test"); err != nil || grant.Agent != "bot" {
					t.Errorf("%+v, %v", grant, err)
				}
			})
		}
		synctest.Wait() // one looks, and all others wait for it
		gone, leave := context.WithCancel(ctx)
		leave()
		if _, err := o.Authenticate(gone, token, "test"); !errors.Is(err, context.Canceled) {
			t.Errorf("who has gone is answered %v", err)
		}
		close(release)
		wg.Wait()
		if n := looks.Load(); n != 1 {
			t.Errorf("%d callers looked %d times", callers, n)
		}
	})
}

// TestTokenThatAnotherProcessMadeIsTakenAtOnce: who was shown a token may use it.
func TestTokenThatAnotherProcessMadeIsTakenAtOnce(t *testing.T) {
	o := newOffice(t)
	first := must(o.AddAgent(ctx, o.olga, "bot", trade.TierPropose))(t)
	cfg := o.cfg
	cfg.Daemon, cfg.Broker = false, nil
	other := reopen(t, cfg)
	olga := must(other.Identify(ctx, o.creds["olga"], "test"))(t)
	must(o.Authenticate(ctx, first, "test"))(t) // a look at the tokens that is good for a while
	second := must(other.AddAgent(ctx, olga, "hand", trade.TierExecute))(t)
	if grant := must(o.Authenticate(ctx, second, "test"))(t); grant.Agent != "hand" || grant.Tier != trade.TierExecute {
		t.Errorf("%+v", grant)
	}
}

// journalText returns all records' bytes.
func (o *office) journalText(t testing.TB) string {
	t.Helper()
	var all strings.Builder
	if err := o.Export(ctx, func(r journal.Record) error { all.Write(r.Body); return nil }); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestWrongCredentialsAreSlowed tries many at once: they are answered one by one more slowly, few are recorded, and a right
// one is not held up.
//
//attack:gate-wrong-credential
//attack:gate-wrong-waiting
func TestWrongCredentialsAreSlowed(t *testing.T) {
	o := newOffice(t, gate.Patient)
	begin := time.Now()
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() { _, _ = o.Identify(ctx, "sp-person-guess", "test") })
	}
	if p := o.person(t, "anna"); p.Name() != "anna" {
		t.Fatal("a right credential was refused meanwhile")
	}
	wg.Wait()
	if n := len(o.attempts(t)); n == 0 || n > gate.MaxWaiting {
		t.Fatalf("%d of 40 attempts on record; want at most %d", n, gate.MaxWaiting)
	}
	if time.Since(begin) < gate.MaxWrong {
		t.Fatalf("40 guesses were answered within %s", time.Since(begin))
	}
}

//attack:gate-one-daemon
//attack:gate-daemon-lock
func TestDaemonOwnsTheDirectory(t *testing.T) {
	o := newOffice(t)
	if info, err := os.Stat(filepath.Join(o.cfg.Home, "daemon.lock")); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if g, err := gate.Open(ctx, o.cfg); !errors.Is(err, gate.ErrDaemonRuns) {
		g.Close()
		t.Fatalf("a second daemon: %v", err)
	}
	embedded := o.cfg
	embedded.Daemon = false
	if g, err := gate.Open(ctx, embedded); !errors.Is(err, gate.ErrDaemonRequired) {
		g.Close()
		t.Fatalf("another process with the broker: %v", err)
	}
	embedded.Broker = nil
	other := reopen(t, embedded)
	d := other.Authorize(ctx, buy(t, "1"))
	wantDecision(t, d, policy.Deny, ledger.Blocked, "DAEMON_REQUIRED ")
	d = other.Propose(ctx, buy(t, "1"))
	wantDecision(t, d, policy.Deny, ledger.Blocked, "DAEMON_REQUIRED ")
	if rep := must(other.Kill(ctx, stop("from the command line")))(t); !rep.Recorded {
		t.Fatalf("%+v", rep)
	}
	if d := o.Execute(ctx, buy(t, "1")); d.Error != "killswitch_active" {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	wantDecision(t, other.Authorize(ctx, buy(t, "2")), policy.Deny, ledger.Blocked, "DAEMON_REQUIRED KILL_SWITCH_ACTIVE ")
	p := press(o.anna, d)
	if _, err := other.Approve(ctx, p); err == nil {
		t.Fatal("approved without the daemon")
	}
	o.Gate = reopen(t, o.cfg)
}

//attack:gate-cancel-own
//fault:f09
//fault:f89
func TestAgentCancelsItsOwn(t *testing.T) {
	o := newOffice(t)
	o.v.rests = true
	d := o.Execute(ctx, buy(t, "1"))
	origin, other := buy(t, "1").Origin, buy(t, "1", byAgent("other")).Origin
	_, err := o.CancelOwn(ctx, other, trade.TierExecute, d.Intent)
	o.wantRefused(t, err, policy.OrderNotYours)
	_, err = o.CancelOwn(ctx, origin, trade.TierRead, d.Intent)
	o.wantRefused(t, err, policy.TierTooLow)
	must(o.Kill(ctx, gate.StopRequest{Local: "x", Reason: "y", Keep: true}))(t)
	if res, err := o.CancelOwn(ctx, origin, trade.TierPropose, d.Intent); err != nil || res.Outcome != trade.Accepted {
		t.Fatalf("%+v, %v: a stop must not stop a cancel", res, err)
	}
	_, err = o.CancelOwn(ctx, origin, trade.TierPropose, d.Intent) // which has ended
	o.wantRefused(t, err, policy.OrderNotOpen)
	_, err = o.CancelOwn(ctx, origin, trade.TierPropose, "no intent")
	o.wantRefused(t, err, policy.OrderNotYours)
}

//attack:gate-query-scan
func TestQuery(t *testing.T) {
	o := newOffice(t)
	a := o.Execute(ctx, buy(t, "1"))
	o.clock.pass(time.Minute)
	b := o.Execute(ctx, call(t, "buy", "MSFT", "1", "1.00", byAgent("other")))
	o.clock.pass(time.Minute)
	c := o.Propose(ctx, buy(t, "3"))
	o.clock.pass(time.Minute)
	d := o.Execute(ctx, buy(t, "500"))
	sym := func(s string) trade.Symbol { x, _ := trade.ParseSymbol(s); return x }
	for name, q := range map[string]struct {
		q    gate.Query
		want []ledger.Decision
	}{
		"all":        {gate.Query{}, []ledger.Decision{d, c, b, a}},
		"an agent":   {gate.Query{Agent: "other"}, []ledger.Decision{b}},
		"a symbol":   {gate.Query{Symbol: sym("AAPL")}, []ledger.Decision{d, c, a}},
		"a state":    {gate.Query{State: ledger.ApprovalPending}, []ledger.Decision{c}},
		"from":       {gate.Query{From: c.At}, []ledger.Decision{d, c}},
		"to":         {gate.Query{To: c.At}, []ledger.Decision{b, a}},
		"the newest": {gate.Query{Limit: 1}, []ledger.Decision{d}},
	} {
		t.Run(name, func(t *testing.T) {
			found := must(o.Query(ctx, q.q))(t)
			got, want := "", ""
			for _, x := range found.Decisions {
				got += string(x.Intent) + " "
			}
			for _, x := range q.want {
				want += string(x.Intent) + " "
			}
			if got != want || found.More != (name == "the newest") {
				t.Fatalf("found %s, more %v; want %s", got, found.More, want)
			}
		})
	}
	for range 30 {
		o.Execute(ctx, buy(t, "300"))
	}
	if found := must(o.Query(ctx, gate.Scanning(gate.Query{Symbol: sym("MSFT")}, 10)))(t); len(found.Decisions) != 0 || !found.More {
		t.Fatalf("%d found, more %v; want that the search ended early", len(found.Decisions), found.More)
	}
}

func TestPortfolio(t *testing.T) {
	o := newOffice(t)
	o.Execute(ctx, buy(t, "10"))
	o.v.rests = true
	mine := o.Execute(ctx, call(t, "sell", "AAPL", "4", "200.00"))
	o.Execute(ctx, call(t, "buy", "MSFT", "1", "1.00", byAgent("other")))
	p := must(o.Portfolio(ctx, "local"))(t)
	if p.Cash == nil || len(p.Orders) != 1 || p.Orders[0].Intent != mine.Intent || len(p.Positions) != 2 {
		t.Fatalf("%+v", p)
	}
	last := p.Headroom[len(p.Headroom)-2]
	if last.Limit != "sellable" || last.Left != "6" || last.Used != "4" {
		t.Fatalf("%+v", p.Headroom)
	}
	if all := must(o.Portfolio(ctx, ""))(t); len(all.Orders) != 2 {
		t.Fatalf("%+v", all.Orders)
	}
}

// TestBriefShowsWhatAPersonNeeds compares the whole message: the order of its parts, and that an agent's words come last,
// quoted and escaped.
func TestBriefShowsWhatAPersonNeeds(t *testing.T) {
	o := newOffice(t, func(c *gate.Config) { d := trade.Whole(500); c.Approval.TwoAbove = &d; c.Quotes = fixedQuote{} })
	o.Execute(ctx, buy(t, "10"))
	d := o.propose(t, buy(t, "6", func(c *gate.Call) { c.Tags.Reason = "buy now_*[`\n\u202eAPPROVED" }))
	must(o.Approve(ctx, press(o.olga, d)))(t)
	text := must(o.Brief(ctx, d.Intent))(t).Text()
	last := 0
	for _, part := range []string{
		"PAPER, account paper", "Agent local, session s1", "Proposal " + string(d.Intent), "Expires ", "BUY TO INCREASE 6 AAPL (shares) LIMIT 100.00 DAY",
		"Worst-case value 600.00 USD", "Cash 100000.00 USD -> 99400.00", "Position AAPL 10 -> 16", "Market bid 99.00, ask 101.00, last 100.00", "old",
		"Exits: no stop loss", "Why held:", "APPROVAL_REQUIRED", "Needs 2 persons; approved by olga", "Order digest " + d.Order.Digest().String()[:8], "policy ",
		"The agent says (untrusted): ",
	} {
		i := strings.Index(text, part)
		if i < last {
			t.Errorf("%q stands at %d, after %d:\n%s", part, i, last, text)
		}
		last = max(last, i)
	}
	if strings.ContainsAny(text, "\u202e`") && strings.Contains(text, "\u202e") || strings.Count(text, "\n") > 30 {
		t.Errorf("the agent's words are not escaped:\n%s", text)
	}
	if _, err := o.Brief(ctx, "01M8Q1KZD2BVJHH0XMW6MMPXER"); err == nil {
		t.Error("a brief of nothing")
	}
}

//attack:gate-brief-rules
//attack:gate-brief-reason
func TestBriefIsBounded(t *testing.T) {
	b := gate.Brief{Now: time.Now(), Decision: ledger.Decision{
		Order: buy(t, "1").Order, AgentReason: strings.Repeat("x", 2000), Hold: ledger.Hold{Expires: time.Now(), Approvers: 1},
	}}
	for range 8 {
		b.Decision.Reasons = append(b.Decision.Reasons, policy.Reason{Code: "SOME_RULE", Message: strings.Repeat("y", 1000)})
	}
	text := b.Text()
	if strings.Count(text, "SOME_RULE") != 5 || !strings.Contains(text, "+3 more") || strings.Count(text, "x") > 310 || len(text) > 4000 {
		t.Fatalf("%d bytes:\n%s", len(text), text)
	}
}

type fixedQuote struct{}

func (fixedQuote) Quote(s trade.Symbol) (trade.Quote, bool, error) {
	return trade.Quote{Symbol: s, Bid: trade.Whole(99), Ask: trade.Whole(101), Last: trade.Whole(100), At: time.Now()}, true, nil
}
