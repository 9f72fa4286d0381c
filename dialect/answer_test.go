package dialect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sallyport/dialect"
	"sallyport/trade"
	"sallyport/wire"
)

// reader returns the reader of answers of that name.
func reader(t testing.TB, name string) func([]byte) dialect.Answer {
	t.Helper()
	switch name {
	case "paper":
		return dialect.PaperAnswer
	case "alpaca":
		return dialect.AlpacaAnswer
	case "words":
		return dialect.StatusAnswer([]string{"ACCEPTED", "both"}, []string{"DENIED", "both"})
	}
	t.Fatalf("there is no reader %s", name)
	return nil
}

// TestAnswers runs the answers of testdata/answers through the readers.
//
//fault:f131
func TestAnswers(t *testing.T) {
	datadriven.Walk(t, "testdata/answers", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			a := reader(t, d.Cmd)(input(t, d.Input))
			out := a.Outcome.String()
			for _, part := range [][2]string{{"status", a.Status}, {"code", a.Code}, {"id", a.OrderID}, {"message", a.Message}} {
				if part[1] != "" {
					out += fmt.Sprintf(" %s=%q", part[0], part[1])
				}
			}
			return out + "\n"
		})
	})
}

func TestTableReadsTheAnswersOfItsTools(t *testing.T) {
	success := []byte(`{"status":"SUCCESS","order_id":"paper-1"}`)
	for _, name := range []string{"paper_place_order_a", "paper_place_order_b"} {
		if a := find(t, name).Outcome(success); a.Outcome != trade.Accepted || a.OrderID != "paper-1" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if find(t, "trade_check").Outcome != nil {
		t.Error("a check has an outcome")
	}
	if a := find(t, "alpaca").Outcome([]byte(`{"id":"1","status":"new"}`)); a.Outcome != trade.Accepted {
		t.Errorf("alpaca: %+v", a)
	}
}

// wrappings are what harnesses put around an answer, as far as they do not call it an error.
var wrappings = map[string]func(payload string) string{
	"as it is":        func(p string) string { return p },
	"JSON string":     func(p string) string { return quote(p) },
	"content block":   func(p string) string { return `{"type":"text","text":` + quote(p) + `}` },
	"array of blocks": func(p string) string { return `[{"type":"text","text":` + quote(p) + `}]` },
	"CallToolResult":  func(p string) string { return `{"content":[{"type":"text","text":` + quote(p) + `}]}` },
	"CallToolResult ok": func(p string) string {
		return `{"content":[{"type":"text","text":` + quote(p) + `}],"isError":false,"_meta":{}}`
	},
	"structured": func(p string) string {
		return `{"content":[{"type":"text","text":` + quote(p) + `}],"structuredContent":` + p + `,"isError":false}`
	},
	"structured only":   func(p string) string { return `{"content":null,"structuredContent":` + p + `}` },
	"structured result": func(p string) string { return `{"structuredContent":{"result":` + p + `}}` },
	"gemini": func(p string) string {
		return `{"llmContent":[{"text":` + quote(p) + `}],"returnDisplay":"shown","error":null}`
	},
	"gemini string": func(p string) string { return `{"llmContent":` + quote(p) + `,"returnDisplay":"shown"}` },
	"hermes":        func(p string) string { return `{"result":` + quote(p) + `}` },
	"hermes twice":  func(p string) string { return quote(`{"result":` + quote(p) + `}`) },
}

func quote(s string) string { return string(wire.AppendString(nil, s)) }

func TestEveryWrappingKeepsADefiniteAnswer(t *testing.T) {
	for how, wrap := range wrappings {
		for payload, want := range map[string]trade.Outcome{
			`{"status":"SUCCESS","order_id":"paper-1"}`:                         trade.Accepted,
			`{"status":"ERROR","code":"INSUFFICIENT_CASH","message":"no cash"}`: trade.Rejected,
			`{"verdict":"deny","state":"EXECUTION_BLOCKED"}`:                    trade.Rejected,
			`{"verdict":"allow","state":"EXECUTION_OUTCOME_UNKNOWN"}`:           trade.Unknown,
			`{"status":"SUCCESS"}`:                                              trade.Unknown,
		} {
			if got := dialect.PaperAnswer([]byte(wrap(payload))); got.Outcome != want {
				t.Errorf("%s of %s: %+v", how, payload, got)
			}
		}
	}
}

// TestWhatAWrapperCallsAnErrorIsNeverAccepted wraps a success as an error.
//
//fault:f47
func TestWhatAWrapperCallsAnErrorIsNeverAccepted(t *testing.T) {
	success, refusal := `{"status":"SUCCESS","order_id":"paper-1"}`, `{"status":"ERROR","code":"INSUFFICIENT_CASH"}`
	for _, wrap := range []string{
		`{"content":[{"type":"text","text":%s}],"isError":true}`, `{"content":[{"type":"text","text":%s}],"isError":"false"}`,
		`{"content":[{"type":"text","text":%s}],"isError":1}`, `{"error":%s}`, `{"llmContent":%s,"error":{"message":"x","type":"y"}}`,
		`{"result":%s,"error":"timeout"}`,
	} {
		if a := dialect.PaperAnswer(fmt.Appendf(nil, wrap, quote(success))); a.Outcome != trade.Unknown {
			t.Errorf(wrap+": %+v", quote(success), a)
		}
	}
	for _, wrap := range []string{`{"content":[{"type":"text","text":%s}],"isError":true}`, `{"error":%s}`} {
		if a := dialect.PaperAnswer(fmt.Appendf(nil, wrap, quote(refusal))); a.Outcome != trade.Rejected || a.Code != "INSUFFICIENT_CASH" {
			t.Errorf(wrap+": %+v", quote(refusal), a)
		}
	}
}

//attack:dialect-answer-wraps
func TestTooManyWrappingsMakeAnAnswerUnknown(t *testing.T) {
	success := `{"status":"SUCCESS","order_id":"paper-1"}`
	for n := range 14 {
		array := strings.Repeat("[", n) + success + strings.Repeat("]", n)
		if a := dialect.PaperAnswer([]byte(array)); (a.Outcome == trade.Accepted) != (n <= 8) {
			t.Errorf("%d arrays: %+v", n, a)
		}
		text := success
		for range min(n, 12) {
			text = quote(text)
		}
		if a := dialect.PaperAnswer([]byte(text)); (a.Outcome == trade.Accepted) != (n <= 8) {
			t.Errorf("%d strings: %+v", n, a)
		}
	}
}

//attack:dialect-answer-bytes
//attack:dialect-answer-depth
//attack:dialect-answer-id
func TestAnswersPastTheirLimitsAreUnknown(t *testing.T) {
	success := `{"status":"SUCCESS","order_id":"paper-1"}`
	for n, want := range map[int]trade.Outcome{1 << 20: trade.Accepted, 1<<20 + 1: trade.Unknown} {
		if a := dialect.PaperAnswer([]byte(success + strings.Repeat(" ", n-len(success)))); a.Outcome != want {
			t.Errorf("%d bytes: %+v", n, a)
		}
	}
	for depth, want := range map[int]trade.Outcome{31: trade.Accepted, 32: trade.Unknown, 10_000: trade.Unknown} {
		deep := `{"status":"SUCCESS","order_id":"paper-1","x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`
		if a := dialect.PaperAnswer([]byte(deep)); a.Outcome != want {
			t.Errorf("depth %d: %+v", depth, a)
		}
	}
	for n, want := range map[int]trade.Outcome{1: trade.Accepted, 128: trade.Accepted, 129: trade.Unknown, 10_000: trade.Unknown} {
		if a := dialect.PaperAnswer([]byte(`{"status":"SUCCESS","order_id":"` + strings.Repeat("x", n) + `"}`)); a.Outcome != want {
			t.Errorf("an id of %d bytes: %v", n, a.Outcome)
		}
	}
}

// FuzzAnswersAreAcceptedOnlyByTheirWord checks that no answer is definite without the word that makes it so.
//
//fault:f131
func FuzzAnswersAreAcceptedOnlyByTheirWord(f *testing.F) {
	for _, wrap := range wrappings {
		f.Add([]byte(wrap(`{"status":"SUCCESS","order_id":"paper-1"}`)))
		f.Add([]byte(wrap(`{"status":"ERROR","code":"X"}`)))
		f.Add([]byte(wrap(`{"verdict":"deny","state":"EXECUTION_FAILED"}`)))
	}
	f.Add([]byte(`{"id":"1","status":"filled"}`))
	f.Add([]byte(`{"code":40310000,"message":"insufficient buying power"}`))
	f.Add([]byte(`[[[[[[[[[[]]]]]]]]]]`))
	accepting := map[string]string{
		"paper": " SUCCESS EXECUTION_SUCCEEDED ", "words": " ACCEPTED ",
		"alpaca": " new partially_filled filled done_for_day pending_cancel pending_replace accepted pending_new accepted_for_bidding stopped suspended calculated held ",
	}
	refusing := map[string]string{"paper": " ERROR EXECUTION_FAILED EXECUTION_BLOCKED ", "words": " DENIED ", "alpaca": " rejected "}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, name := range []string{"paper", "alpaca", "words"} {
			a := reader(t, name)(raw)
			if a.Outcome > trade.Rejected {
				t.Fatalf("%s: outcome %d", name, a.Outcome)
			}
			if a.Outcome == trade.Accepted && !strings.Contains(accepting[name], " "+a.Status+" ") {
				t.Fatalf("%s: %s is accepted by %q", name, raw, a.Status)
			}
			if a.Outcome == trade.Rejected && a.Code == "" && !strings.Contains(refusing[name], " "+a.Status+" ") {
				t.Fatalf("%s: %s is rejected by %q", name, raw, a.Status)
			}
			if strings.ContainsAny(a.Status+a.Code+a.Message, "\n\x1b\u202e") {
				t.Fatalf("%s: %+v", name, a)
			}
		}
	})
}
