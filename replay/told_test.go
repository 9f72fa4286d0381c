package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/replay"
	"sallyport/trade"
)

// stubborn is a venue that does not cancel.
type stubborn struct{ *parts }

func (v stubborn) Cancel(_ context.Context, p gate.Permit) (gate.Receipt, error) {
	if _, err := p.Use(gate.CancelOrder, v.clock()); err != nil {
		return gate.Receipt{}, err
	}
	return gate.Receipt{Outcome: trade.Rejected, NextEvent: uint64(len(v.events) + 1)}, nil
}

// TestFillThatAStopCouldNotPreventIsOnTheTape has stops whose cancels fail, and one that keeps what works: what is filled
// after them is held at the end of the exported tape too, and is told as a fill wherever the tape's own stop lets it.
func TestFillThatAStopCouldNotPreventIsOnTheTape(t *testing.T) {
	for name, c := range map[string]struct {
		stop       gate.StopRequest
		fill, held int // lines
	}{
		"a stop":           {gate.StopRequest{Reason: "drill"}, 1, 3},
		"one that keeps":   {gate.StopRequest{Reason: "drill", Keep: true}, 4, 0},
		"one of all":       {gate.StopRequest{Reason: "drill", All: true}, 1, 3},
		"one of the agent": {gate.StopRequest{Reason: "drill", Agent: "bot", Tier: trade.TierPropose}, 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			venue := stubborn{&parts{cash: trade.Whole(100_000), held: map[trade.Symbol]trade.Decimal{}}}
			l := &wideLife{venue: venue.parts}
			l.life = openLife(t, []byte(wideLive), 1, func(x *life) gate.Broker { venue.clock = x.clock.Now; return venue })
			l.shows()
			l.place(`{"symbol":"AAPL","side":"buy","quantity":"20","order_type":"limit","limit_price":"101.00","stop_loss":"90.00","take_profit":"120.00"}`, false)
			if l.look(); len(venue.orders) != 1 {
				t.Fatal("it was not sent")
			}
			o := venue.orders[0]
			fill := func(exits bool, n string) {
				venue.fill(o, exits, func(trade.Decimal) trade.Decimal { return number(n) }, number("100.00"))
				l.look()
			}
			fill(false, "8")
			if c.stop.Agent == "" {
				c.stop.Person = l.ann
			}
			if _, err := l.gate.Kill(t.Context(), c.stop); err != nil {
				t.Fatal(err)
			}
			fill(false, "5")
			fill(true, "9")
			fill(true, "1")
			last := l.end()
			tape := l.exported()
			if n, held := strings.Count(tape, `"fill":{`), strings.Count(tape, `"position":{`); n != c.fill || held != c.held {
				t.Errorf("%d fills and %d positions:\n%s", n, held, tape)
			}
			got := replayed(t, []byte(wideLive), tape)
			want := l.standing(func(id trade.IntentID) string { return string(id) })
			if fmt.Sprint(got.final.Positions) != fmt.Sprint(want.Positions) || fmt.Sprint(got.final.Kill) != fmt.Sprint(want.Kill) {
				t.Errorf("%v, and was %v", got.final, want)
			}
			if c.held == 0 {
				got.last = byNumber(got.last, l.orders)
				l.compare("the exported tape", got, last, func(id trade.IntentID) string { return string(id) })
			}
		})
	}
}

// TestExportedNamesAreWhole has an agent of the longest name.
func TestExportedNamesAreWhole(t *testing.T) {
	l := newLife(t, []byte(versionOne), 1)
	name := strings.Repeat("agent-", 10) + "long"
	c := l.call("buy", "AAPL", "1", "100.00")
	c.Origin.Agent = trade.Agent(name)
	l.gate.Execute(t.Context(), c)
	c = l.call("buy", "AAPL", "x", "100.00")
	c.Origin.Tool = strings.Repeat("tool_", 25)
	l.gate.Execute(t.Context(), c)
	tape := l.exported()
	wants(t, tape, `"agent":"`+name+`"`, `"tool":"`+c.Origin.Tool+`"`)
	var out bytes.Buffer
	if err := replay.Run(t.Context(), replay.Config{Policy: []byte(versionOne)}, strings.NewReader(tape), &out); err != nil {
		t.Fatal(err)
	}
	wants(t, out.String(), `"agent":"`+name+`"`)
}

// recorder hands events to an exporter as a journal's records, a second each.
func recorder(t *testing.T, x *replay.Exporter) func(ledger.Event) {
	seq := 0
	return func(e ledger.Event) {
		t.Helper()
		seq++
		at := time.Date(2026, 11, 30, 15, 0, seq, 0, time.UTC)
		if err := x.Record(journal.Record{Seq: journal.Seq(seq), At: at, Body: ledger.Encode(e)}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhatNoDecisionExplainsIsAPosition has fills of orders that are not on record: bought, sold, and sold short.
func TestWhatNoDecisionExplainsIsAPosition(t *testing.T) {
	var tape bytes.Buffer
	record := recorder(t, replay.NewExporter(&tape))
	record(ledger.KillReset{By: "sallyport", Reason: "the journal was made"})
	record(ledger.HistoryBegan{FromStart: true})
	symbol, _ := trade.ParseSymbol("AAPL")
	for i, side := range []trade.Side{trade.Buy, trade.Sell, trade.Sell} {
		record(ledger.Happened{
			Account: "paper", Number: uint64(i + 1), What: ledger.WasFilled, Symbol: symbol, Side: side, Quantity: trade.Whole(uint32(10 - 3*i)), Price: trade.Whole(100),
		})
	}
	want := `{"at":"2026-11-30T15:00:03.000000Z","position":{"symbol":"AAPL","quantity":"10","average_price":"100.00"}}
{"at":"2026-11-30T15:00:04.000000Z","position":{"symbol":"AAPL","quantity":"3","average_price":"100.00"}}
{"at":"2026-11-30T15:00:05.000000Z","position":{"symbol":"AAPL","quantity":"0","average_price":"0.00"}}
`
	if tape.String() != want {
		t.Errorf("%s", tape.String())
	}
	if out, err := run(t, tape.String()); err != nil || !strings.Contains(out, `"positions":{}`) {
		t.Errorf("%v\n%s", err, out)
	}
}

//attack:replay-exported
func TestExporterForgetsWhatEndedLongAgo(t *testing.T) {
	var tape bytes.Buffer
	x := replay.NewExporter(&tape)
	record := recorder(t, x)
	order := gatetest.Order(t, "buy", "AAPL", "1", "100")
	id := func(n int) trade.IntentID { return trade.IntentID(fmt.Sprintf("01M8PDSPH8%016d", n)) }
	send := func(n int) {
		record(ledger.Decided{
			Intent: id(n), Origin: ledger.Origin{Agent: "bot", Surface: "mcp", ToolCallID: trade.ToolCallID(fmt.Sprint(n))}, Account: "paper",
			Order: order, Ruling: ledger.Ruling{Effect: policy.Allow}, Clears: ledger.ClearsSend,
		})
		record(ledger.Concluded{Intent: id(n), Outcome: trade.Accepted, Source: ledger.FromBroker})
	}
	number := uint64(0)
	happened := func(n int, what string) {
		number++
		e := ledger.Happened{Account: "paper", Number: number, What: what, Intent: id(n), Symbol: order.Symbol(), Side: trade.Buy, Quantity: trade.Whole(1)}
		if what == ledger.WasFilled {
			e.Price = trade.Whole(100)
		}
		record(e)
	}
	record(ledger.KillReset{By: "sallyport", Reason: "the journal was made"})
	send(1) // which stays open
	send(2)
	happened(2, ledger.WasFilled)
	for n := 3; n < 3+replay.ExportRemembers/2; n++ {
		send(n)
		happened(n, ledger.WasCancelled)
	}
	if intents, ids := x.Named(); intents > replay.ExportRemembers/3+2 || ids != intents {
		t.Errorf("%d intents and %d ids are known", intents, ids)
	}
	tape.Reset()
	happened(2, ledger.WasFilled)
	happened(2, ledger.WasCancelled)
	happened(1, ledger.WasFilled)
	if got := tape.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, `"position":{"symbol":"AAPL","quantity":"2"`) ||
		!strings.Contains(got, `"fill":{"intent":"`+string(id(1))) {
		t.Errorf("a fill of long ago and one of an open order are\n%s", got)
	}
}

// TestToolOfATapeIsNoToolOfACaller has callers that name a person's tool, and a tool that nobody knew.
func TestToolOfATapeIsNoToolOfACaller(t *testing.T) {
	l := newLife(t, []byte(versionOne), 1)
	c := l.call("buy", "AAPL", "2", "100.00")
	l.gate.Execute(t.Context(), c)
	if !l.venue.FillWorking(l.venue.Orders()[0]) {
		t.Fatal("it did not rest")
	}
	if err := l.gate.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw := `{"symbol":"AAPL","side":"sell","quantity":"1","order_type":"limit","limit_price":"100.00"}`
	for _, tool := range []string{"reduce", "trade_propose", "paper_place_order_a"} {
		l.gate.Execute(t.Context(), gate.Call{
			Origin: gate.Origin{Agent: "bot", Surface: "mcp", Tool: tool}, Account: "paper", Tier: trade.TierExecute, Raw: []byte(raw),
			Faults: []trade.Fault{{Code: trade.ToolUnknown, Field: "tool", Message: "it is not known"}},
		})
	}
	o := replayed(t, []byte(versionOne), l.exported())
	if len(o.said) != 4 || o.final.Positions["AAPL"].Quantity != "2" {
		t.Fatalf("%+v", o)
	}
	for _, said := range o.said[1:] {
		if said.Codes != "TOOL_UNKNOWN " {
			t.Errorf("%+v", said)
		}
	}
}

// TestADeniedProposalIsNoOrderOnTheTape has an agent propose one order more than may wait for people.
func TestADeniedProposalIsNoOrderOnTheTape(t *testing.T) {
	l := newLife(t, []byte(versionOne), 1)
	verdicts := map[policy.Effect]int{}
	for i := range 6 {
		verdicts[l.gate.Propose(t.Context(), l.call("buy", "AAPL", fmt.Sprint(i+1), "100.00")).Verdict]++
	}
	if verdicts[policy.Hold] != 5 || verdicts[policy.Deny] != 1 {
		t.Fatalf("%v", verdicts)
	}
	var out bytes.Buffer
	if err := replay.Run(t.Context(), replay.Config{Policy: []byte(versionOne)}, strings.NewReader(l.exported()), &out); err != nil {
		t.Fatal(err)
	}
	if n, no := strings.Count(out.String(), `"verdict":"hold"`), strings.Count(out.String(), `"code":"PROPOSALS_EXCEED_LIMIT"`); n != 5 || no != 1 {
		t.Errorf("%d are held and %d denied:\n%s", n, no, out.String())
	}
}
