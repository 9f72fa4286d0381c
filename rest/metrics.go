package rest

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"sallyport/gate"
	"sallyport/ledger"
)

// Metrics counts what the daemon does, in a registry of its own. A label never holds what a caller chose, so that
// nobody can make their number grow.
type Metrics struct {
	registry    *prometheus.Registry
	decisions   *prometheus.CounterVec
	unknown     *prometheus.CounterVec
	requests    *prometheus.CounterVec
	durations   *prometheus.HistogramVec
	differences prometheus.Counter
	gathering   sync.Mutex
}

// NewMetrics makes the counters.
//
//limit:rest-metric-labels A label of a metric is a half of the API, a status, a verdict, an audit state or this program's version, and nothing that a caller chose.
func NewMetrics() *Metrics {
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: "sallyport", Name: name, Help: help}
	}
	m := &Metrics{
		registry:  prometheus.NewPedanticRegistry(),
		decisions: prometheus.NewCounterVec(counter("decisions_total", "Decisions answered, by verdict and audit state."), []string{"verdict", "state"}),
		unknown:   prometheus.NewCounterVec(counter("refused_authentications_total", "Calls whose caller was not let in."), []string{"half"}),
		requests:  prometheus.NewCounterVec(counter("requests_total", "Calls answered."), []string{"half", "status"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "sallyport", Name: "request_duration_seconds", Help: "From a call's arrival to its answer.",
		}, []string{"half"}),
		differences: prometheus.NewCounter(counter("reconcile_differences_total", "Differences from the broker that reconciliations found.")),
	}
	m.registry.MustRegister(m.decisions, m.unknown, m.requests, m.durations, m.differences)
	return m
}

func (m *Metrics) decided(d ledger.Decision) {
	if m != nil {
		m.decisions.WithLabelValues(d.Verdict.String(), string(d.State)).Inc()
	}
}

func (m *Metrics) refused(half string) {
	if m != nil {
		m.unknown.WithLabelValues(half).Inc()
	}
}

// began returns what is to be called when the answer is known.
func (m *Metrics) began(half string) func(status int) {
	if m == nil {
		return func(int) {}
	}
	timer := prometheus.NewTimer(m.durations.WithLabelValues(half))
	return func(status int) {
		timer.ObserveDuration()
		m.requests.WithLabelValues(half, strconv.Itoa(status)).Inc()
	}
}

// Reconciled counts what a reconciliation found.
func (m *Metrics) Reconciled(r gate.Reconciliation) {
	if m == nil {
		return
	}
	for range r.Differences {
		m.differences.Inc()
	}
}

// expose answers with the counters, and with what is true at the moment. Beyond what is open it looks at nothing.
//
//limit:rest-metrics-one The counters are gathered by one call at a time, since that reads the journal and anybody may ask.
func (m *Metrics) expose(ctx context.Context, c Config, ready *readiness) answer {
	m.gathering.Lock()
	defer m.gathering.Unlock()
	now := prometheus.NewPedanticRegistry()
	now.MustRegister(present(ctx, c, ready.ask(ctx, c) == nil)...)
	w := &buffered{header: http.Header{}, status: http.StatusOK}
	r := (&http.Request{Method: http.MethodGet, Header: http.Header{}}).WithContext(ctx)
	promhttp.HandlerFor(prometheus.Gatherers{m.registry, now}, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(w, r)
	return answer{status: w.status, kind: w.header.Get("Content-Type"), body: w.body.Bytes()}
}

// present measures what is true at the moment. What the journal cannot say is left out: that it cannot is a measure too.
func present(ctx context.Context, c Config, ready bool) []prometheus.Collector {
	all := []prometheus.Collector{
		gauge("journal_ready", "1 if the journal can record, else 0.", whether(ready)),
		gauge("policy_valid", "1 if the policy is valid; with 0 every order is denied.", whether(c.Gate.Policy().Reason == nil)),
	}
	if open, err := c.Gate.Proposals(ctx); err == nil {
		all = append(all, gauge("proposals_open", "Proposals that wait.", len(open)))
	}
	if f, err := c.Gate.Figures(ctx); err == nil {
		all = append(all,
			gauge("orders_working", "Orders that work at the broker.", f.Working),
			gauge("orders_sending", "Orders that are permitted or on their way.", f.Sending),
			gauge("outcomes_unknown", "Orders whose outcome is not known.", f.Unknown))
	}
	engaged, _ := c.Gate.Stops(ctx) // a journal that cannot be read is a stop of its own
	all = append(all, gauge("stops_engaged", "Kill switches that are engaged.", len(engaged)))
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: "sallyport", Name: "build_info", Help: "1, with the version of the program that runs.",
	}, []string{"version"})
	build.WithLabelValues(c.Version).Inc()
	return append(all, build)
}

func whether(so bool) int {
	if so {
		return 1
	}
	return 0
}

// gauge counts up to its value: numbers here are whole, and there are few of what it counts.
func gauge(name, help string, n int) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "sallyport", Name: name, Help: help})
	for range n {
		g.Inc()
	}
	return g
}

// buffered keeps an answer whole.
type buffered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (b *buffered) Header() http.Header            { return b.header }
func (b *buffered) WriteHeader(status int)         { b.status = status }
func (b *buffered) Write(part []byte) (int, error) { return b.body.Write(part) }
