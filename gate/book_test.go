package gate_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/market"
	"sallyport/policy"
	"sallyport/trade"
)

// exchange is a market whose quotes a test sets. They are new whenever it is looked at, unless it sleeps.
type exchange struct {
	mu     sync.Mutex
	clock  *clock
	quotes map[string][3]string // bid, ask, last
	slept  time.Time            // when the quotes are from; zero: now
	closed bool

	unlisted string // a symbol that the broker does not list
	contract string // a symbol of which one is a contract of a hundred
}

func (x *exchange) set(symbol, bid, ask string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.quotes[symbol] = [3]string{bid, ask, bid}
}

func (x *exchange) remove(symbol string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.quotes, symbol)
}

// sleep keeps the quotes as they are now; what is set later is from now too.
func (x *exchange) sleep() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.slept = x.clock.now()
}

// Look implements gate.Market with the market's own code.
func (x *exchange) Look(by policy.Quotes) gate.View {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := page{}
	at := x.slept
	if at.IsZero() {
		at = x.clock.now()
	}
	for name, q := range x.quotes {
		sym, _ := trade.ParseSymbol(name)
		p[sym] = trade.Quote{Symbol: sym, Bid: dec(q[0]), Ask: dec(q[1]), Last: dec(q[2]), At: at}
	}
	return view{[]market.Named{{Name: "file", Source: p}}, market.Bounds{MaxAge: by.MaxAge, MaxSpreadBPS: by.MaxSpread}, !x.closed, x.unlisted, x.contract}
}

type page map[trade.Symbol]trade.Quote

func (p page) Quote(s trade.Symbol) (trade.Quote, bool, error) { q, ok := p[s]; return q, ok, nil }

type view struct {
	sources []market.Named
	bounds  market.Bounds
	open    bool

	unlisted, contract string
}

func (v view) Quote(s trade.Symbol, at time.Time) policy.QuoteFact {
	f := market.Look(v.sources, s, at, v.bounds)
	return policy.QuoteFact{Code: f.Code, Bid: f.Bid, Ask: f.Ask, Last: f.Last, Age: f.Age}
}

func (v view) Instrument(s trade.Symbol) policy.InstrumentFact {
	if v.unlisted == s.String() {
		return policy.InstrumentFact{Code: policy.SymbolNotListed}
	}
	i := trade.USEquity(s)
	if v.contract == s.String() {
		i.Multiplier = trade.Whole(100)
	}
	return policy.InstrumentFact{Instrument: i}
}

func (v view) Session(time.Time) policy.SessionFact { return policy.SessionFact{Regular: v.open} }

func dec(s string) trade.Decimal { return gatetest.Decimal(s) }

// book is a policy of version 2 with one rule of those limits, and an approval block.
func book(limits string, approval ...string) string {
	return `{"version": 2, "currency": "USD", "timezone": "America/New_York", // the operator's
		"quotes": {"sources": ["file"], "max_age": "30s", "max_spread_bps": "200"},` + strings.Join(approval, "") + `
		"rules": [{"id": "r", "match": {"symbols": ["AAPL", "MSFT"], "sides": ["buy", "sell"]}, "limits": {` + limits + `}},]}`
}

// room is an office under a policy of version 2.
type room struct {
	*office
	x *exchange
}

func newRoom(t testing.TB, text string, edit ...func(*gate.Config)) *room {
	t.Helper()
	x := &exchange{quotes: map[string][3]string{"AAPL": {"100", "100.10", ""}, "MSFT": {"50", "50.05", ""}}}
	for name, q := range x.quotes {
		x.set(name, q[0], q[1])
	}
	x.clock = &clock{}
	x.clock.to("2026-11-30 10:00:00")
	o := newOfficeAt(t, x.clock, func(c *gate.Config) {
		if err := os.WriteFile(filepath.Join(c.Home, gate.PolicyName), []byte(text), gate.FileMode); err != nil {
			t.Fatal(err)
		}
		c.Market = x
		for _, f := range edit {
			f(c)
		}
	})
	return &room{office: o, x: x}
}

// to sets the clock to a time of day in New York.
func (c *clock) to(text string) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic(err)
	}
	at, err := time.ParseInLocation(time.DateTime, text, zone)
	if err != nil {
		panic(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at.UTC()
}

// says returns the verdict of a buy or sell, with its codes.
func (d *room) says(t testing.TB, side, symbol, quantity, price string, edit ...func(*gate.Call)) string {
	t.Helper()
	return said(d.Execute(ctx, call(t, side, symbol, quantity, price, edit...)))
}

func said(d ledger.Decision) string {
	return strings.TrimSpace(d.Verdict.String() + " " + codes(d))
}

func (d *room) want(t testing.TB, text, want string, edit ...func(*gate.Call)) ledger.Decision {
	t.Helper()
	f := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '@' })
	got := d.Execute(ctx, call(t, f[0], f[1], f[2], f[3], edit...))
	if said(got) != want {
		t.Fatalf("%s: %s, want %s\n%s", text, said(got), want, got.AppendJSON(nil))
	}
	return got
}

// restart opens the same data directory again.
func (d *room) restart(t testing.TB) {
	t.Helper()
	if err := d.Gate.Close(); err != nil {
		t.Fatal(err)
	}
	cfg := d.cfg
	d.Gate = reopen(t, cfg)
}

func TestPolicyOfVersion2IsInForce(t *testing.T) {
	d := newRoom(t, book(`"order_notional": {"deny_above": "1001.00"}, "order_quantity": {"deny_above": "50"}`))
	d.want(t, "buy AAPL 10@100.10", "allow")
	d.want(t, "buy AAPL 10@99", "allow") // valued at the ask
	d.want(t, "buy AAPL 10@100.11", "deny NOTIONAL_EXCEEDS_LIMIT")
	got := d.want(t, "buy AAPL 51@99", "deny QUANTITY_EXCEEDS_LIMIT NOTIONAL_EXCEEDS_LIMIT")
	if r := got.Reasons[0]; r.Rule != "r" || r.Field != "order_quantity" || r.Limit != "50" || r.Observed != "51" || got.MaxQuantityNow.String() != "10" {
		t.Fatalf("%s", got.AppendJSON(nil))
	}
	d.want(t, "buy TSLA 1@1", "deny NO_RULE_MATCHES")
	if v := d.Policy(); v.Book == nil || v.Policy != nil || v.Reason != nil {
		t.Fatalf("%+v", v)
	}
	for _, e := range events(t, d.Gate) {
		if e, is := e.(ledger.Decided); is && e.Ruling.Effect == policy.Allow && (len(e.Ruling.Rules) != 1 || e.Ruling.Value.String() != "1001") {
			t.Fatalf("%+v", e.Ruling)
		}
	}
}

// TestLoadingIsOnRecordOnce also tries files that change between calls.
//
//attack:ledger-loaded
func TestLoadingIsOnRecordOnce(t *testing.T) {
	d := newRoom(t, book(`"order_quantity": {"deny_above": "50"}`))
	for range 3 {
		d.want(t, "buy AAPL 1@100", "allow")
	}
	d.writePolicy(t, openPolicy)
	d.want(t, "buy AAPL 51@100", "allow") // by version 1
	d.writePolicy(t, book(`"order_quantity": {"deny_above": "50"}`))
	d.want(t, "buy AAPL 51@100", "deny QUANTITY_EXCEEDS_LIMIT")
	d.writePolicy(t, book(`"order_quantity": {"deny_above": "51"}`))
	d.want(t, "buy AAPL 51@100", "allow")
	d.restart(t)
	d.want(t, "buy AAPL 51@100", "allow")
	d.writePolicy(t, book(`"order_quantity": {}`))
	d.want(t, "buy AAPL 1@100", "deny POLICY_INVALID")
	var loaded []string
	for _, e := range events(t, d.Gate) {
		if e, is := e.(ledger.PolicyLoaded); is {
			loaded = append(loaded, e.SHA256)
		}
	}
	if len(loaded) != 2 || loaded[0] == loaded[1] {
		t.Fatalf("%d loads on record", len(loaded))
	}
}

//attack:gate-policy-tests
func TestPolicyWhoseTestsFailAllowsNothing(t *testing.T) {
	with := strings.Replace(book(`"order_quantity": {"deny_above": "50"}`), `"rules":`, `"tests": [{"name": "n", "tape": [{"at": 1}], "expect": [{"at": 1}]}], "rules":`, 1)
	ran, fails := 0, ""
	trial := func(_ []byte, b *policy.Rulebook) error {
		ran++
		switch fails {
		case "":
			return nil
		case "panic":
			panic("a test")
		}
		return fmt.Errorf("%s: %d tests", fails, len(b.Tests()))
	}
	d := newRoom(t, with) // nobody can run them
	d.want(t, "buy AAPL 1@100", "deny POLICY_TESTS_FAIL")
	d.cfg.Trial = trial
	for _, fails = range []string{"n fails", "panic"} {
		d.restart(t)
		got := d.want(t, "buy AAPL 1@100", "deny POLICY_TESTS_FAIL")
		if !strings.Contains(got.Reasons[0].Message, "own tests fail") || got.Reasons[0].Field != "tests" {
			t.Fatalf("%s", got.AppendJSON(nil))
		}
		d.want(t, "sell AAPL 1@100", "deny POLICY_TESTS_FAIL")
		if c := d.Check(ctx, call(t, "buy", "AAPL", "1", "100")); said(c) != "deny POLICY_TESTS_FAIL" {
			t.Fatal(said(c))
		}
	}
	fails, ran = "", 0
	d.restart(t)
	d.want(t, "buy AAPL 1@100", "allow")
	d.want(t, "buy AAPL 1@100", "allow")
	if ran != 1 {
		t.Fatalf("the tests ran %d times", ran)
	}
}

// TestPolicyThatTakesLongToProveAllowsNothingUntilThatIsOnRecord: a hook has not the time, and says what has it.
func TestPolicyThatTakesLongToProveAllowsNothingUntilThatIsOnRecord(t *testing.T) {
	with := strings.Replace(book(`"order_quantity": {"deny_above": "50"}`), `"rules":`, `"tests": [{"name": "n", "tape": [{"at": 1}], "expect": [{"at": 1}]}], "rules":`, 1)
	home := filepath.Join(t.TempDir(), "home")
	if err := errors.Join(os.Mkdir(home, gate.HomeMode), os.WriteFile(filepath.Join(home, gate.PolicyName), []byte(with), gate.FileMode)); err != nil {
		t.Fatal(err)
	}
	cfg, end := config(home, nil), make(chan struct{})
	cfg.Market = &exchange{clock: &clock{}}
	cfg.Trial = func([]byte, *policy.Rulebook) error { <-end; return nil }
	cfg.ProveWithin = time.Millisecond
	for range 2 {
		d := reopen(t, cfg).Authorize(ctx, call(t, "buy", "AAPL", "1", "100", atHook))
		if said(d) != "deny POLICY_UNPROVED" || !strings.Contains(d.Reasons[0].Message, "'sallyport policy validate'") {
			t.Fatalf("%s", d.AppendJSON(nil))
		}
	}
	close(end)
	operator := cfg
	operator.ProveWithin = 0
	if err := reopen(t, operator).Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	cfg.Trial = func([]byte, *policy.Rulebook) error { panic("it is on record") }
	if d := reopen(t, cfg).Authorize(ctx, call(t, "buy", "AAPL", "1", "100", atHook)); said(d) != "allow" {
		t.Fatalf("%s", d.AppendJSON(nil))
	}
}

// TestLoadedPolicyIsBelievedByShortProcesses: a hook is a process of one call, and runs no test again.
func TestLoadedPolicyIsBelievedByShortProcesses(t *testing.T) {
	with := strings.Replace(book(`"order_quantity": {"deny_above": "50"}`), `"rules":`, `"tests": [{"name": "n", "tape": [{"at": 1}], "expect": [{"at": 1}]}], "rules":`, 1)
	ran := 0
	home := filepath.Join(t.TempDir(), "home")
	cfg := config(home, nil)
	cfg.Trial = func([]byte, *policy.Rulebook) error { ran++; return nil }
	cfg.Market = &exchange{clock: &clock{}}
	if err := os.Mkdir(home, gate.HomeMode); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, gate.PolicyName), []byte(with), gate.FileMode); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		g := reopen(t, cfg)
		if d := g.Authorize(ctx, call(t, "buy", "AAPL", "1", "100", atHook)); said(d) != "allow" {
			t.Fatalf("%s", d.AppendJSON(nil))
		}
	}
	if ran != 1 {
		t.Fatalf("the tests ran %d times", ran)
	}
}

//attack:gate-limit-halts
//fault:f113
func TestHaltLatchesAndOnlyAPersonResetsIt(t *testing.T) {
	d := newRoom(t, book(`"order_quantity": {"deny_above": "50"}, "denials_per_minute": {"halt_above": "2", "per": "agent"}`))
	d.v.rests = true
	resting := d.want(t, "buy AAPL 1@90", "allow")
	other := d.want(t, "buy AAPL 1@90", "allow", byAgent("other"))
	for range 3 {
		d.want(t, "buy AAPL 51@100", "deny QUANTITY_EXCEEDS_LIMIT")
	}
	got := d.want(t, "buy AAPL 1@100", "deny DENIALS_EXCEED_LIMIT")
	if got.Error != "killswitch_active" || len(got.Stops) != 1 || got.Stops[0].Scope.String() != "agent:local" || got.Stops[0].By != "policy" ||
		!strings.Contains(got.Stops[0].Reason, "denials_per_minute of the rule r") {
		t.Fatalf("%s", got.AppendJSON(nil))
	}
	for id, want := range map[trade.IntentID]string{resting.Intent: "cancelled", other.Intent: "working"} {
		if now, _, err := d.History(ctx, id); err != nil || now.OrderStatus() != want {
			t.Fatalf("%s, %v; want %s", now.OrderStatus(), err, want)
		}
	}
	d.clock.pass(time.Hour)
	d.want(t, "buy AAPL 1@100", "deny KILL_SWITCH_ACTIVE")
	d.restart(t)
	d.want(t, "buy AAPL 1@100", "deny KILL_SWITCH_ACTIVE")
	d.want(t, "buy AAPL 1@100", "allow", byAgent("other"))
	scope := got.Stops[0].Scope
	if err := d.Reset(ctx, gate.Person{}, scope, "let me"); err == nil {
		t.Fatal("nobody reset it")
	}
	if err := d.Reset(ctx, d.ben, scope, "looked at it"); err != nil {
		t.Fatal(err)
	}
	d.want(t, "buy AAPL 1@100", "allow")
}

// TestWhoMayNotOrderStopsNobody: denials for the tier are no reason to stop an account, and lead to no stop.
//
//attack:gate-kill-tier
func TestWhoMayNotOrderStopsNobody(t *testing.T) {
	d := newRoom(t, book(`"order_quantity": {"deny_above": "50"}, "denials_per_minute": {"halt_above": "1", "per": "account"}`))
	d.v.rests = true
	resting := d.want(t, "buy AAPL 1@90", "allow")
	for range 4 {
		got := d.Execute(ctx, call(t, "buy", "AAPL", "51", "100", func(c *gate.Call) { c.Tier = trade.TierRead }))
		if got.Error != "permission_denied" {
			t.Fatalf("%s", got.AppendJSON(nil))
		}
	}
	d.want(t, "buy AAPL 51@100", "deny QUANTITY_EXCEEDS_LIMIT")
	d.says(t, "buy", "AAPL", "51", "100", func(c *gate.Call) { c.Tier = trade.TierRead })
	if stops := must(d.Stops(ctx))(t); len(stops) != 0 {
		t.Fatalf("%+v", stops)
	}
	if now, _, err := d.History(ctx, resting.Intent); err != nil || now.OrderStatus() != "working" {
		t.Fatalf("%s, %v", now.OrderStatus(), err)
	}
	d.want(t, "buy AAPL 51@100", "deny QUANTITY_EXCEEDS_LIMIT")
	d.want(t, "buy AAPL 1@100", "deny DENIALS_EXCEED_LIMIT")
}

// TestHaltOfANameThatNoScopeHas: the name of an agent may be anything, and the record of a stop must be readable.
func TestHaltOfANameThatNoScopeHas(t *testing.T) {
	for _, name := range []trade.Agent{"a b", "", "agent:x", "é"} {
		d := newRoom(t, book(`"order_quantity": {"deny_above": "50"}, "denials_per_minute": {"halt_above": "0", "per": "agent"}`))
		d.says(t, "buy", "AAPL", "51", "100", byAgent(name))
		d.says(t, "buy", "AAPL", "1", "100", byAgent(name))
		stops := must(d.Stops(ctx))(t)
		if len(stops) != 1 || stops[0].Scope.String() != "account:paper" {
			t.Fatalf("%q: %+v", name, stops)
		}
		d.restart(t)
	}
}

// TestPolicyWithABoundThatNothingPassesIsNotLoaded: what no made-up order passes is no limit.
//
//attack:gate-policy-proof
//fault:f14
func TestPolicyWithABoundThatNothingPassesIsNotLoaded(t *testing.T) {
	r := newRoom(t, book(`"price_collar_bps": {"hold_above": "100", "deny_above": "999999999999"}`))
	got := r.want(t, "buy AAPL 1@100", "deny POLICY_INVALID")
	if !strings.Contains(got.Reasons[0].Message, "no order can pass the bound deny 999999999999 of price_collar_bps in the rule r") {
		t.Fatalf("%s", got.AppendJSON(nil))
	}
	if v := r.Policy(); v.Book != nil || v.Reason == nil {
		t.Fatalf("%+v", v)
	}
}

// TestPolicyThatNamesWhatIsNotListedIsNotLoaded, and is loaded once the list has it, without an edit of its own.
//
//attack:gate-listed
func TestPolicyThatNamesWhatIsNotListedIsNotLoaded(t *testing.T) {
	r := newRoom(t, book(`"order_quantity": {"deny_above": "5"}`), func(c *gate.Config) { c.Market.(*exchange).unlisted = "MSFT" })
	got := r.want(t, "buy AAPL 1@100", "deny POLICY_INVALID")
	if !strings.Contains(got.Reasons[0].Message, "MSFT") {
		t.Fatalf("%s", got.AppendJSON(nil))
	}
	r.x.unlisted = ""
	r.want(t, "buy AAPL 1@100", "allow")
	r.x.unlisted = "AAPL" // taken from the list while the policy is in force
	r.want(t, "buy MSFT 1@50", "allow")
}

// TestAContractOfAHundredIsNotCountedAsOne: its order would be valued a hundred times what its position is.
//
//attack:gate-multiplier
func TestAContractOfAHundredIsNotCountedAsOne(t *testing.T) {
	r := newRoom(t, book(`"gross_exposure": {"deny_above": "100000.00"}`))
	r.x.contract = "AAPL"
	r.want(t, "buy AAPL 1@101", "deny INSTRUMENT_UNAVAILABLE")
	r.want(t, "buy MSFT 1@51", "allow")
	r.x.contract = ""
	r.want(t, "buy AAPL 1@101", "allow")
}
