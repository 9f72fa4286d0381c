package replay_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"sallyport/replay"
)

// equityRun replays lines under a policy that lets a position be a fifth of the equity, and so tells what that is.
func equityRun(t *testing.T, bodies ...string) string {
	t.Helper()
	raw := strings.Replace(strings.Replace(wide, `"limits": {`, `"limits": {"position_equity_percent": {"deny_above": "20"}, `, 1), `"position_quantity": {"deny_above": "30"}`, `"position_quantity": {"deny_above": "3000"}`, 1)
	raw = strings.Replace(raw, `["AAPL"]`, `["AAPL", "MSFT"]`, 1)
	var out bytes.Buffer
	if err := replay.Run(t.Context(), replay.Config{Policy: []byte(raw)}, strings.NewReader(at(bodies...)), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestPositionsAreAPartOfTheEquityThatIsStated has the same account with its lines in every place that they may have: its
// equity is 11500.00, of which a fifth is 2300.00.
func TestPositionsAreAPartOfTheEquityThatIsStated(t *testing.T) {
	quotes := []string{`"quote":{"symbol":"AAPL","bid":"150.00","ask":"150.00","last":"150.00"}`, `"quote":{"symbol":"MSFT","bid":"300.00","ask":"300.00","last":"300.00"}`}
	account := `"account":{"cash":"8500.00","equity":"11500.00"}`
	positions := []string{`"position":{"symbol":"AAPL","quantity":"10","average_price":"140.00"}`, `"position":{"symbol":"MSFT","quantity":"5","average_price":"290.00"}`}
	orders := []string{asks("fits", `"side":"buy","quantity":"5","type":"limit","limit_price":"150.00"`), `"cancel":{"intent":"fits"}`, asks("not", `"side":"buy","quantity":"6","type":"limit","limit_price":"150.00"`)}
	for name, lines := range map[string][][]string{
		"quotes first":                 {quotes, {account}, positions},
		"quotes last":                  {{account}, positions, quotes},
		"quotes between":               {quotes[:1], {account}, positions, quotes[1:]},
		"the account last":             {quotes, positions, {account}},
		"positions that come later":    {quotes, {account}, {asks("x", `"side":"buy","quantity":"1","type":"market","limit_price":"1"`)}, positions},
		"a position before its quote":  {quotes[:1], {account}, positions[:1], quotes[:1], positions[1:], quotes},
		"positions that are corrected": {quotes, {account}, {strings.Replace(positions[0], `"10"`, `"90"`, 1)}, quotes[:1], positions},
	} {
		var all []string
		for _, part := range lines {
			all = append(all, part...)
		}
		out := equityRun(t, append(all, orders...)...)
		if !strings.Contains(out, `{"intent":"fits","verdict":"allow"`) || !strings.Contains(out, `{"intent":"not","verdict":"deny"`) {
			t.Errorf("%s:\n%s", name, out)
		}
	}
}

//attack:replay-symbols
func TestATapeHasPositionsInSoManySymbolsAndNoMore(t *testing.T) {
	var b strings.Builder
	for i := range replay.MaxSymbols + 1 {
		fmt.Fprintf(&b, `{"at":"2026-11-30T15:00:00Z","position":{"symbol":"S%d","quantity":"1","average_price":"1.00"}}`+"\n", i)
		if i == 7 { // what is not held any more has made room
			b.WriteString(`{"at":"2026-11-30T15:00:00Z","position":{"symbol":"S7","quantity":"0","average_price":"0"}}` + "\n")
			b.WriteString(`{"at":"2026-11-30T15:00:00Z","position":{"symbol":"S7","quantity":"1","average_price":"1.00"}}` + "\n")
		}
	}
	var e *replay.Error
	if _, err := run(t, b.String()); !errors.As(err, &e) || e.Line != replay.MaxSymbols+3 {
		t.Error(err)
	}
}

// TestManyPositionsCostNoMoreEach counts the memory that positions and their quotes take one by one: with ten times as many
// it is as much for each.
func TestManyPositionsCostNoMoreEach(t *testing.T) {
	each := func(n int) uint64 {
		var b strings.Builder
		line := func(format string, args ...any) {
			fmt.Fprintf(&b, `{"at":"2026-11-30T15:00:00Z",`+format+"}\n", args...)
		}
		for range 2 { // with quotes that come after the positions, and with quotes that are known before
			line(`"account":{"cash":"8500.00","equity":"11500.00"}`)
			for i := range n {
				line(`"position":{"symbol":"S%d","quantity":"1","average_price":"1.00"}`, i)
			}
			for i := range n {
				line(`"quote":{"symbol":"S%d","bid":"1.00","ask":"1.01","last":"1.00"}`, i)
			}
		}
		text := b.String()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := run(t, text); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / uint64(n)
	}
	each(10)
	if few, many := each(300), each(3000); many > 2*few {
		t.Errorf("%d bytes each, and %d of ten times as many", few, many)
	}
}
