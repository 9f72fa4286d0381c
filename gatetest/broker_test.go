package gatetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
)

// byOrder answers each order by its limit, so that the suite gets what its fixture promises; what is wider trades in the
// market that is shown.
func byOrder(rests trade.Order) Answer {
	return func(ctx context.Context, b *Broker, c gate.Cleared) (gate.Receipt, error) {
		if c.Order.Symbol() != rests.Symbol() && b.trades() {
			return Trade(ctx, b, c)
		}
		if c.Order.LimitPrice().Cmp(rests.LimitPrice()) == 0 {
			return Rest(ctx, b, c)
		}
		return Fill(ctx, b, c)
	}
}

func memoryFixture(t *testing.T) Fixture {
	fx := Fixture{
		Clock: NewClock(), Fills: Order(t, "buy", "AAPL", "10", "150.00"), Rests: Order(t, "buy", "MSFT", "2", "1.25"),
		Refused: Order(t, "buy", "AAPL", "10000", "150.00"),
	}
	b := &Broker{Now: fx.Clock.Now, Default: byOrder(fx.Rests)}
	fx.Broker, fx.Reopen = b, func() gate.Broker { return b }
	fx.Wider = &Wider{Symbol: fx.Fills.Symbol(), Show: func(bid, ask string) { b.Show(fx.Fills.Symbol(), Decimal(bid), Decimal(ask)) }}
	return fx
}

func TestBrokerInMemoryKeepsTheContract(t *testing.T) { TestBroker(t, memoryFixture) }

func TestBrokerThatTellsOfNoEventsKeepsTheContract(t *testing.T) {
	TestBroker(t, func(t *testing.T) Fixture {
		fx := memoryFixture(t)
		fx.Broker.(*Broker).Silent = true
		return fx
	})
}

func TestScriptedAnswersLeadToTheStatesTheyMean(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer Answer
		want   ledger.AuditState
		orders int // that the venue has afterwards
	}{
		{"fill", Fill, ledger.Succeeded, 1},
		{"rest", Rest, ledger.Succeeded, 1},
		{"reject", Reject("HALTED"), ledger.Failed, 0},
		{"not sent", NotSent, ledger.Failed, 0},
		{"unclear", Unclear, ledger.OutcomeUnknown, 0},
		{"order lost", OrderLost, ledger.OutcomeUnknown, 0},
		{"answer lost", AnswerLost, ledger.OutcomeUnknown, 1},
		{"panic", Panic, ledger.OutcomeUnknown, 0},
		{"panic after", PanicAfter, ledger.OutcomeUnknown, 1},
		{"time out", TimeOut, ledger.OutcomeUnknown, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &Broker{}
			b.Next(c.answer)
			cfg := Config(Home(t), b)
			cfg.BrokerWait = 2 * time.Second
			if c.name == "time out" {
				cfg.BrokerWait = 20 * time.Millisecond
			}
			d := Open(t, cfg).Execute(context.Background(), Call(t, "buy", "AAPL", "10", "150.00"))
			if d.State != c.want || len(b.Orders()) != c.orders || len(b.Submits()) != 1 {
				t.Errorf("%s, %d orders, %d submits; want %s, %d, 1", d.State, len(b.Orders()), len(b.Submits()), c.want, c.orders)
			}
		})
	}
}

func TestSlowBrokerIsUnknownUntilItAnswers(t *testing.T) {
	b, release := &Broker{}, make(chan struct{})
	b.Next(Slow(release))
	cfg := Config(Home(t), b)
	cfg.BrokerWait = 20 * time.Millisecond
	g := Open(t, cfg)
	d := g.Execute(context.Background(), Call(t, "buy", "AAPL", "10", "150.00"))
	close(release)
	if d.State != ledger.OutcomeUnknown {
		t.Errorf("state %s", d.State)
	}
}

func TestBrokerRecordsItsCalls(t *testing.T) {
	b := &Broker{}
	g := Open(t, Config(Home(t), b))
	d := g.Execute(context.Background(), Call(t, "buy", "AAPL", "10", "150.00", WithToolCall("c1"), WithClientOrder("o1")))
	if _, err := b.Submit(context.Background(), gate.Permit{}); !errors.Is(err, gate.ErrNoPermit) {
		t.Errorf("the zero permit: %v", err)
	}
	submits := b.Submits()
	if len(submits) != 1 || submits[0].ID != id(d) || submits[0].Order.Digest() != d.Order.Digest() {
		t.Errorf("submits %+v", submits)
	}
	calls := b.Calls()
	if last := calls[len(calls)-1]; last.Method != "Submit" || !errors.Is(last.Refused, gate.ErrNoPermit) {
		t.Errorf("the last call %+v", last)
	}
	if d.ToolCallID != "c1" || d.ClientOrderID != "o1" {
		t.Errorf("decision %s", d.AppendJSON(nil))
	}
}

func TestWorkingOrderFillsWhenTheTestSaysSo(t *testing.T) {
	b := &Broker{Default: Rest}
	g := Open(t, Config(Home(t), b))
	d := g.Execute(context.Background(), Call(t, "buy", "AAPL", "10", "150.00"))
	if !b.FillWorking(id(d)) || b.FillWorking(id(d)) || b.FillWorking("sp-none") {
		t.Error("it fills exactly once")
	}
	if err := g.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	ps, err := g.Positions(context.Background())
	if err != nil || len(ps) != 1 || ps[0].Quantity.String() != "10" {
		t.Errorf("positions %+v, %v", ps, err)
	}
}

func TestCallKeepsFaults(t *testing.T) {
	c := Call(t, "hold", "AAPL", "-1", "150")
	if !c.Order.IsZero() || len(c.Faults) != 2 || c.Account != Account {
		t.Errorf("call %+v", c)
	}
}

func TestClockAndEntropyRepeat(t *testing.T) {
	c := NewClock()
	c.Advance(time.Hour)
	if got := c.Now(); !got.Equal(Start().Add(time.Hour)) {
		t.Errorf("now %v", got)
	}
	c.Set(Start())
	if got := c.Now(); !got.Equal(Start()) {
		t.Errorf("now %v", got)
	}
	var a, b, other [10]byte
	one, two := Entropy(1), Entropy(1)
	one(&a)
	two(&b)
	Entropy(2)(&other)
	if a != b || a == other {
		t.Errorf("entropy %x, %x, %x", a, b, other)
	}
	one(&b)
	if a == b {
		t.Error("the source repeats itself")
	}
}
