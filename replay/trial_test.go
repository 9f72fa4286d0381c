package replay_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sallyport/policy"
	"sallyport/replay"
)

// book is a policy of version 2 with tests.
func book(t testing.TB, tests string) ([]byte, *policy.Rulebook) {
	t.Helper()
	raw := []byte(`{"version": 2, "currency": "USD", "timezone": "America/New_York",
  "quotes": {"sources": ["file"], "max_age": "30s", "max_spread_bps": "200"},
  "rules": [{"id": "large-caps",
    "match": {"symbols": ["AAPL"], "sides": ["buy", "sell"], "order_types": ["limit"], "time_in_force": ["day"], "agents": ["*"], "asset_classes": ["us_equity"]},
    "limits": {"order_quantity": {"hold_above": "10", "deny_above": "20"}}}]` + tests + `}`)
	e, err := policy.Load(raw, policy.World{Zone: func(s string) bool { _, err := time.LoadLocation(s); return err == nil }})
	if err != nil {
		t.Fatal(err)
	}
	return raw, e.V2
}

// order is a line of a test's tape.
func order(second int, id, quantity string) string {
	return fmt.Sprintf(`{"at":"2026-11-30T15:00:%02dZ","intent":{"id":"%s","agent":"bot","order":{"symbol":"AAPL","side":"buy","quantity":"%s","type":"limit","limit_price":"150.00","time_in_force":"day"}}}`, second, id, quantity)
}

const shown = `{"at":"2026-11-30T15:00:00Z","quote":{"symbol":"AAPL","bid":"149.99","ask":"150.01","last":"150.00"}}`

func trial(t testing.TB, tape, expect string) error {
	t.Helper()
	raw, b := book(t, `, "tests": [{"name": "it", "tape": [`+tape+`], "expect": [`+expect+`]}]`)
	return replay.Trial(raw, b)
}

func TestTrialsPassAndFail(t *testing.T) {
	tape := strings.Join([]string{shown, order(1, "a", "10"), order(2, "b", "11"), order(3, "c", "21")}, ",")
	for _, c := range []struct{ tape, expect, complaint string }{
		{tape, `{"intent":"a","verdict":"allow"},{"intent":"b","verdict":"hold"},{"intent":"c","verdict":"deny","reasons":[{"rule":"large-caps"}]},{"final":{"counters":{"intents":3}}}`, ""},
		{tape, `{"from":"EXECUTION_ALLOWED","to":"EXECUTION_SUCCEEDED"},{"final":{"reserved":{"AAPL":{"buys":"21"}}}}`, ""},
		{tape, `{"intent":"a","verdict":"deny"}`, `test "it": line 1 of what it expects did not come: {"intent":"a","verdict":"deny"}`},
		{tape, `{"intent":"b"},{"intent":"a","verdict":"allow"}`, `line 2 of what it expects`},
		{tape, `{"intent":"c","reasons":[{"code":"NO"}]}`, `line 1 of what it expects`},
		{tape, `{"intent":"c","reasons":[{},{},{}]}`, `line 1 of what it expects`},
		{tape, `{"final":{"counters":{"intents":"3"}}}`, `line 1 of what it expects`},
		{order(2, "a", "1") + "," + order(1, "b", "1"), `{"intent":"a"}`, `line 2 of its tape: it is of 2026-11-30T15:00:01Z, which is before`},
		{shown + `,{"at":"2026-11-30T15:00:01Z","policy":{}}`, `{"intent":"a"}`, "line 2 of its tape: a test is of the policy that it stands in"},
		{shown + `,{"at":"2026-11-30T15:00:01Z","other":{}}`, `{"intent":"a"}`, "line 2 of its tape"},
	} {
		err := trial(t, c.tape, c.expect)
		if c.complaint == "" && err != nil || c.complaint != "" && (err == nil || !strings.Contains(err.Error(), c.complaint)) {
			t.Errorf("%s: %v, want %q", c.expect, err, c.complaint)
		}
	}
}

//attack:replay-trial-lines
//attack:replay-trial-time
func TestTrialsAreBounded(t *testing.T) {
	lines := make([]string, replay.MaxTrialLines+1)
	for i := range lines {
		lines[i] = `{"at":"2026-11-30T15:00:00Z","cancel":{"intent":"a"}}`
	}
	lines[0] = order(0, "a", "1")
	if err := trial(t, strings.Join(lines, ","), `{"intent":"a"}`); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
	if err := trial(t, strings.Join(lines[:replay.MaxTrialLines], ","), `{"intent":"a"}`); err != nil {
		t.Error(err)
	}
	raw, b := book(t, `, "tests": [{"name": "it", "tape": [`+shown+`], "expect": [{"final":{}}]}]`)
	if err := replay.TrialWithin(0, raw, b); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("tests without time pass: %v", err)
	}
}
