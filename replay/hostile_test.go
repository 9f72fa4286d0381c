package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"sallyport/policy"
	"sallyport/replay"
)

// run replays a tape under the default policy.
func run(t testing.TB, tape string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := replay.Run(t.Context(), replay.Config{Policy: policy.Default()}, strings.NewReader(tape), &out)
	return out.String(), err
}

// at puts bodies of lines behind a time that goes on by a second a line.
func at(bodies ...string) string {
	var b strings.Builder
	for i, body := range bodies {
		fmt.Fprintf(&b, `{"at":"2026-11-30T15:%02d:%02dZ",%s}`+"\n", i/60%60, i%60, body)
	}
	return b.String()
}

func buy(id, rest string) string {
	return `"intent":{"id":"` + id + `","agent":"bot","order":{"symbol":"AAPL","side":"buy","quantity":"10","type":"limit","limit_price":"100.00","time_in_force":"day"}}` + rest
}

const quoteBody = `"quote":{"symbol":"AAPL","bid":"1.00","ask":"1.01","last":"1.00"}`

// TestWhatIsNoTapeIsAnErrorThatNamesItsLine has one wrong line behind a good one.
//
//attack:replay-line
//attack:replay-depth
//attack:replay-text
//attack:replay-reason
//attack:replay-time
func TestWhatIsNoTapeIsAnErrorThatNamesItsLine(t *testing.T) {
	long := strings.Repeat("x", replay.MaxText+1)
	deep := strings.Repeat("[", replay.MaxDepth) + strings.Repeat("]", replay.MaxDepth)
	for _, bad := range []string{
		``, ` `, `null`, `[]`, `"at"`, `{}`, `{"at":"2026-11-30T15:00:01Z"}`, "{", "\xef\xbb\xbf{}", "\x00", `{"at":"2026-11-30T15:00:01Z",` + quoteBody + `} x`,
		`{` + quoteBody + `}`, `{"at":1,` + quoteBody + `}`, `{"at":"2026-11-30T15:00:01Z","at":"2026-11-30T15:00:01Z",` + quoteBody + `}`,
		`{"at":"2026-11-30T15:00:01Z",` + quoteBody + `,` + quoteBody + `}`, `{"at":"2026-11-30T15:00:01Z",` + quoteBody + `,"cancel":{"intent":"a"}}`,
		`{"at":"2026-11-30T15:00:01Z",` + quoteBody + `,"broker":"wait"}`, `{"at":"2026-11-30T15:00:01Z","other":{}}`, `{"at":"2026-11-30T15:00:01Z","quote":null}`,
		// times
		`{"at":"2026-11-30T15:00:60Z",` + quoteBody + `}`, `{"at":"2026-11-30T23:59:60Z",` + quoteBody + `}`, `{"at":"2026-11-30 15:00:01Z",` + quoteBody + `}`,
		`{"at":"2026-11-30T15:00:01",` + quoteBody + `}`, `{"at":"2026-11-30T15:00:01.0000000001Z",` + quoteBody + `}`, `{"at":"2026-11-30T15:00:01,5Z",` + quoteBody + `}`,
		`{"at":"2026-11-30T5:00:01Z",` + quoteBody + `}`, `{"at":"2026-02-30T15:00:01Z",` + quoteBody + `}`, `{"at":"2026-11-30T15:00:01+24:00",` + quoteBody + `}`,
		`{"at":"1969-12-31T23:59:59Z",` + quoteBody + `}`, `{"at":"2200-01-01T00:00:00Z",` + quoteBody + `}`, `{"at":"9999-12-31T23:59:59-12:00",` + quoteBody + `}`,
		`{"at":"2026-11-30T14:59:59.999999999Z",` + quoteBody + `}`, `{"at":"2026-11-30T15:59:59+01:00",` + quoteBody + `}`,
		// members
		next(`"quote":{"symbol":"AAPL","bid":"1.00","ask":"1.01"}`), next(`"quote":{"symbol":"AAPL","bid":"1.00","bid":"1.00","ask":"1.01","last":"1"}`),
		next(`"quote":{"symbol":"AAPL","bid":"0","ask":"1.01","last":"1"}`), next(`"quote":{"symbol":"AAPL","bid":"-1","ask":"1.01","last":"1"}`),
		next(`"quote":{"symbol":"AAPL","bid":1e2,"ask":"1.01","last":"1"}`), next(`"quote":{"symbol":"AAPL","bid":true,"ask":"1.01","last":"1"}`),
		next(`"quote":{"symbol":"AAPL","bid":1.0000000000000001,"ask":"1.01","last":"1"}`), next(`"quote":{"symbol":"` + "ÄAPL" + `","bid":"1","ask":"1.01","last":"1"}`),
		next(`"quote":{"symbol":"AAPL","bid":"1.00","ask":"1.01","last":"1.00","at":"x"}`), next(`"quote":{"Symbol":"AAPL","bid":"1.00","ask":"1.01","last":"1.00"}`),
		next(`"account":{"cash":"1"}`), next(`"account":{"cash":"1","equity":"-1"}`), next(`"position":{"symbol":"AAPL","quantity":"1"}`),
		next(`"policy":"{}"`), next(`"policy":null`), next(`"fill":{"intent":"a","quantity":"0","price":"1"}`), next(`"fill":{"intent":"a","quantity":"1"}`),
		next(`"broker":{"intent":"a","result":"wait"}`), next(`"broker":{"intent":"a","result":"accepted","code":"X"}`), next(`"broker":{"intent":"a"}`), next(`"broker":"wait"`),
		next(`"intent":{"id":"x","agent":"bot"}`), next(`"intent":{"id":"x","agent":"bot","tool":"t"}`), next(`"intent":{"id":"x","agent":"bot","tool":"t","args":{},"order":{}}`),
		next(`"intent":{"id":"x","agent":"","tool":"t","args":{}}`), next(`"intent":{"id":"","agent":"bot","tool":"t","args":{}}`), next(`"intent":{"id":5,"agent":"bot","tool":"t","args":{}}`),
		next(`"intent":{"id":"` + long + `","agent":"bot","tool":"t","args":{}}`), next(`"intent":{"id":"a\u0000","agent":"bot","tool":"t","args":{}}`),
		next(buy("x", `,"broker":"never"`)), next(strings.Replace(buy("x", `,"broker":"accepted"`), `"agent"`, `"broker":"wait","agent"`, 1)),
		next(strings.Replace(buy("a", ``), `"bot"`, `"another"`, 1)), next(buy("x", `,"broker":"wait","broker":"wait"`)), next(`"intent":{"id":"x","agent":"bot","tool":"t","args":` + deep + `}`),
		next(`"kill":{"scope":"all","by":"ann","reason":"x"}`), next(`"kill":{"scope":"everything","by":"ann"}`), next(`"kill":{"scope":"everything","by":"ann","reason":""}`),
		next(`"kill":{"scope":"everything","by":"ann","reason":"` + strings.Repeat("x", replay.MaxReason+1) + `"}`),
		next(`"kill":{"scope":"everything","by":"no such name","reason":"x"}`), next(`"approve":{"intent":"a","by":"a b"}`),
		// what the tape does not have
		next(`"fill":{"intent":"never","quantity":"1","price":"1"}`), next(`"cancel":{"intent":"never"}`), next(`"broker":{"intent":"never","result":"accepted"}`),
		next(`"approve":{"intent":"never","by":"ann"}`),
	} {
		out, err := run(t, at(buy("a", ""))+bad+"\n"+at(quoteBody))
		var e *replay.Error
		if !errors.As(err, &e) || e.Line != 2 {
			t.Errorf("%.300s: %v", bad, err)
		}
		if strings.Contains(out, "final") || !strings.HasPrefix(out, `{"intent":"a","verdict":"allow"`) {
			t.Errorf("%.300s: %s", bad, out)
		}
	}
}

// next is a line behind the first one.
func next(body string) string { return `{"at":"2026-11-30T15:00:01Z",` + body + `}` }

// TestALineIsBoundedAndTheTapeIsNot has a line at its bound, one that is a byte over, and one that never ends.
func TestALineIsBoundedAndTheTapeIsNot(t *testing.T) {
	head := `{"at":"2026-11-30T15:00:00Z",` + quoteBody
	full := head + strings.Repeat(" ", replay.MaxLine-len(head)-1) + "}"
	if _, err := run(t, full+"\n"+full); err != nil {
		t.Error(err)
	}
	var e *replay.Error
	if _, err := run(t, full+"\n "+full); !errors.As(err, &e) || e.Line != 2 {
		t.Error(err)
	}
	endless := io.MultiReader(strings.NewReader(at(quoteBody)), zeros{})
	if err := replay.Run(t.Context(), replay.Config{}, endless, io.Discard); !errors.As(err, &e) || e.Line != 2 {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestATapeMayBeEmptyAndItsLastLineMayLackItsEnd(t *testing.T) {
	out, err := run(t, "")
	if err != nil || !strings.HasPrefix(out, `{"final":{"counters":{`) || strings.Count(out, "\n") != 1 {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err = run(t, strings.TrimSuffix(at(quoteBody, buy("a", "")), "\n")); err != nil || !strings.Contains(out, `"lines":2`) {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err = run(t, strings.ReplaceAll(at(quoteBody, buy("a", "")), "\n", "\r\n")); err != nil {
		t.Error(err)
	}
}

// TestTimesOfEveryZoneAreOneTime has offsets and nanoseconds in order.
func TestTimesOfEveryZoneAreOneTime(t *testing.T) {
	var b strings.Builder
	for i, when := range []string{
		"2026-11-30T15:00:00Z", "2026-11-30T16:00:00+01:00", "2026-11-30T10:00:00.000000001-05:00", "2026-11-30T15:00:00.5Z",
		"2026-12-01T05:00:00.500000000+14:00", "2026-11-30T15:00:01-00:00",
	} {
		fmt.Fprintf(&b, `{"at":"%s",%s}`+"\n", when, buy(fmt.Sprint(i), ""))
	}
	out, err := run(t, b.String())
	if err != nil || strings.Count(out, `"verdict":"allow"`) != 6 || strings.Count(out, `"at":"2026-11-30T15:00:00.500000Z","order_status"`) != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}

//attack:replay-symbols
func TestATapeQuotesSoManySymbolsAndNoMore(t *testing.T) {
	var b strings.Builder
	for i := range replay.MaxSymbols + 1 {
		fmt.Fprintf(&b, `{"at":"2026-11-30T15:00:00Z","quote":{"symbol":"S%d","bid":"1.00","ask":"1.01","last":"1.00"}}`+"\n", i)
	}
	var e *replay.Error
	if _, err := run(t, b.String()); !errors.As(err, &e) || e.Line != replay.MaxSymbols+1 {
		t.Error(err)
	}
}

//attack:replay-remembered
func TestWhatHasEndedIsForgottenAndWhatIsOpenIsNot(t *testing.T) {
	var lines [][]byte
	add := func(body string) { lines = append(lines, bytes.TrimSuffix([]byte(at(body)), []byte("\n"))) }
	add(buy("open", ""))
	add(buy("ended", ""))
	add(`"fill":{"intent":"ended","quantity":"10","price":"100.00"}`)
	for i := range replay.Remembered + 500 {
		add(strings.Replace(buy(fmt.Sprint("n", i), ""), "AAPL", "GME", 1))
	}
	tape := string(bytes.Join(lines, []byte("\n"))) + "\n"
	add(`"fill":{"intent":"open","quantity":"10","price":"100.00"}`)
	n, err := replay.Known(t.Context(), replay.Config{Policy: policy.Default()}, lines)
	if err != nil || n > replay.Remembered+2 {
		t.Fatalf("%d intents are known: %v", n, err)
	}
	out, err := run(t, tape+at(buy("ended", ""))+at(`"cancel":{"intent":"ended"}`, `"fill":{"intent":"n3","quantity":"1","price":"100.00"}`))
	if again := out[strings.LastIndex(out, `{"intent":"ended"`):]; strings.Contains(again, `"repeated":true`) {
		t.Errorf("an id of long ago is still taken: %.300s", again)
	}
	var e *replay.Error
	if !errors.As(err, &e) || e.Line != len(lines)+2 {
		t.Error(err)
	}
}

type brokenReader struct{}

var errBroken = errors.New("it is broken")

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

// TestNoLineIsBlamedForWhatItIsNot has a tape that cannot be read, an output that cannot be written, and an interruption.
func TestNoLineIsBlamedForWhatItIsNot(t *testing.T) {
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, `{"at":"2026-11-30T15:00:00Z",%s}`+"\n", strings.Replace(buy(fmt.Sprint(i), ""), "AAPL", "GME", 1))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		tape io.Reader
		out  io.Writer
		want error
	}{
		"a tape that breaks off":  {t.Context(), io.MultiReader(strings.NewReader(at(quoteBody)), brokenReader{}), io.Discard, errBroken},
		"an output that breaks":   {t.Context(), strings.NewReader(many.String()), brokenWriter{}, errBroken},
		"its last line":           {t.Context(), strings.NewReader(at(quoteBody)), brokenWriter{}, errBroken},
		"an interruption":         {ended, strings.NewReader(many.String()), io.Discard, context.Canceled},
		"one while it is waiting": {ended, io.MultiReader(strings.NewReader(at(quoteBody)), brokenReader{}), io.Discard, context.Canceled},
	} {
		err := replay.Run(c.ctx, replay.Config{Policy: policy.Default()}, c.tape, c.out)
		var e *replay.Error
		if !errors.Is(err, c.want) || errors.As(err, &e) || strings.Count(err.Error(), c.want.Error()) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
