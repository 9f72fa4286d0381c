package main

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"sallyport/wire"
)

func TestReelShowsOnlyWhatAReplayPrints(t *testing.T) {
	var out bytes.Buffer
	r := &reel{out: bufio.NewWriter(&out)}
	p := &printed{each: r.line}
	for _, bad := range []string{"{\n", "\x00\n", "\n"} {
		if _, err := (&printed{each: r.line}).Write([]byte(bad)); err == nil {
			t.Errorf("%q is shown", bad)
		}
	}
	line := `{"at":"2026-11-30T15:00:00.000000Z","intent":"a\u001b[31m` + strings.Repeat("x", 100) + `","from":"EXECUTION_ALLOWED","to":"EXECUTION_SUCCEEDED","reason":"it \u202e turns"}` + "\n"
	for i := range line { // it comes in parts
		if _, err := p.Write([]byte(line[i : i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.out.Flush(); err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(out.String()) {
		if len([]rune(l)) > width+1 || strings.ContainsAny(l, "\x1b\u202e") {
			t.Errorf("%q", l)
		}
	}
	if !strings.Contains(out.String(), "accepted: ") {
		t.Error(out.String())
	}
}

// TestReelShowsEveryTermOfAnOrder has orders whose terms decide what they may cost.
func TestReelShowsEveryTermOfAnOrder(t *testing.T) {
	for terms, want := range map[string]string{
		`"notional":"50000.00","type":"market","time_in_force":"day"`: "buy 50000.00 USD of AAPL at market",
		`"quantity":"10","type":"stop_limit","limit_price":"200.00","stop_price":"160.00","time_in_force":"gtc","stop_loss":"100.00","stop_loss_limit":"0.01","take_profit":"900.00"`: "stop 160.00 limit 200.00, gtc, stop loss 100.00 limit 0.01",
		`"quantity":"1.5","type":"limit","limit_price":"150.00","time_in_force":"day","extended_hours":true`:                                                                          "buy 1.5 AAPL at 150.00, extended hours",
	} {
		v, err := wire.Read([]byte(`{"verdict":"allow","order":{"account":"paper","symbol":"AAPL","side":"buy",`+terms+`}}`), wire.Limits{Bytes: 1 << 10, Depth: 4})
		if err != nil {
			t.Fatal(err)
		}
		if got := reelDecision(v); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if got := orderIn(wire.Value{}).Line(); got != "not an order" {
		t.Error(got)
	}
}

// TestReelSaysOnceWhatManyLimitsSay has reasons that differ in their field alone, and one that differs.
func TestReelSaysOnceWhatManyLimitsSay(t *testing.T) {
	reason := func(code, message string) string { return `{"code":"` + code + `","message":"` + message + `"}` }
	v, err := wire.Read([]byte(`{"verdict":"deny","order":null,"reasons":[`+strings.Join([]string{
		reason("QUOTE_UNAVAILABLE", "order_notional cannot be judged: there is no quote"), reason("QUOTE_UNAVAILABLE", "leverage cannot be judged: there is no quote"),
		reason("QUOTE_UNAVAILABLE", "gross_exposure cannot be judged: there is no quote"), reason("SHORT_SALE_NOT_ALLOWED", "it sells more than is held"),
	}, ",")+`]}`), wire.Limits{Bytes: 1 << 10, Depth: 4})
	if err != nil {
		t.Fatal(err)
	}
	want := "denied: not an order\nQUOTE_UNAVAILABLE: order_notional, leverage and gross_exposure cannot be judged: there is no quote\n" +
		"SHORT_SALE_NOT_ALLOWED: it sells more than is held"
	if got := reelDecision(v); got != want {
		t.Errorf("%q", got)
	}
}
