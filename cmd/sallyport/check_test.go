package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// testStream judges by the default policy on an empty account.
func testStream(t testing.TB, tool string) *stream {
	t.Helper()
	now := func() time.Time { return time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC) }
	s := &stream{check: gate.EmptyChecker(gate.Config{Now: now}, policy.Default()).Check, cfg: defaultConfig(home)}
	if err := s.speak(tool); err != nil {
		t.Fatal(err)
	}
	return s
}

// judge returns the decisions on an input.
func judge(t testing.TB, s *stream, in io.Reader) []ledger.Decision {
	t.Helper()
	var ds []ledger.Decision
	err := s.each(context.Background(), in, func(n uint64, d ledger.Decision, _ bool) error {
		ds = append(ds, d)
		if n != uint64(len(ds)) {
			t.Errorf("line %d is numbered %d", len(ds), n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

func codes(d ledger.Decision) string {
	words := []string{d.Verdict.String()}
	for _, r := range d.Reasons {
		words = append(words, strings.TrimSuffix(string(r.Code)+":"+r.Field, ":"))
	}
	return strings.Join(words, " ")
}

const compliant = `{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"limit","limit_price":"150.00"}`

// TestCheckAnswersEachLineInOrder holds the wrapper to the same strictness as the arguments.
//
//attack:check-line-depth
func TestCheckAnswersEachLineInOrder(t *testing.T) {
	deep := strings.Repeat("[", 33) + strings.Repeat("]", 33)
	for _, c := range []struct{ tool, line, want string }{
		{toolA, compliant, "allow"},
		{toolA, "  " + compliant + "\t\r", "allow"},
		{toolA, ``, "deny JSON_MALFORMED"},
		{toolA, `   `, "deny JSON_MALFORMED"},
		{toolA, compliant + compliant, "deny JSON_MALFORMED"},
		{toolA, `{"tool":"paper_place_order_a","args":` + compliant + `}`, "deny FIELD_UNKNOWN:tool FIELD_UNKNOWN:args FIELD_MISSING:symbol FIELD_MISSING:side FIELD_MISSING:quantity FIELD_MISSING:order_type FIELD_MISSING:limit_price"},
		{toolB, compliant, "deny FIELD_UNKNOWN:symbol FIELD_UNKNOWN:side FIELD_UNKNOWN:quantity FIELD_UNKNOWN:limit_price FIELD_MISSING:ticker FIELD_MISSING:direction FIELD_MISSING:qty FIELD_MISSING:price"},
		{"", `{"tool":"paper_place_order_a","args":` + compliant + `}`, "allow"},
		{"", ` { "args" : ` + compliant + ` , "tool" : "trade_check" } `, "allow"},
		{"", `{"tool":"paper_place_order_b","args":{"ticker":"MSFT","direction":"buy","qty":201,"order_type":"limit","price":1}}`, "deny QUANTITY_EXCEEDS_LIMIT:quantity"},
		{"", ``, "deny JSON_MALFORMED"},
		{"", `null`, "deny FIELD_TYPE_WRONG"},
		{"", `[]`, "deny FIELD_TYPE_WRONG"},
		{"", `{}`, "deny FIELD_MISSING:tool FIELD_MISSING:args"},
		{"", `{"tool":"paper_place_order_a"}`, "deny FIELD_MISSING:args"},
		{"", `{"tool":"paper_place_order_a","args":null}`, "deny FIELD_TYPE_WRONG"},
		{"", `{"tool":"paper_place_order_a","tool":"paper_place_order_a","args":` + compliant + `}`, "deny FIELD_DUPLICATE:tool"},
		{"", `{"tool":"paper_place_order_a","args":{},"args":` + compliant + `}`, "deny FIELD_DUPLICATE:args"},
		{"", `{"tool":"paper_place_order_a","args":` + compliant + `,"more":1}`, "deny FIELD_UNKNOWN:more"},
		{"", `{"Tool":"paper_place_order_a","args":` + compliant + `}`, "deny FIELD_UNKNOWN:Tool FIELD_MISSING:tool"},
		{"", `{"tool":"rm","args":` + compliant + `}`, "deny TOOL_UNKNOWN:tool"},
		{"", `{"tool":7,"args":` + compliant + `}`, "deny FIELD_TYPE_WRONG:tool"},
		{"", `{"tool":"paper_place_order_a","args":` + deep + `}`, "deny JSON_MALFORMED"},
		{"", `{"tool":"paper_place_order_a","args":` + compliant + `} x`, "deny JSON_MALFORMED"},
		{"", "{\"tool\":\"\xff\",\"args\":{}}", "deny JSON_MALFORMED"},
	} {
		ds := judge(t, testStream(t, c.tool), strings.NewReader(compliant+"\n"+c.line+"\n"+compliant))
		if len(ds) != 3 {
			t.Errorf("%q: %d decisions on three lines", c.line, len(ds))
			continue
		}
		if got := codes(ds[1]); got != c.want {
			t.Errorf("tool %q, line %q\n got %s\nwant %s", c.tool, c.line, got, c.want)
		}
		for _, r := range ds[1].Reasons {
			if r.Message == "" {
				t.Errorf("%q: %s says nothing", c.line, r.Code)
			}
		}
	}
}

// TestCheckPassesOverTheRestOfALongLine sends lines at and above the limit, some far above, between good ones.
//
//attack:check-line-bytes
func TestCheckPassesOverTheRestOfALongLine(t *testing.T) {
	pad := func(n int) string { return compliant + strings.Repeat(" ", n-len(compliant)) }
	for _, c := range []struct {
		line, want string
	}{
		{pad(64 << 10), "allow"},
		{pad(64<<10 + 1), "deny BODY_TOO_LARGE"},
		{pad(maxLine), "deny BODY_TOO_LARGE"},
		{pad(maxLine + 1), "deny BODY_TOO_LARGE"},
		{pad(10 * maxLine), "deny BODY_TOO_LARGE"},
		{strings.Repeat("[", 3*maxLine), "deny BODY_TOO_LARGE"},
	} {
		for _, end := range []string{"\n", "\n" + compliant, "\n" + compliant + "\n"} {
			ds := judge(t, testStream(t, toolA), strings.NewReader(compliant+"\n"+c.line+end))
			want := "allow " + c.want
			if len(end) > 1 {
				want += " allow"
			}
			var got []string
			for _, d := range ds {
				got = append(got, codes(d))
			}
			if strings.Join(got, " ") != want {
				t.Errorf("a line of %d bytes and %.4q: got %s, want %s", len(c.line), end, got, want)
			}
		}
	}
	for _, tail := range []string{"", "\n"} { // the long line is the last, with and without its line feed
		ds := judge(t, testStream(t, toolA), strings.NewReader(pad(2*maxLine)+tail))
		if len(ds) != 1 || codes(ds[0]) != "deny BODY_TOO_LARGE" {
			t.Errorf("a last long line: %v", ds)
		}
	}
}

func TestCheckOfNothingIsNothing(t *testing.T) {
	if ds := judge(t, testStream(t, toolA), strings.NewReader("")); len(ds) != 0 {
		t.Errorf("%d decisions on no line", len(ds))
	}
}

func TestCheckStopsAtAReadError(t *testing.T) {
	broken := errors.New("the disk is gone")
	in := io.MultiReader(strings.NewReader(compliant+"\n"), &failing{broken})
	n := 0
	err := testStream(t, toolA).each(context.Background(), in, func(uint64, ledger.Decision, bool) error { n++; return nil })
	if n != 1 || problemOf(err).exit != exitInternal || !strings.Contains(err.Error(), broken.Error()) {
		t.Errorf("%d lines, then %v", n, err)
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// TestCheckAnswersBeforeTheNextLineComes would hang if an answer waited for more input.
func TestCheckAnswersBeforeTheNextLineComes(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	a := &app{stdin: inR, stdout: outW, stderr: io.Discard, getenv: func(string) string { return "" }, now: time.Now, json: true}
	done := make(chan error, 1)
	go func() { done <- a.checkAll(context.Background(), testStream(t, toolA), inR) }()
	answers := bufio.NewReader(outR)
	for n := 1; n <= 3; n++ {
		if _, err := io.WriteString(inW, compliant+"\n"); err != nil {
			t.Fatal(err)
		}
		line, err := answers.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, fmt.Sprintf(`{"line":%d,"verdict":"allow"`, n)) {
			t.Fatalf("%q, %v", line, err)
		}
	}
	inW.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCheckLineFits80Columns(t *testing.T) {
	d := ledger.Decision{Reasons: []policy.Reason{{Code: "SOMETHING_THAT_IS_VERY_LONG", Message: strings.Repeat("because ", 20)}, {Code: "AND_ANOTHER_THING"}, {Code: "AND_A_THIRD"}}}
	for _, n := range []uint64{1, 999999, 12345678901} {
		wantWidth(t, string(appendCheckLine(nil, n, d, paint{})))
	}
}

func FuzzCheckLine(f *testing.F) {
	for _, s := range []string{
		compliant, `{"tool":"paper_place_order_a","args":` + compliant + `}`, "", "{}", "\n\n", "[[[[", `{"tool":"alpaca","args":{"qty":1}}`,
		`{"tool":"paper_place_order_a","args":{"symbol":"` + "\u202e" + `"}}`, "\xff\xfe",
	} {
		f.Add([]byte(s))
	}
	bare, wrapped := testStream(f, toolA), testStream(f, "")
	f.Fuzz(func(t *testing.T, raw []byte) {
		want := bytes.Count(raw, []byte{'\n'})
		if len(raw) > 0 && raw[len(raw)-1] != '\n' {
			want++
		}
		for _, s := range []*stream{bare, wrapped} {
			s.lines = 0
			ds := judge(t, s, bytes.NewReader(raw))
			if len(ds) != want {
				t.Fatalf("%d decisions on %d lines", len(ds), want)
			}
			for _, d := range ds {
				if d.Verdict != policy.Allow && len(d.Reasons) == 0 {
					t.Error("a denial without a reason")
				}
				if d.Verdict == policy.Allow && !within(d.Order, "10000") {
					t.Errorf("allowed: %s", d.AppendJSON(nil))
				}
				if !json.Valid(d.AppendJSON(nil)) {
					t.Errorf("not JSON: %s", d.AppendJSON(nil))
				}
			}
		}
	})
}

// FuzzQuickWrapper compares the quick reader of plain wrappers with the strict one: they must come to the same decision.
func FuzzQuickWrapper(f *testing.F) {
	for _, args := range []string{compliant, "{}", `{"a":"}"}`, `{"a":[}]}`, `{"symbol":"\u0041APL"}`, "{\xff}", `{"a":{"b":1}}}`, `{"a":1}{`, "[]", `{"a`} {
		f.Add([]byte(`{"tool":"paper_place_order_a","args":` + args + `}`))
		f.Add([]byte(` { "args" : ` + args + ` , "tool" : "trade_check" } `))
	}
	f.Add([]byte(`{"tool":"alpaca","tool":"alpaca"}`))
	f.Add([]byte(`{"args":{},"args":{}}`))
	f.Add([]byte(`{"tool":"alpaca","args":{},}`))
	f.Add([]byte(`{"tool":"alpaca" "args":{}}`))
	quick, strict := testStream(f, ""), testStream(f, "")
	strict.strict = true
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.IndexByte(line, '\n') >= 0 || len(line) > maxLine {
			return
		}
		got, want := quick.check(quick.call(line, false)), strict.check(strict.call(line, false))
		// Of arguments that are no JSON, the strict reader says that the line is none.
		if codes(got) != codes(want) {
			t.Errorf("quick: %s\nstrict: %s", codes(got), codes(want))
		}
		if got.Order.Digest() != want.Order.Digest() && !want.Order.IsZero() {
			t.Error("another order")
		}
	})
}

// endless repeats a block of lines n times without holding more than one.
type endless struct {
	block []byte
	left  int
	at    int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.at == len(e.block) {
		e.at = 0
		e.left--
	}
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p, e.block[e.at:])
	e.at += n
	return n, nil
}

// checkLines are orders of all kinds, most of them allowed.
func checkLines(wrap bool) []byte {
	var b bytes.Buffer
	for i := range 64 {
		args := fmt.Sprintf(`{"symbol":"AAPL","side":"buy","quantity":"%d","order_type":"limit","limit_price":"%d.25","client_order_id":"order-%d"}`, 1+i%50, 100+i, i)
		if wrap {
			args = `{"tool":"paper_place_order_a","args":` + args + `}`
		}
		b.WriteString(args + "\n")
	}
	return b.Bytes()
}

// BenchmarkCheck streams lines and, beside it in the same run, decodes the same lines into a map with encoding/json
// alone. ratio is the share of that yardstick's lines a second; at least a third is asked.
func BenchmarkCheck(b *testing.B) {
	for _, c := range []struct {
		name, tool string
	}{{"tool", toolA}, {"wrapper", ""}} {
		b.Run(c.name, func(b *testing.B) {
			block := checkLines(c.tool == "")
			blocks := b.N/64 + 1
			a := &app{stdout: io.Discard, stderr: io.Discard, getenv: func(string) string { return "" }, now: time.Now, json: true}
			s := testStream(b, c.tool)
			b.ReportAllocs()
			b.ResetTimer()
			if err := a.checkAll(context.Background(), s, &endless{block: block, left: blocks}); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			ours := b.Elapsed()
			start := time.Now()
			lines := bufio.NewScanner(&endless{block: block, left: blocks})
			for lines.Scan() {
				m := map[string]any{}
				if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(time.Since(start))/float64(ours), "ratio")
		})
	}
}

// within reports whether an order is worth at most a bound by its own terms.
func within(o trade.Order, bound string) bool {
	worth, known := o.Notional()
	return known && worth.Cmp(gatetest.Decimal(bound)) <= 0
}
