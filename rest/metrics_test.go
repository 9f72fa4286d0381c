package rest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/rest"
)

// TestMetricsShowWhatNeedsAPerson: each state that an operator must act on has a number of its own.
func TestMetricsShowWhatNeedsAPerson(t *testing.T) {
	clock := gatetest.NewClock()
	var home string
	r := newRig(t, func(g *gate.Config, s *rest.ServerConfig) {
		home, s.Now, s.Version = g.Home, clock.Now, "v9.8.7"
	})
	want := func(lines ...string) {
		t.Helper()
		text := r.send(request{half: "people", method: "GET", path: "/metrics"}).body
		for _, line := range lines {
			if !strings.Contains(text, "\n"+line+"\n") {
				t.Errorf("the metrics lack %s:\n%s", line, text)
			}
		}
	}
	want("sallyport_outcomes_unknown 0", "sallyport_orders_working 0", "sallyport_policy_valid 1", `sallyport_build_info{version="v9.8.7"} 1`)
	r.broker.Next(gatetest.Rest, gatetest.Unclear)
	wantState(t, r.trader().Execute(ctx, order(t, "buy", "AAPL", "2", "150")), policy.Allow, ledger.Succeeded)
	wantState(t, r.trader().Execute(ctx, order(t, "buy", "AAPL", "1", "150")), policy.Allow, ledger.OutcomeUnknown)
	want("sallyport_outcomes_unknown 1", "sallyport_orders_working 1", "sallyport_journal_ready 1", "sallyport_stops_engaged 0")
	if err := os.WriteFile(filepath.Join(home, "policy.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	want("sallyport_policy_valid 0")
	if err := r.gate.Close(); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Second)
	want("sallyport_journal_ready 0")
}

// TestMetricsAreInTheFormatOfPrometheus holds every line to the text format, and the histogram to its own rules: buckets
// that only grow, the last of which counts all.
func TestMetricsAreInTheFormatOfPrometheus(t *testing.T) {
	r := newRig(t, func(_ *gate.Config, s *rest.ServerConfig) { s.Version = "a\"b\\c" })
	for range 3 {
		r.trader().Check(ctx, order(t, "buy", "AAPL", "2", "150"))
	}
	a := r.send(request{half: "people", method: "GET", path: "/metrics"})
	if got := a.header.Get("Content-Type"); got != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("the type is %q", got)
	}
	comment := regexp.MustCompile(`^# (HELP [a-z_]+ [^\\\n]+|TYPE [a-z_]+ (counter|gauge|histogram))$`)
	sample := regexp.MustCompile(`^(sallyport_[a-z_]+)(\{[a-z]+="([^"\\]|\\["\\n])*"(,[a-z]+="([^"\\]|\\["\\n])*")*\})? ([0-9]+(\.[0-9]{9})?)$`)
	typed, last, buckets := "", 0, 0
	for line := range strings.Lines(a.body) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			if !comment.MatchString(line) {
				t.Errorf("no comment of the format: %s", line)
			}
			if name, is := strings.CutPrefix(line, "# TYPE "); is {
				typed, _, _ = strings.Cut(name, " ")
			}
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil || !strings.HasPrefix(m[1], typed) {
			t.Errorf("no sample of %s in the format: %s", typed, line)
			continue
		}
		n, _ := strconv.Atoi(m[6])
		switch {
		case !strings.Contains(line, `_bucket{half="agents"`):
		case n < last:
			t.Errorf("a bucket counts less than the one before: %s", line)
		default:
			last, buckets = n, buckets+1
		}
	}
	if last < 3 || buckets != 13 || !strings.Contains(a.body, `version="a\"b\\c"`) ||
		!strings.Contains(a.body, fmt.Sprintf("sallyport_request_duration_seconds_count{half=\"agents\"} %d\n", last)) {
		t.Errorf("%d calls in %d buckets:\n%s", last, buckets, a.body)
	}
}
