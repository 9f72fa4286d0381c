package rest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sallyport/gate"
	"sallyport/ledger"
)

// Metrics counts what the daemon does. A label never holds what a caller chose, so that nobody can make their number grow.
type Metrics struct {
	mu          sync.Mutex
	decisions   counter // by state and verdict
	refusals    counter // by half
	requests    counter // by half and status
	durations   map[string]*durations
	differences uint64

	gathering sync.Mutex
}

// counter counts by the values of at most two labels.
type counter map[[2]string]uint64

// durations is a histogram: how many calls took at most as long as each bound, how many there were, and how long in all.
type durations struct {
	within [len(bounds)]uint64
	count  uint64
	sum    time.Duration
}

// bounds are the histogram's, as they are written and as they are.
var bounds = [...]struct {
	le   string
	most time.Duration
}{
	{"0.001", time.Millisecond},
	{"0.0025", 2500 * time.Microsecond},
	{"0.005", 5 * time.Millisecond},
	{"0.01", 10 * time.Millisecond},
	{"0.025", 25 * time.Millisecond},
	{"0.05", 50 * time.Millisecond},
	{"0.1", 100 * time.Millisecond},
	{"0.25", 250 * time.Millisecond},
	{"0.5", 500 * time.Millisecond},
	{"1", 1000 * time.Millisecond},
	{"2.5", 2500 * time.Millisecond},
	{"10", 10_000 * time.Millisecond},
}

// NewMetrics makes the counters.
//
//limit:rest-metric-labels A label of a metric is a half of the API, a status, a verdict, an audit state or this program's version, and nothing that a caller chose.
func NewMetrics() *Metrics {
	return &Metrics{
		decisions: counter{}, refusals: counter{}, requests: counter{}, durations: map[string]*durations{},
	}
}

// labels writes names with their values, escaped as the format asks; nothing if there are no names.
func labels(names []string, values ...string) string {
	if len(names) == 0 {
		return ""
	}
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var all []string
	for i, name := range names {
		all = append(all, name+`="`+escape.Replace(values[i])+`"`)
	}
	return "{" + strings.Join(all, ",") + "}"
}

// count adds one to a counter of m's.
func (m *Metrics) count(c counter, values ...string) {
	var key [2]string
	copy(key[:], values)
	m.mu.Lock()
	defer m.mu.Unlock()
	c[key]++
}

func (m *Metrics) decided(d ledger.Decision) {
	if m != nil {
		m.count(m.decisions, string(d.State), d.Verdict.String())
	}
}

func (m *Metrics) refused(half string) {
	if m != nil {
		m.count(m.refusals, half)
	}
}

// began returns what is to be called when the answer is known.
func (m *Metrics) began(half string) func(status int) {
	if m == nil {
		return func(int) {}
	}
	at := time.Now()
	return func(status int) {
		m.count(m.requests, half, strconv.Itoa(status))
		m.took(half, time.Since(at))
	}
}

func (m *Metrics) took(half string, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.durations[half]
	if h == nil {
		h = &durations{}
		m.durations[half] = h
	}
	h.count++
	h.sum += d
	for i, b := range bounds {
		if d <= b.most {
			h.within[i]++
		}
	}
}

// Reconciled counts what a reconciliation found.
func (m *Metrics) Reconciled(r gate.Reconciliation) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.differences += uint64(len(r.Differences))
}

// expose answers with the counters, and with what is true at the moment, in the text format of Prometheus, version 0.0.4.
// Beyond what is open it looks at nothing.
//
//limit:rest-metrics-one The counters are gathered by one call at a time, since that reads the journal and anybody may ask.
func (m *Metrics) expose(ctx context.Context, c Config, ready *readiness) answer {
	m.gathering.Lock()
	defer m.gathering.Unlock()
	var w exposition
	w.present(ctx, c, ready.ask(ctx, c) == nil)
	m.mu.Lock()
	defer m.mu.Unlock()
	w.family("decisions_total", "counter", "Decisions answered, by verdict and audit state.", m.decisions, "state", "verdict")
	w.family("reconcile_differences_total", "counter", "Differences from the broker that reconciliations found.", counter{{}: m.differences})
	w.family("refused_authentications_total", "counter", "Calls whose caller was not let in.", m.refusals, "half")
	w.family("requests_total", "counter", "Calls answered.", m.requests, "half", "status")
	w.histogram("request_duration_seconds", "From a call's arrival to its answer.", m.durations)
	return answer{status: http.StatusOK, kind: "text/plain; version=0.0.4; charset=utf-8", body: []byte(w.String())}
}

// exposition is the text that a monitoring system reads.
type exposition struct{ strings.Builder }

func (w *exposition) head(name, kind, help string) {
	fmt.Fprintf(w, "# HELP sallyport_%s %s\n# TYPE sallyport_%s %s\n", name, help, name, kind)
}

// family writes a metric with its values by labels. One without values is there by its name.
func (w *exposition) family(name, kind, help string, values counter, names ...string) {
	w.head(name, kind, help)
	keys := slices.SortedFunc(maps.Keys(values), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for _, k := range keys {
		fmt.Fprintf(w, "sallyport_%s%s %d\n", name, labels(names, k[:]...), values[k])
	}
}

func (w *exposition) gauge(name, help string, n int) {
	w.family(name, "gauge", help, counter{{}: uint64(max(n, 0))})
}

func (w *exposition) histogram(name, help string, all map[string]*durations) {
	w.head(name, "histogram", help)
	for _, half := range slices.SortedFunc(maps.Keys(all), cmp.Compare) {
		h := all[half]
		for i, b := range bounds {
			fmt.Fprintf(w, "sallyport_%s_bucket%s %d\n", name, labels([]string{"half", "le"}, half, b.le), h.within[i])
		}
		fmt.Fprintf(w, "sallyport_%s_bucket%s %d\n", name, labels([]string{"half", "le"}, half, "+Inf"), h.count)
		whole, rest := h.sum/aSecond, h.sum%aSecond
		fmt.Fprintf(w, "sallyport_%s_sum%s %d.%09d\n", name, labels([]string{"half"}, half), int64(whole), int64(rest))
		fmt.Fprintf(w, "sallyport_%s_count%s %d\n", name, labels([]string{"half"}, half), h.count)
	}
}

// present measures what is true at the moment. What the journal cannot say is left out: that it cannot is a measure too.
func (w *exposition) present(ctx context.Context, c Config, ready bool) {
	w.family("build_info", "gauge", "1, with the version of the program that runs.", counter{{c.Version}: 1}, "version")
	w.gauge("journal_ready", "1 if the journal can record, else 0.", whether(ready))
	w.gauge("policy_valid", "1 if the policy is valid; with 0 every order is denied.", whether(c.Gate.Policy().Reason == nil))
	if open, err := c.Gate.Proposals(ctx); err == nil {
		w.gauge("proposals_open", "Proposals that wait.", len(open))
	}
	if f, err := c.Gate.Figures(ctx); err == nil {
		w.gauge("orders_working", "Orders that work at the broker.", f.Working)
		w.gauge("orders_sending", "Orders that are permitted or on their way.", f.Sending)
		w.gauge("outcomes_unknown", "Orders whose outcome is not known.", f.Unknown)
	}
	engaged, _ := c.Gate.Stops(ctx) // a journal that cannot be read is a stop of its own
	w.gauge("stops_engaged", "Kill switches that are engaged.", len(engaged))
}

func whether(so bool) int {
	if so {
		return 1
	}
	return 0
}
