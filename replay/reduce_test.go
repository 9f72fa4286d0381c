package replay_test

import (
	"io"
	"strings"
	"testing"

	"sallyport/replay"
)

func reduces(id, person, quantity string) string {
	return `"intent":{"id":"` + id + `","agent":"` + person + `","tool":"reduce","args":{"symbol":"AAPL","side":"sell","quantity":"` + quantity +
		`","order_type":"limit","limit_price":"140.00"}}`
}

// TestPersonsReductionPassesWhateverIsStopped as it does live, and no further than the position goes.
func TestPersonsReductionPassesWhateverIsStopped(t *testing.T) {
	held := `"position":{"symbol":"AAPL","quantity":"10","average_price":"150.00"}`
	stop := `"kill":{"scope":"everything","by":"ann","reason":"drill"}`
	sell := asks("agent", `"side":"sell","quantity":"4","type":"limit","limit_price":"140.00"`)
	out := wideRun(t, held, stop, sell, reduces("r", "ann", "4"), `"fill":{"intent":"r","quantity":"4","price":"141.00"}`, reduces("much", "ann", "6.5"),
		`"fill":{"intent":"much","quantity":"6.5","price":"141.00"}`, reduces("none", "ann", "x"))
	wants(t, out, `{"intent":"agent","verdict":"deny"`, `{"intent":"r","verdict":"allow"`, `"agent":"ann","surface":"person","tool":"reduce"`,
		`"intent":"r","from":"EXECUTION_SUCCEEDED","to":"filled"`, `{"intent":"much","verdict":"deny","state":"EXECUTION_BLOCKED","intent_id":null`,
		`REDUCTION_NOT_VERIFIED`, `{"intent":"none","verdict":"deny"`, `QUANTITY_MALFORMED`,
		`"allowed":1,"approved":0,"cancelled":0,"declined":0,"denied":3`, `"intents":4`, `"passed_over":1`, `"positions":{"AAPL":{"average_price":"150.00","quantity":"6"}}`)
	for body, want := range map[string]string{
		reduces("b", "no such name", "1"): "A-Z a-z 0-9", reduces("a", "bot", "1"): "the id \"a\" is taken",
		reduces("a", "ann", "1"): "the id \"a\" is that of an intent of another agent",
	} {
		err := replay.Run(t.Context(), replay.Config{Policy: []byte(wide)}, strings.NewReader(at(quoteBody, asks("a", `"side":"buy","quantity":"1","type":"market"`), body)), io.Discard)
		if err == nil || !strings.Contains(err.Error(), "line 3 of the tape: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestStopsKeepAndCancelWhatTheySay has those that keep what works, that cancel it, and that cancel exits as well.
func TestStopsKeepAndCancelWhatTheySay(t *testing.T) {
	order := asks("a", `"side":"buy","quantity":"2","type":"limit","limit_price":"150.00"`)
	stop := func(keep string) string {
		return `"kill":{"scope":"everything","by":"ann","reason":"drill"` + keep + `}`
	}
	fill := `"fill":{"intent":"a","quantity":"2","price":"150.00"}`
	wants(t, wideRun(t, order, stop(`,"keep":true`), fill), `"to":"filled"`, `"cancelled":0`)
	for _, keep := range []string{``, `,"keep":false`} {
		wants(t, wideRun(t, order, stop(keep), fill), `"to":"cancelled"`, `"fills":0`)
	}
	bracket := asks("a", `"side":"buy","quantity":"2","type":"limit","limit_price":"150.00","stop_loss":"140.00"`)
	wants(t, wideRun(t, bracket, fill, stop(``)), `"reserved":{"AAPL":{"buys":"0","sells":"2"}}`)
	wants(t, wideRun(t, bracket, fill, stop(`,"all":true`)), `"reserved":{},"working":{}`)
	wants(t, wideRun(t, bracket, fill, strings.Replace(stop(`,"all":true`), `"ann"`, `"agent:bot"`, 1)), `"reserved":{"AAPL":{"buys":"0","sells":"2"}}`)
	for _, bad := range []string{stop(`,"all":1`), stop(`,"keep":"true"`), stop(`,"keep":null`), stop(`,"keep":true,"keep":true`), strings.Replace(stop(`,"keep":true`), "kill", "reset", 1)} {
		if _, err := run(t, at(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
