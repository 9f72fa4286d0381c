package replay_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sallyport/policy"
	"sallyport/replay"
	"sallyport/wire"
)

// seeds are lines that are nearly plain quotes.
var seeds = []string{
	`{"at":"2026-11-30T15:00:00Z","quote":{"symbol":"AAPL","bid":"1.00","ask":"1.01","last":"1.00"}}`,
	`{"at":"2026-11-30T15:00:00.123456789Z","quote":{"ask":"1.01","symbol":"BRK.B","last":"1.00","bid":"0.000000001"}}`,
	`{"at":"2026-11-30T15:00:00.Z","quote":{"symbol":"AAPL","bid":"1.00","ask":"1.01","last":"1.00"}}`,
	`{"at":"2026-11-31T15:00:00Z","quote":{"symbol":"AAPL","bid":"1.00","ask":"1.01","last":"1.00"}}`,
	`{"at":"2026-11-30T25:00:00Z","quote":{"symbol":"AAPL","bid":"1.00","ask":"1.01","last":"1.00"}}`,
	`{"at":"2026-11-30T15:00:60Z","quote":{"symbol":"AAPL","bid":"1.00","ask":"1.01","last":"1.00"}}`,
	`{"at":"2026-11-30T15:00:00Z","quote":{"symbol":"aapl","bid":"1.00","ask":"1.01","last":"1.00"}}`,
	`{"at":"2026-11-30T15:00:00Z","quote":{"symbol":"AAPL","bid":"1.00","ask":"1.01","last":"1.00","last":"1.00"}}`,
	`{"at":"2026-11-30T15:00:00Z","quote":{"symbol":"AAPL","bid":"1.00","ask":"1.01","last":"1.00"},"x":"1"}}`,
	`{"at":"2026-11-30T15:00:00Z","quote":{"symbol":"AAPL","bid":"01.00","ask":"1.01","last":"1.00"}}`,
	`{"at":"2026-11-30T15:00:00Z","quote":{"symbol":"A\u0041PL","bid":"1.00","ask":"1.01","last":"1.00"}}`,
	`{"at":"2026-11-30T15:00:00Z","quote":{"symbol":"AAPL","bid":"1.00","ask":"1.01",,"last":"1.00"}}`,
	`{"at":"2026-11-30T15:00:00Z","quote":{"symbol":"AAPL" ,"bid":"1.00","ask":"1.01","last":"1.00"}}`,
	`{"at":"2026-11-30T15:00:00Z","quote":{"symbol":"AA\"PL","bid":"1.00","ask":"1.01","last":"1.00"}}`,
	`{"at":"2026-11-30T15:00:00Z","quote":{}}`, `{"at":"`, `{"at":"","quote":{""}}`,
}

// TestPlainQuotesAreReadAsWithCare reads each line both ways. What the quick way takes, the careful one reads equally.
func TestPlainQuotesAreReadAsWithCare(t *testing.T) {
	took := 0
	for _, line := range seeds {
		took += bothWays(t, &replay.Quick{}, []byte(line))
	}
	if took < 3 {
		t.Errorf("the quick way took %d lines", took)
	}
}

func bothWays(t *testing.T, q *replay.Quick, line []byte) int {
	t.Helper()
	quick, ok := replay.ReadQuick(q, line)
	if !ok {
		return 0
	}
	if slow, err := replay.ReadSlow(line); err != nil || slow != quick {
		t.Errorf("%q is %s to the quick way, and to the careful one %s: %v", line, quick, slow, err)
	}
	return 1
}

func FuzzPlainQuotes(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	q := &replay.Quick{}
	f.Fuzz(func(t *testing.T, line []byte) { bothWays(t, q, line) })
}

func FuzzTape(f *testing.F) {
	page := at(buy("a", `,"broker":"wait"`), quoteBody, `"broker":{"intent":"a","result":"accepted"}`, `"fill":{"intent":"a","quantity":"4","price":"100.00"}`,
		`"kill":{"scope":"everything","by":"ann","reason":"x"}`, `"reset":{"scope":"everything","by":"ann","reason":"x"}`,
		`"intent":{"id":"p","agent":"bot","tool":"trade_propose","args":{"symbol":"AAPL","side":"buy","quantity":"1","order_type":"limit","limit_price":"1.00"}}`,
		`"approve":{"intent":"p","by":"ann"}`, `"cancel":{"intent":"p"}`, `"position":{"symbol":"AAPL","quantity":"5","average_price":"0"}`, `"account":{"cash":"1","equity":"2"}`)
	out := at(quoteBody, `"policy":`+strings.ReplaceAll(wide, "\n", ""), asks("a", `"side":"buy","quantity":"4","type":"limit","limit_price":"1.00","stop_loss":"0.50"`),
		`"fill":{"intent":"a","quantity":"3","price":"1.00"}`, `"fill":{"intent":"a/exits","quantity":"1","price":"1.00"}`,
		`"kill":{"scope":"everything","by":"ann","reason":"x","keep":true}`, `"cancel":{"intent":"a"}`, `"cancel":{"intent":"a/exits"}`, reduces("r", "ann", "1"),
		reduces("much", "ann", "9"), `"fill":{"intent":"r","quantity":"1","price":"1.00"}`, `"fill":{"intent":"much","quantity":"1","price":"1.00"}`,
		`"kill":{"scope":"symbol:AAPL","by":"agent:bot","reason":"x","all":true}`)
	f.Add([]byte(page))
	f.Add([]byte(out))
	f.Add(bytes.ReplaceAll([]byte(page), []byte("paper"), []byte("\x00")))
	f.Fuzz(func(t *testing.T, tape []byte) {
		first, err := told(t, tape)
		again, errAgain := told(t, tape)
		if first != again || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("two replays differ:\n%s%v\n%s%v", first, err, again, errAgain)
		}
		for line := range strings.Lines(first) {
			if v, err := wire.Read([]byte(line), wire.Limits{Bytes: len(line), Depth: 32}); err != nil {
				t.Fatalf("%q: %v", line, err)
			} else if name, twice := v.Duplicate(); twice {
				t.Fatalf("%q has %q twice", line, name)
			}
		}
	})
}

// told replays a tape under the default policy, and ends what came of it with what its fills come to.
func told(t *testing.T, tape []byte) (string, error) {
	t.Helper()
	var out, fills bytes.Buffer
	err := replay.Run(t.Context(), replay.Config{
		Policy: policy.Default(),
		Fills: func(x replay.Fill) {
			fmt.Fprintf(&fills, `{"fill":"%d %s %s %t %s %s %t"}`+"\n", x.Intent, x.Symbol, x.Side, x.Exits, x.Quantity, x.Price, x.Sent)
		},
	}, bytes.NewReader(tape), &out)
	return out.String() + fills.String(), err
}
