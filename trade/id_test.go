package trade_test

import (
	"regexp"
	"sort"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sallyport/trade"
)

func TestIntentIDCarriesItsMillisecond(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(0, 1<<48-1).Draw(rt, "ms")).UTC()
		var entropy [10]byte
		copy(entropy[:], rapid.SliceOfN(rapid.Byte(), 10, 10).Draw(rt, "entropy"))
		id := trade.NewIntentID(at, entropy)
		if back, ok := trade.ParseIntentID(string(id)); !ok || back != id {
			rt.Fatalf("%s does not read back", id)
		}
		if !id.Time().Equal(at) {
			rt.Fatalf("%s is of %s, not %s", id, id.Time(), at)
		}
		if got := string(id.BrokerOrderID()); got != "sp-"+string(id) {
			rt.Fatalf("the broker is sent %s", got)
		}
		if _, ok := trade.ParseClientOrderID(string(id.BrokerOrderID())); !ok {
			rt.Fatalf("%s is no client order id", id.BrokerOrderID())
		}
		entropy[9] ^= 1
		if other := trade.NewIntentID(at, entropy); other == id {
			rt.Fatalf("the last bit of entropy is lost in %s", id)
		}
	})
}

func TestIntentIDsSortByTime(t *testing.T) {
	var ids []string
	for ms := range int64(2000) {
		ids = append(ids, string(trade.NewIntentID(time.UnixMilli(1_700_000_000_000+ms*977), [10]byte{byte(255 - ms%256)})))
	}
	if !sort.StringsAreSorted(ids) {
		t.Error("later ids do not sort behind earlier ones")
	}
}

// TestIntentIDKnownValue is the example of the ULID specification's own form: 48 bits of time, 80 of entropy.
func TestIntentIDKnownValue(t *testing.T) {
	at := time.UnixMilli(1469918176385)
	if got := trade.NewIntentID(at, [10]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}); got != "01ARYZ6S41ZZZZZZZZZZZZZZZZ" {
		t.Errorf("the id is %s", got)
	}
	if got := trade.NewIntentID(at, [10]byte{}); got != "01ARYZ6S410000000000000000" {
		t.Errorf("the id is %s", got)
	}
}

var intentGrammar = regexp.MustCompile(`\A[0-7][0-9A-HJKMNP-TV-Z]{25}\z`)

func FuzzParseIntentIDAgreesWithItsGrammar(f *testing.F) {
	for _, s := range []string{
		"01ARYZ6S41ZZZZZZZZZZZZZZZZ", "01aryz6s41zzzzzzzzzzzzzzzz", "81ARYZ6S41ZZZZZZZZZZZZZZZZ", "01ARYZ6S41ZZZZZZZZZZZZZZZ", "01ARYZ6S41ZZZZZZZZZZZZZZZI",
		"01ARYZ6S41ZZZZZZZZZZZZZZ\n\n", "\n\n01ARYZ6S41ZZZZZZZZZZZZZZ", "0\r\r1ARYZ6S41ZZZZZZZZZZZZZZ", "", strings.Repeat("=", 26), "01ARYZ6S41ZZZZZZZZZZZZZZé",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, ok := trade.ParseIntentID(s)
		if ok != intentGrammar.MatchString(s) {
			t.Fatalf("%q: taken is %v", s, ok)
		}
		if ok != (string(id) == s && s != "") {
			t.Fatalf("%q is read as %q", s, id)
		}
		if at := trade.IntentID(s).Time(); !ok && !at.IsZero() {
			t.Fatalf("%q is no id and has the time %s", s, at)
		}
	})
}

//attack:trade-client-order-id
func TestClientOrderIDHasOneTo128OfItsCharacters(t *testing.T) {
	for n := range 260 {
		s := strings.Repeat("a", n)
		if id, ok := trade.ParseClientOrderID(s); ok != (n >= 1 && n <= 128) || ok && string(id) != s {
			t.Errorf("%d characters: taken is %v", n, ok)
		}
	}
	for c := range 256 {
		b := byte(c)
		want := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '.' || b == '_' || b == '-'
		if _, ok := trade.ParseClientOrderID("x" + string([]byte{b})); ok != want {
			t.Errorf("byte %#x: taken is %v", b, ok)
		}
	}
	for _, s := range []string{"é", "a\u0430", "a b", "a\n", "../x", "a;b", "a'b", "\u202ea"} {
		if _, ok := trade.ParseClientOrderID(s); ok {
			t.Errorf("%q is taken", s)
		}
	}
}

func TestDigestReadsBackInLowerCaseOnly(t *testing.T) {
	d := order(t, "buy", "1", "AAPL", "1").Digest()
	s := d.String()
	if got, ok := trade.ParseDigest(s); !ok || got != d {
		t.Errorf("%s does not read back", s)
	}
	for _, bad := range []string{"", s[:63], s + "0", strings.ToUpper(s), "g" + s[1:], s[:62] + "\n\n", " " + s[1:]} {
		if _, ok := trade.ParseDigest(bad); ok {
			t.Errorf("%q is taken", bad)
		}
	}
}
