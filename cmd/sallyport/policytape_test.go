package main

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sallyport/policy"
	"sallyport/wire"
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

// anything is a policy that lets orders of every kind pass, as long as they are not over so many shares.
func anything(t testing.TB, most string) rulesFile {
	t.Helper()
	f, err := rulesFile{in: installationOf("nowhere", defaultConfig("nowhere")), path: "policy", raw: []byte(`{"version": 2, "currency": "USD", "timezone": "America/New_York",
	  "quotes": {"sources": ["file"], "max_age": "24h", "max_spread_bps": "1000000"},
	  "rules": [{"id": "all", "match": {"symbols": ["AAPL", "MSFT"], "order_types": ["limit", "market"]},
	    "allow": {"fractional": true, "short": true}, "limits": {"order_quantity": {"deny_above": "` + most + `"}}}]}`)}.load()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// day is a tape that is drawn, with what each of its orders has brought in rational numbers.
type day struct {
	tape   strings.Builder
	orders []*brought
	bids   map[string]*big.Rat
}

type brought struct {
	symbol       string
	cash, shares *big.Rat
}

func rat(s string) *big.Rat { r, _ := new(big.Rat).SetString(s); return r }

func (d *day) line(format string, args ...any) {
	fmt.Fprintf(&d.tape, `{"at":"2026-11-30T15:00:00Z",`+format+"}\n", args...)
}

// fill is one of so many shares, bought or, where that is below zero, sold.
func (d *day) fill(id string, shares int64, price string) {
	d.line(`"fill":{"intent":%q,"quantity":"%d","price":%q}`, id, max(shares, -shares), price)
	n := big.NewRat(shares, 1)
	o := d.orders[len(d.orders)-1]
	o.cash.Sub(o.cash, new(big.Rat).Mul(n, rat(price)))
	o.shares.Add(o.shares, n)
}

// drawDay draws buys, sells and buys with exits, whose parts are filled in a mixed order, cancelled, and filled after that.
func drawDay(rt *rapid.T) *day {
	d := &day{bids: map[string]*big.Rat{}}
	price := rapid.StringMatching(`[1-9][0-9]{0,3}\.[0-9]{1,4}`)
	part := func(most int64) int64 { return rapid.Int64Range(1, most).Draw(rt, "part") }
	for i := range rapid.IntRange(1, 12).Draw(rt, "orders") {
		for _, s := range []string{"AAPL", "MSFT"} {
			bid := price.Draw(rt, "bid")
			d.bids[s] = rat(bid)
			d.line(`"quote":{"symbol":%q,"bid":%q,"ask":"10000","last":"1"}`, s, bid)
		}
		id, symbol := fmt.Sprint("o", i), rapid.SampledFrom([]string{"AAPL", "MSFT"}).Draw(rt, "symbol")
		side := rapid.SampledFrom([]string{"buy", "sell", "bracket"}).Draw(rt, "side")
		d.orders = append(d.orders, &brought{symbol, new(big.Rat), new(big.Rat)})
		left, exits, over, way, terms := part(300), int64(0), false, int64(1), ""
		switch side {
		case "sell":
			way = -1
		case "bracket":
			side, terms = "buy", `,"stop_loss":"0.01"`
		}
		d.line(`"intent":{"id":%q,"agent":"bot","order":{"symbol":%q,"side":%q,"quantity":"%d","type":"limit","limit_price":"9000.00","time_in_force":"day"%s}}`,
			id, symbol, side, left, terms)
		for range rapid.IntRange(0, 6).Draw(rt, "steps") {
			switch do := rapid.IntRange(0, 4).Draw(rt, "step"); {
			case do < 2 && !over && left > 0:
				n := part(left)
				d.fill(id, way*n, price.Draw(rt, "price"))
				if left -= n; terms != "" {
					exits += n
				}
			case do == 2 && exits > 0: // the exits by their own name
				n := part(exits)
				d.fill(id+"/exits", -n, price.Draw(rt, "price"))
				exits -= n
			case do == 3 && exits > 0 && (over || left == 0): // or by the order's, once nothing else is left of it
				n := part(exits)
				d.fill(id, -n, price.Draw(rt, "price"))
				exits -= n
			case do == 4 && !over && left > 0:
				d.line(`"cancel":{"intent":%q}`, id)
				if over = true; exits == 0 { // which changes nothing
					d.line(`"fill":{"intent":%q,"quantity":"7","price":"7777"}`, id)
				}
			}
		}
	}
	return d
}

// TestProfitOfAllOrdersIsWhatTheAccountMade draws tapes and replays them: of the orders that one policy lets pass and
// another stops, the profits come to what the account made by the fills of these orders, whichever comes first.
func TestProfitOfAllOrdersIsWhatTheAccountMade(t *testing.T) {
	dir := t.TempDir()
	all, none := anything(t, "300"), anything(t, "0.5")
	rapid.Check(t, func(rt *rapid.T) {
		d := drawDay(rt)
		path := tapeFile(t, dir, d.tape.String())
		compared, err := (&app{}).diffTape(t.Context(), all, none, path)
		if err != nil {
			rt.Fatal(err)
		}
		back, err := (&app{}).diffTape(t.Context(), none, all, path)
		if err != nil {
			rt.Fatal(err)
		}
		made := new(big.Rat)
		for n := range compared.orders {
			o := d.orders[n]
			made.Add(made, o.cash).Add(made, new(big.Rat).Mul(o.shares, d.bids[o.symbol]))
		}
		for change, orders := range map[string][]*reordered{nowBlocked: compared.of(nowBlocked), nowAllowed: back.of(nowAllowed)} {
			sum, _, unknown := profit(orders)
			if unknown != 0 || uint64(len(orders)) != compared.oldSays[policy.Allow] || rat(sum.String()).Cmp(made) != 0 {
				rt.Fatalf("the %d %s orders made %s, and the account %s:\n%s", len(orders), change, sum, made.FloatString(9), d.tape.String())
			}
		}
		// What a replay says of orders that it does not send is what one says that sends them.
		sent, err := (&app{}).play(t.Context(), all, path, func(ruled) error { return nil })
		if err != nil {
			rt.Fatal(err)
		}
		missed, err := (&app{}).play(t.Context(), none, path, func(ruled) error { return nil })
		if err != nil {
			rt.Fatal(err)
		}
		for n, p := range sent.sent {
			if q := missed.missed.of(n); q.filled.Cmp(p.filled) != 0 || q.left.Cmp(p.left) != 0 || q.cash.Cmp(p.cash) != 0 {
				rt.Fatalf("order %d: %+v was filled, and without it %+v is said:\n%s", n, *p, q, d.tape.String())
			}
		}
		if len(missed.sent) != 0 || len(missed.missed) != len(sent.sent)+len(sent.missed) {
			rt.Fatalf("%d, %d and %d", len(missed.sent), len(missed.missed), len(sent.sent))
		}
	})
}

// TestFillsBelongToTheNewestOrderOfTheirID: an id that was denied is free for another order, and one that was not answers
// a repeat.
func TestFillsBelongToTheNewestOrderOfTheirID(t *testing.T) {
	line := func(body string) string { return `{"at":"2026-11-30T15:00:00Z",` + body + "}\n" }
	intent := func(quantity string) string {
		return line(`"intent":{"id":"a","agent":"bot","order":{"symbol":"AAPL","side":"buy","quantity":"` + quantity + `","type":"limit","limit_price":"1.00","time_in_force":"day"}}`)
	}
	fill := line(`"fill":{"intent":"a","quantity":"1","price":"1"}`)
	quote := line(`"quote":{"symbol":"AAPL","bid":"1.00","ask":"1.00","last":"1.00"}`)
	for name, c := range map[string]struct {
		tape         string
		sent, missed map[int]string
	}{
		"the second, as the first was denied": {intent("9") + intent("1") + fill, map[int]string{1: "1"}, nil},
		"the first, repeated":                 {intent("1") + intent("1") + fill, map[int]string{0: "1"}, nil},
		"the first, whose id is used again":   {intent("1") + intent("9") + fill, map[int]string{0: "1"}, nil},
		"the second of two that were denied":  {intent("9") + intent("8") + fill, nil, map[int]string{1: "1"}},
		"none, as it was cancelled":           {intent("1") + line(`"cancel":{"intent":"a"}`) + fill, nil, nil},
		"none, as it would be cancelled":      {intent("9") + line(`"cancel":{"intent":"a"}`) + fill, nil, nil},
	} {
		run, err := (&app{}).play(t.Context(), anything(t, "5"), tapeFile(t, t.TempDir(), quote+c.tape), func(ruled) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct {
			got  fills
			want map[int]string
		}{{run.sent, c.sent}, {run.missed, c.missed}} {
			got := map[int]string{}
			for n, p := range x.got {
				got[n] = p.filled.String()
			}
			if !maps.Equal(got, x.want) {
				t.Errorf("%s: %v, want %v", name, got, x.want)
			}
		}
	}
}

//attack:cli-tape-line
func TestLineOfAReplayThatNeverEndsEndsTheCommand(t *testing.T) {
	p := &printed{}
	var err error
	for n := 0; n < 2*maxTapeLine && err == nil; n += 1 << 20 {
		_, err = p.Write(make([]byte, 1<<20))
	}
	if !errors.Is(err, errTapeLine) {
		t.Errorf("%v", err)
	}
}

//attack:cli-tape-depth
func TestLineOfAReplayThatIsNestedTooDeepEndsTheCommand(t *testing.T) {
	deep := strings.Repeat("[", maxTapeDepth+1) + strings.Repeat("]", maxTapeDepth+1) + "\n"
	read := func(wire.Value) error { return nil }
	if _, err := (&printed{each: read}).Write([]byte(deep)); err == nil {
		t.Error("it was read")
	}
	if _, err := (&printed{each: read}).Write([]byte(deep[1:maxTapeDepth+1] + deep[maxTapeDepth+1:2*maxTapeDepth+1] + "\n")); err != nil {
		t.Error(err)
	}
}

//attack:cli-tape-intents
func TestTapeOfTooManyOrdersIsNotCompared(t *testing.T) {
	n := 0
	r := &ruling{most: 3, each: func(ruled) error { n++; return nil }}
	var err error
	for range 4 {
		if err == nil {
			_, err = (&printed{each: r.line}).Write([]byte(`{"intent":"a","verdict":"allow"}` + "\n"))
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
