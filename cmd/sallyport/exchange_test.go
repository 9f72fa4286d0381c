package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sallyport/gatetest"
	"sallyport/market"
	"sallyport/policy"
	"sallyport/trade"
)

// TestExchangeOfAFileThatIsReplaced: what is put in the place of the quotes is a no, and a look never waits.
func TestExchangeOfAFileThatIsReplaced(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "quotes.jsonl")
	at := time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	cfg := defaultConfig(home)
	x := newExchange(cfg)
	spread, _ := trade.ParseDecimal("200")
	by := policy.Quotes{Sources: []string{"file"}, MaxAge: 30 * time.Second, MaxSpread: spread}
	aapl := gatetest.Symbol("AAPL")
	want := func(what string, code trade.Code) {
		t.Helper()
		if q := x.Look(by).Quote(aapl, at); q.Code != code {
			t.Fatalf("%s: %q, want %q", what, q.Code, code)
		}
	}
	line := `{"symbol":"AAPL","bid":"100","ask":"100.10","last":"100","at":"2026-11-30T14:59:50Z"}` + "\n"
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	remove := func() {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	want("no file", policy.QuoteUnavailable)
	write(path, line)
	want("a file", "")
	kept := x.Look(by)
	write(path, "nonsense\n")
	want("nonsense", policy.QuoteUnavailable)
	if q := kept.Quote(aapl, at); q.Code != "" {
		t.Fatalf("a look at what was there then: %s", q.Code)
	}
	remove()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	want("a pipe", policy.QuoteUnavailable)
	remove()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	want("a directory", policy.QuoteUnavailable)
	remove()
	if err := os.Symlink(filepath.Join(home, "gone.jsonl"), path); err != nil {
		t.Fatal(err)
	}
	want("a link to nothing", policy.QuoteUnavailable)
	write(filepath.Join(home, "gone.jsonl"), line)
	want("a link to quotes", "") // whoever can make it could write the file
	remove()
	write(path, line)
	if err := os.Truncate(path, market.MaxFile+1); err != nil {
		t.Fatal(err)
	}
	want("a huge file", policy.QuoteUnavailable)
	by.Sources = []string{"other"}
	remove()
	write(path, line)
	want("a source that nobody has", policy.QuoteUnavailable)
}

// TestExchangeOfTwoSources: they must agree, and one that is silent cannot.
//
//attack:config-sources
//attack:config-source-name
func TestExchangeOfTwoSources(t *testing.T) {
	home := t.TempDir()
	at := time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	cfg, err := parseConfig([]byte(`{"sources": {"second": "two.jsonl"}}`), home)
	if err != nil || cfg.Sources["second"] != filepath.Join(home, "two.jsonl") {
		t.Fatalf("%+v, %v", cfg.Sources, err)
	}
	x := newExchange(cfg)
	bps, _ := trade.ParseDecimal("100")
	by := policy.Quotes{Sources: []string{"file", "second"}, MaxAge: time.Minute, MaxSpread: bps, MaxDivergence: policy.Known{Value: bps, Known: true}}
	aapl := gatetest.Symbol("AAPL")
	want := func(bid, ask string, code trade.Code) {
		t.Helper()
		line := `{"symbol":"AAPL","bid":"` + bid + `","ask":"` + ask + `","last":"100","at":"2026-11-30T14:59:50Z"}` + "\n"
		if err := os.WriteFile(cfg.Sources["second"], []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		if q := x.Look(by).Quote(aapl, at); q.Code != code {
			t.Fatalf("%s to %s: %q, want %q", bid, ask, q.Code, code)
		}
	}
	want("100", "100", policy.QuoteUnavailable)
	line := `{"symbol":"AAPL","bid":"100","ask":"100","last":"100","at":"2026-11-30T14:59:50Z"}` + "\n"
	if err := os.WriteFile(cfg.Quotes, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	want("100", "100", "")
	want("101", "101", "")
	want("101.01", "101.01", policy.QuotesDisagree)
	for _, text := range []string{
		`{"sources": {"file": "x"}}`, `{"sources": {"A": "x"}}`, `{"sources": {"a": "x", "a": "y"}}`, `{"sources": ["x"]}`, `{"sources": {"a": 1}}`,
		`{"sources": {"a": "x", "b": "x", "c": "x", "d": "x", "e": "x", "f": "x", "g": "x", "h": "x", "i": "x"}}`,
		`{"sources": {"": "x"}}`, `{"sources": {"1a": "x"}}`, `{"sources": {"-a": "x"}}`, `{"sources": {"a.b": "x"}}`, `{"sources": {"a\n": "x"}}`, `{"sources": {"ä": "x"}}`,
		`{"sources": {"a` + strings.Repeat("b", 32) + `": "x"}}`,
	} {
		if _, err := parseConfig([]byte(text), home); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
	for _, name := range []string{"z", "a-1_z", "a" + strings.Repeat("9", 31)} {
		if _, err := parseConfig([]byte(`{"sources": {"`+name+`": "x"}}`), home); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestExchangeSaysWhatIsListedAndWhen(t *testing.T) {
	home := t.TempDir()
	cfg := defaultConfig(home)
	at := time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	look := func() (apple, other policy.InstrumentFact) {
		v := newExchange(cfg).Look(policy.Quotes{})
		if s := v.Session(at); s.Code != "" || !s.Regular {
			t.Fatalf("%+v", s)
		}
		if s := v.Session(at.AddDate(10, 0, 0)); s.Code != policy.CalendarUnavailable {
			t.Fatalf("%+v", s)
		}
		a := gatetest.Symbol("AAPL")
		b := gatetest.Symbol("MSFT")
		return v.Instrument(a), v.Instrument(b)
	}
	if a, b := look(); a.Code != "" || b.Code != "" || a.Tick.Size().String() != "0.01" {
		t.Fatalf("%+v %+v", a, b)
	}
	cfg.Listed = true // and not there
	if a, _ := look(); a.Code != policy.InstrumentUnavailable {
		t.Fatalf("%+v", a)
	}
	text := `{"symbol":"AAPL","asset_class":"us_equity","currency":"USD","tick":"0.05","lot":"1","minimum":"1","multiplier":"1"}` + "\n"
	if err := os.WriteFile(cfg.Instruments, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if a, b := look(); a.Code != "" || b.Code != policy.SymbolNotListed || a.Tick.Size().String() != "0.05" {
		t.Fatalf("%+v %+v", a, b)
	}
	if err := os.WriteFile(cfg.Instruments, []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if a, _ := look(); a.Code != policy.InstrumentUnavailable {
		t.Fatalf("%+v", a)
	}
}
