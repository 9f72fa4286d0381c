package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sallyport/trade"
	"sallyport/wire"
)

// Limits of a policy file of version 2.
const (
	//limit:policy-rules A policy of version 2 has at most 256 rules.
	maxRules = 256
	//limit:policy-list A list in a policy of version 2 has at most 10000 entries.
	maxList = 10_000
	//limit:policy-agents A rule of a policy of version 2 names at most 256 agents.
	maxAgents = 256
	//limit:policy-duration A duration in a policy of version 2 is at most 24 hours.
	maxDuration = 24 * time.Hour
)

// World is what a policy can be compared with beyond itself. A nil function compares nothing.
type World struct {
	Symbol func(trade.Symbol) bool // whether the broker lists it
	Zone   func(name string) bool  // whether there is such a time zone
}

// ParseV2 reads the bytes of a policy file of version 2: one JSON object, in which comments and trailing commas may
// stand. The error is a *ConfigError with every problem of the file and of what its rules come to together.
func ParseV2(raw []byte, w World) (*Rulebook, error) {
	b := &bookReader{config: config{raw: raw}, world: w, book: &Rulebook{}}
	b.book.quotes.slips(Known{})
	plain := raw
	if len(raw) <= MaxBytes {
		var faults []commentFault
		plain, faults = blank(raw)
		for _, f := range faults {
			b.problem(f.offset, "", "%s", f)
		}
	}
	v, err := wire.Read(plain, wire.Limits{Bytes: MaxBytes, Depth: maxDepth})
	if err != nil {
		b.unreadable(err)
	} else {
		b.top(v)
		b.analyse()
	}
	if len(b.problems) > 0 {
		slices.SortStableFunc(b.problems, func(x, y Problem) int {
			return cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column))
		})
		return nil, &ConfigError{Problems: b.problems}
	}
	b.book.valid = true
	return b.book, nil
}

// bookReader collects a rulebook and its problems.
type bookReader struct {
	config
	world World
	book  *Rulebook
	unfit []bool // by rule: it has a problem, so that nothing more is concluded from it
}

// fields takes an object apart. Every member is known and there once; those of required are there. What is wrong is
// reported, and left out of what is returned.
func (b *bookReader) fields(v wire.Value, path string, known, required []string) map[string]wire.Value {
	if v.Kind != wire.Object {
		b.problem(v.Offset, path, "%s is %s; an object is asked", named(path), v.Kind)
		return nil
	}
	first := map[string]wire.Member{}
	out := map[string]wire.Value{}
	for _, m := range v.Members {
		at := join(path, trade.Printable(m.Name, 64))
		earlier, again := first[m.Name]
		if again && len(b.problems) < maxProblems {
			line, column := wire.Position(b.raw, earlier.Offset)
			b.problem(m.Offset, at, "%s is there again; it is first at line %d, column %d", at, line, column)
		}
		if again {
			continue
		}
		first[m.Name] = m
		hint, ok := spellingOf(known, m.Name)
		if !ok {
			b.problem(m.Offset, at, "%s is not a key of %s%s%s", quoted(m.Name), named(path), hint, trade.Foreign(m.Name))
			continue
		}
		out[m.Name] = m.Value
	}
	for _, key := range required {
		if _, ok := first[key]; !ok {
			b.problem(v.Offset, join(path, key), "%s is missing", join(path, key))
		}
	}
	return out
}

// named is what a sentence calls the object at a path.
func named(path string) string {
	if path == "" {
		return "a policy of version 2"
	}
	return path
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (b *bookReader) top(v wire.Value) {
	known := []string{"version", "currency", "timezone", "quotes", "approval", "rules", "tests"}
	f := b.fields(v, "", known, []string{"version", "currency", "timezone", "rules"})
	if m, ok := f["version"]; ok && (m.Kind != wire.Number || m.Text != "2") {
		b.problem(m.Offset, "version", "version is %s; the number 2 is asked", shownValue(m))
	}
	if m, ok := f["currency"]; ok {
		b.book.currency = b.word(m, "currency", []string{"USD"})
	}
	if m, ok := f["timezone"]; ok {
		b.book.timezone = b.zone(m)
	}
	if m, ok := f["quotes"]; ok {
		b.quotes(m)
	}
	if m, ok := f["approval"]; ok {
		b.approval(m)
	}
	if m, ok := f["rules"]; ok {
		b.rules(m)
	}
	if m, ok := f["tests"]; ok {
		b.tests(m)
	}
}

// shownValue shows a value of the file in a sentence.
func shownValue(v wire.Value) string {
	switch v.Kind {
	case wire.String:
		return quoted(v.Text)
	case wire.Number, wire.Bool:
		return trade.Printable(v.Text, 64)
	}
	return v.Kind.String()
}

// text reads text; the empty string is a problem that is reported.
func (b *bookReader) text(v wire.Value, path string) string {
	if v.Kind != wire.String || v.Text == "" {
		b.problem(v.Offset, path, "%s is %s; text is asked", path, shownValue(v))
		return ""
	}
	return v.Text
}

// word reads one of a few words, exactly as they are written.
func (b *bookReader) word(v wire.Value, path string, words []string) string {
	if v.Kind != wire.String || !slices.Contains(words, v.Text) {
		b.problem(v.Offset, path, "%s is %s; one of %s is asked", path, shownValue(v), strings.Join(words, ", "))
		return ""
	}
	return v.Text
}

func (b *bookReader) zone(v wire.Value) string {
	name := b.text(v, "timezone")
	if name != "" && b.world.Zone != nil && !b.world.Zone(name) {
		b.problem(v.Offset, "timezone", "timezone is %s; the name of a time zone such as America/New_York is asked", quoted(name))
	}
	return name
}

func (b *bookReader) bool(v wire.Value, path string) bool {
	if v.Kind != wire.Bool {
		b.problem(v.Offset, path, "%s is %s; true or false is asked", path, shownValue(v))
	}
	return v.Kind == wire.Bool && v.Text == "true"
}

// duration reads a whole number of seconds, minutes or hours: 30s, 5m, 24h.
func (b *bookReader) duration(v wire.Value, path string) time.Duration {
	if v.Kind == wire.String {
		if d, ok := parseDuration(v.Text); ok {
			return d
		}
	}
	b.problem(v.Offset, path, "%s is %s; a duration such as 30s, 5m or 24h, of at most 24h, is asked", path, shownValue(v))
	return 0
}

func parseDuration(s string) (time.Duration, bool) {
	if len(s) < 2 || s[0] == '0' {
		return 0, false
	}
	of := map[byte]time.Duration{'s': maxDuration / 86_400, 'm': maxDuration / 1_440, 'h': maxDuration / 24}[s[len(s)-1]]
	n := time.Duration(0)
	for _, c := range []byte(s[:len(s)-1]) {
		if c < '0' || c > '9' || n > maxDuration {
			return 0, false
		}
		n = n*10 + time.Duration(c-'0')
	}
	if of == 0 || n > maxDuration/of {
		return 0, false
	}
	return n * of, true
}

func (b *bookReader) known(f map[string]wire.Value, path, key string) Known {
	v, ok := f[key]
	if !ok {
		return Known{}
	}
	return Known{Value: b.decimal(join(path, key), v), Known: true}
}

// quotes reads what a quote must be like.
//
//limit:policy-slippage market_slippage_bps of a policy of version 2 leaves something of a price: it is less than 10000.
func (b *bookReader) quotes(v wire.Value) {
	required := []string{"sources", "max_age", "max_spread_bps"}
	f := b.fields(v, "quotes", append(required[:3:3], "max_divergence_bps", "market_slippage_bps"), required)
	q := &b.book.quotes
	if m, ok := f["sources"]; ok {
		q.Sources = list(&b.config, "quotes.sources", m, "the name of a source such as file", parseSource)
	}
	if m, ok := f["max_age"]; ok {
		q.MaxAge = b.duration(m, "quotes.max_age")
	}
	q.MaxSpread = b.known(f, "quotes", "max_spread_bps").Value
	half, _ := trade.ParseDecimal("0.00005")
	q.halfSpread = q.MaxSpread.Mul(half)
	q.MaxDivergence = b.known(f, "quotes", "max_divergence_bps")
	q.slips(b.known(f, "quotes", "market_slippage_bps"))
	if m, ok := f["market_slippage_bps"]; ok && q.fall.Sign() <= 0 {
		b.problem(m.Offset, "quotes.market_slippage_bps", "quotes.market_slippage_bps is %s, which leaves nothing of a price; less than 10000 is asked", q.Slippage.Value)
	}
	if len(q.Sources) > 1 && !q.MaxDivergence.Known {
		b.problem(v.Offset, "quotes.max_divergence_bps", "quotes.max_divergence_bps is missing; with more than one source it says how far they may differ")
	}
}

// parseSource reads the name of a source of quotes. Which there are is the configuration's to say: one that is not there
// has no quotes.
//
//limit:policy-source The name of a source of quotes has 1 to 32 characters of a-z 0-9 - _ and begins with a letter.
func parseSource(s string) (string, bool) {
	ok := s != "" && len(s) <= 32 && s[0] >= 'a' && s[0] <= 'z'
	for _, c := range []byte(s) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_')
	}
	return s, ok
}

func (b *bookReader) approval(v wire.Value) {
	keys := []string{"expires", "execute_within", "two_approvers_above_notional", "max_price_drift_bps", "max_open_proposals"}
	f := b.fields(v, "approval", keys, nil)
	a := &b.book.approval
	a.configuredHere = true
	if len(v.Members) == 0 && v.Kind == wire.Object {
		b.problem(v.Offset, "approval", "approval is empty; leave it out, or say something in it")
	}
	if m, ok := f["expires"]; ok {
		a.Expires = b.duration(m, "approval.expires")
	}
	if m, ok := f["execute_within"]; ok {
		//limit:policy-execute-within An approved proposal is executed within 60 s at most: approval.execute_within.
		if a.ExecuteWithin = b.duration(m, "approval.execute_within"); a.ExecuteWithin > time.Minute {
			b.problem(m.Offset, "approval.execute_within", "approval.execute_within is %s; at most 60s is asked, since an approval is of the market that the person saw", a.ExecuteWithin)
		}
	}
	a.TwoApprovers = b.known(f, "approval", "two_approvers_above_notional")
	a.MaxPriceDrift = b.known(f, "approval", "max_price_drift_bps")
	if m, ok := f["max_open_proposals"]; ok {
		n := b.count(m, "approval.max_open_proposals")
		//limit:policy-open-proposals An agent may have 100 open proposals at most: approval.max_open_proposals.
		if n > 100 {
			b.problem(m.Offset, "approval.max_open_proposals", "approval.max_open_proposals is %d; at most 100 is asked, since people read each of them", n)
		}
		a.MaxProposals = Count{N: int(n), Known: true}
	}
}

// mostCounted is the largest bound on a count that has a meaning.
//
//limit:policy-count A bound on a count of a policy of version 2 is at most 1000000.
const mostCounted = 1_000_000

// count reads a whole number up to what is ever counted.
func (b *bookReader) count(v wire.Value, path string) uint32 {
	before := len(b.problems)
	d := b.decimal(path, v)
	if len(b.problems) > before {
		return 0
	}
	n := uint32(0)
	for _, c := range []byte(d.String()) {
		if c < '0' || c > '9' || n > mostCounted {
			n = mostCounted + 1
			break
		}
		n = n*10 + uint32(c-'0')
	}
	if n > mostCounted {
		b.problem(v.Offset, path, "%s is %s; a whole number up to %d is asked, since there is no word for unlimited", path, d, mostCounted)
		return 0
	}
	return n
}

func (b *bookReader) tests(v wire.Value) {
	if v.Kind != wire.Array || len(v.Elems) == 0 {
		b.problem(v.Offset, "tests", "tests is %s; a list of at least one test is asked", emptyOr(v))
		return
	}
	seen := map[string]bool{}
	keys := []string{"name", "tape", "expect"}
	for i, e := range v.Elems {
		path := fmt.Sprintf("tests[%d]", i)
		f := b.fields(e, path, keys, keys)
		var t Test
		if m, ok := f["name"]; ok {
			t.Name = b.text(m, path+".name")
			if seen[t.Name] && t.Name != "" {
				b.problem(m.Offset, path+".name", "%s.name is %s, which another test is called", path, quoted(t.Name))
			}
			seen[t.Name] = true
		}
		if m, ok := f["tape"]; ok {
			t.Tape = b.objects(m, path+".tape")
		}
		if m, ok := f["expect"]; ok {
			t.Expect = b.objects(m, path+".expect")
		}
		b.book.tests = append(b.book.tests, t)
	}
}

// objects reads a list of at least one object, in which nothing is named twice.
func (b *bookReader) objects(v wire.Value, path string) []wire.Value {
	if v.Kind != wire.Array || len(v.Elems) == 0 {
		b.problem(v.Offset, path, "%s is %s; a list of at least one object is asked", path, emptyOr(v))
		return nil
	}
	for i, e := range v.Elems {
		at := fmt.Sprintf("%s[%d]", path, i)
		if e.Kind != wire.Object {
			b.problem(e.Offset, at, "%s is %s; an object is asked", at, shownValue(e))
		} else if name, twice := e.Duplicate(); twice {
			b.problem(e.Offset, at, "%s holds %s twice", at, quoted(name))
		}
	}
	return v.Elems
}

func emptyOr(v wire.Value) string {
	if v.Kind == wire.Array {
		return "empty"
	}
	return shownValue(v)
}
