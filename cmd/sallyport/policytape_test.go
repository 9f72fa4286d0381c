package main

import (
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sallyport/policy"
	"sallyport/trade"
)

func tapeFile(t interface {
	Fatal(...any)
	Helper()
}, dir, text string,
) string {
	t.Helper()
	path := filepath.Join(dir, "tape.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestProfitOfAllOrdersIsWhatTheAccountMade draws fills of buys and sells over moving quotes: the profits of all orders
// come to the account's, computed in rational numbers from its cash and its shares at the last bid.
func TestProfitOfAllOrdersIsWhatTheAccountMade(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		price := rapid.StringMatching(`[1-9][0-9]{0,3}\.[0-9]{1,4}`)
		symbols := []string{"AAPL", "MSFT"}
		var tape strings.Builder
		orders := map[int]*reordered{}
		account, bids, shares := new(big.Rat), map[string]*big.Rat{}, map[string]*big.Rat{}
		rat := func(s string) *big.Rat { r, _ := new(big.Rat).SetString(s); return r }
		for _, s := range symbols {
			shares[s] = new(big.Rat)
		}
		for i := range rapid.IntRange(1, 12).Draw(rt, "orders") {
			symbol, side := rapid.SampledFrom(symbols).Draw(rt, "symbol"), rapid.SampledFrom([]string{"buy", "sell"}).Draw(rt, "side")
			for _, s := range symbols {
				bid := price.Draw(rt, "bid")
				bids[s] = rat(bid)
				fmt.Fprintf(&tape, `{"at":"2026-11-30T15:00:00Z","quote":{"symbol":%q,"bid":%q,"ask":"10000","last":"1"}}`+"\n", s, bid)
			}
			o := &reordered{}
			o.new.intent = fmt.Sprint(i)
			o.new.symbol, _ = trade.ParseSymbol(symbol)
			o.new.side, _ = trade.ParseSide(side)
			orders[i] = o
			fmt.Fprintf(&tape, `{"at":"2026-11-30T15:00:00Z","intent":{"id":"%d","agent":"bot","order":{}}}`+"\n", i)
			for range rapid.IntRange(0, 3).Draw(rt, "fills") {
				q, p := rapid.StringMatching(`[1-9][0-9]{0,2}(\.[0-9]{1,3})?`).Draw(rt, "quantity"), price.Draw(rt, "price")
				fmt.Fprintf(&tape, `{"at":"2026-11-30T15:00:00Z","fill":{"intent":"%d","quantity":%q,"price":%q}}`+"\n", i, q, p)
				worth, sign := new(big.Rat).Mul(rat(q), rat(p)), int64(1)
				if side == "buy" {
					sign = -1
				}
				account.Add(account, worth.Mul(worth, big.NewRat(sign, 1)))
				shares[symbol].Sub(shares[symbol], new(big.Rat).Mul(rat(q), big.NewRat(sign, 1)))
			}
		}
		for _, s := range symbols {
			account.Add(account, new(big.Rat).Mul(shares[s], bids[s]))
		}
		a := &app{}
		if err := a.fillsOf(t.Context(), tapeFile(t, dir, tape.String()), orders); err != nil {
			rt.Fatal(err)
		}
		var all []*reordered
		for _, o := range orders {
			all = append(all, o)
		}
		sum, _, unknown := profit(all)
		if got := rat(sum.String()); unknown != 0 || got.Cmp(account) != 0 {
			rt.Fatalf("the orders made %s, and the account %s:\n%s", got.FloatString(9), account.FloatString(9), tape.String())
		}
	})
}

// TestFillsBelongToTheNewestOrderOfTheirID: an id that was denied is free for another order.
func TestFillsBelongToTheNewestOrderOfTheirID(t *testing.T) {
	intent := `{"at":"2026-11-30T15:00:00Z","intent":{"id":"a","agent":"bot","order":{}}}` + "\n"
	fill := `{"at":"2026-11-30T15:00:00Z","fill":{"intent":"a","quantity":"1","price":"1"}}` + "\n"
	for name, c := range map[string]struct {
		tape   string
		orders map[int]*reordered
		want   [3]string
	}{
		"one that is not compared": {intent + intent + fill, map[int]*reordered{0: {}}, [3]string{"0"}},
		"the second":               {intent + intent + fill, map[int]*reordered{0: {}, 1: {}}, [3]string{"0", "1"}},
		"the first, repeated":      {intent + intent + fill, map[int]*reordered{0: {}, 1: {new: ruled{repeated: true}}}, [3]string{"1", "0"}},
		"nobody's":                 {fill + intent, map[int]*reordered{0: {}}, [3]string{"0"}},
	} {
		a := &app{}
		if err := a.fillsOf(t.Context(), tapeFile(t, t.TempDir(), c.tape), c.orders); err != nil {
			t.Fatal(err)
		}
		for i, o := range c.orders {
			if o.filled.String() != c.want[i] {
				t.Errorf("%s: order %d has %s", name, i, o.filled)
			}
		}
	}
}

//attack:cli-tape-line
func TestTapeOfOneEndlessLineEndsTheCommand(t *testing.T) {
	r := &ruling{}
	var err error
	for n := 0; n < 3<<20 && err == nil; n += 1 << 16 {
		_, err = r.Write(make([]byte, 1<<16))
	}
	if !errors.Is(err, errTapeLine) {
		t.Errorf("%v", err)
	}
	a := &app{}
	path := tapeFile(t, t.TempDir(), `{"at":"`+strings.Repeat("x", maxTapeLine)+`"}`)
	if err := a.fillsOf(t.Context(), path, nil); !errors.Is(err, errTapeLine) {
		t.Errorf("%v", err)
	}
}

//attack:cli-tape-depth
func TestTapeThatIsNestedTooDeepEndsTheCommand(t *testing.T) {
	deep := strings.Repeat("[", maxTapeDepth+1) + strings.Repeat("]", maxTapeDepth+1) + "\n"
	if _, err := (&ruling{}).Write([]byte(deep)); err == nil {
		t.Error("a replay's line was read")
	}
	if err := (&app{}).fillsOf(t.Context(), tapeFile(t, t.TempDir(), deep), nil); err == nil {
		t.Error("a tape's line was read")
	}
}

//attack:cli-tape-intents
func TestTapeOfTooManyOrdersIsNotCompared(t *testing.T) {
	n := 0
	r := &ruling{most: 3, each: func(ruled) error { n++; return nil }}
	var err error
	for range 4 {
		if err == nil {
			_, err = r.Write([]byte(`{"intent":"a","verdict":"allow"}` + "\n"))
		}
	}
	var p *problem
	if !errors.As(err, &p) || p.exit != exitUsage || n != 3 {
		t.Errorf("after %d orders: %v", n, err)
	}
	if maxIntents != 1_000_000 {
		t.Error("the document of limits says another number")
	}
}

//attack:cli-tape-shown
func TestManyOrdersThatChangeAreCounted(t *testing.T) {
	d := &tapeDiff{orders: map[int]*reordered{}}
	for i := range 3 * tapeShown {
		d.orders[i] = &reordered{
			old: ruled{verdict: policy.Allow},
			new: ruled{intent: fmt.Sprintf("i%d\x1b[31m\u202e", i), text: strings.Repeat("x", 300), agent: "bot", codes: []string{"C"}},
		}
	}
	text := d.describe()
	if n := strings.Count(text, "before, deny after"); n > tapeShown || !strings.Contains(text, "and 40 more; --json has all") {
		t.Errorf("%d are shown:\n%s", n, text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if len([]rune(line)) > width || strings.ContainsAny(line, "\x1b\u202e") {
			t.Errorf("%q", line)
		}
	}
}

//attack:cli-test-tapes
func TestTooManyTapesAreRefused(t *testing.T) {
	c := policyTestCommand(&app{})
	args := make([]string, maxTapes+2)
	if c.Args(c, args) == nil || c.Args(c, args[:maxTapes+1]) != nil || c.Args(c, nil) == nil {
		t.Error("the number of tapes is not bounded")
	}
}
