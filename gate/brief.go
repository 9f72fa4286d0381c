package gate

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// Brief is everything that a person is shown before he decides about a proposal.
type Brief struct {
	Decision ledger.Decision
	Account  trade.Account
	Session  trade.Session
	Position policy.Known   // what is held
	Working  trade.Decimal  // buys that are pending beside it; below zero: not known
	Selling  trade.Decimal  // sells that are pending beside it
	Cash     *trade.Decimal // as the broker says; nil if it cannot be asked
	Quote    *trade.Quote   // nil if the market shows nothing
	Similar  int            // open intents of the same agent for the same order, this one left out
	Unknown  int            // orders of the account whose outcome is not known
	Policy   string         // the SHA-256 of the policy in force now; empty if there is none
	Worth    trade.Decimal  // what a policy of version 2 counts the order as; zero if it does not say
	Unvalued bool           // a policy of version 2 could not say it
	Drift    string         // how far the quote may move until it is approved, in basis points; empty: the policy does not say
	Now      time.Time
}

// Brief gathers what a person must know of an open proposal. The error is a *Refusal where there is none.
func (g *Gate) Brief(ctx context.Context, id trade.IntentID) (Brief, error) {
	b := Brief{Now: g.now()}
	var refused *Refusal
	err := g.journal.Read(ctx, func() error {
		var open *ledger.Open
		if open, refused = g.proposal(id); refused != nil {
			return nil
		}
		b.Decision = proposed(open).Present(g.cfg.Now(), g.lease.alive)
		b.Account, b.Session = open.Order.Account(), open.Origin.Session
		f := g.follow.state.Facts(b.Account, open.Order.Symbol(), id)
		b.Position = policy.Known{Value: f.Position, Known: f.PositionKnown}
		b.Working, b.Selling = f.PendingBuys, f.PendingSells
		b.Worth = open.Value
		for _, o := range g.follow.state.Opens() {
			if o.Unknown && o.Order.Account() == b.Account {
				b.Unknown++
			}
			if o.Intent != id && o.Origin.Agent == open.Origin.Agent && o.Order.Digest() == open.Order.Digest() {
				b.Similar++
			}
		}
		return nil
	})
	if err != nil {
		return b, err
	}
	if refused != nil {
		return b, refused
	}
	if d, _, err := g.History(ctx, id); err == nil { // which has the agent's own words
		b.Decision = d
	}
	v := g.policy.view()
	b.Unvalued = v.Book != nil && b.Worth.Sign() <= 0
	b.Policy = v.SHA256
	if bound, asked, ok := drift(v.Book, b.Decision.Order); ok && (asked || b.Decision.Hold.Shown != (ledger.Mark{})) {
		b.Drift = bound.String()
	}
	if q, found, err := g.Quote(ctx, b.Decision.Order.Symbol()); err == nil && found {
		b.Quote = &q
	}
	g.consult(ctx, &b)
	return b, nil
}

// consult asks the broker for the cash of its own account, and for the position where the ledger does not know it.
//
//limit:gate-brief-account The cash and the position that a person is shown are those of the proposal's own account, or unknown.
func (g *Gate) consult(ctx context.Context, b *Brief) {
	if g.cfg.Broker == nil || b.Account != g.cfg.Account {
		return
	}
	ask, cancel := context.WithTimeout(ctx, g.cfg.BrokerWait)
	defer cancel()
	h, err := g.cfg.Broker.Holdings(ask)
	if err != nil {
		return
	}
	b.Cash = &h.Cash
	if !b.Position.Known {
		b.Position = policy.Known{Value: h.of(b.Decision.Order.Symbol()), Known: true}
	}
}

// maxShownRules and maxShownReason bound the text of a brief.
const (
	//limit:gate-brief-rules A person is shown at most 5 reasons of a hold, and how many more there are.
	maxShownRules = 5
	//limit:gate-brief-reason Of an agent's own reason a person is shown at most 300 characters, quoted and escaped.
	maxShownReason = 300
)

// Text is the message to a person: plain, deterministic, in a fixed order, with what others wrote escaped and last.
func (b Brief) Text() string {
	var w strings.Builder
	d := b.Decision
	left := d.Hold.Expires.Sub(b.Now).Truncate(time.Second)
	fmt.Fprintf(&w, "Sallyport - %s, account %s\n", strings.ToUpper(venueKind(b.Account)), b.Account)
	fmt.Fprintf(&w, "Agent %s%s\n", d.Agent, sessionOf(b.Session))
	fmt.Fprintf(&w, "Proposal %s\n", d.Intent)
	fmt.Fprintf(&w, "Expires %s UTC, in %s\n\n", d.Hold.Expires.UTC().Format("2006-01-02 15:04:05"), max(left, 0))
	w.WriteString(b.terms())
	w.WriteString(b.money())
	w.WriteString(b.position())
	w.WriteString(b.market())
	w.WriteString(b.exits())
	w.WriteString("\nWhy held:\n")
	for i, r := range d.Reasons {
		if i == maxShownRules {
			fmt.Fprintf(&w, "  +%d more\n", len(d.Reasons)-i)
			break
		}
		fmt.Fprintf(&w, "  %s: %s\n", r.Code, trade.Printable(r.Message, 200))
	}
	if d.Hold.Approvers > 1 {
		fmt.Fprintf(&w, "Needs %d persons; approved by %s\n", d.Hold.Approvers, cmp.Or(strings.Join(d.ApprovedBy, ", "), "nobody yet"))
	}
	if b.Similar > 0 {
		fmt.Fprintf(&w, "%d open order(s) of this agent are the same\n", b.Similar)
	}
	if b.Unknown > 0 {
		fmt.Fprintf(&w, "%d order(s) of the account have an UNKNOWN outcome\n", b.Unknown)
	}
	if d.Hold.Permits {
		w.WriteString("After approval the agent's own tool makes the call, not Sallyport\n")
	}
	fmt.Fprintf(&w, "\nOrder digest %s, policy %s\n", d.Order.Digest().String()[:8], short(d.PolicySHA256))
	if b.Policy != d.PolicySHA256 {
		fmt.Fprintf(&w, "THE POLICY HAS CHANGED to %s: an approval will be refused\n", short(b.Policy))
	}
	if d.AgentReason != "" {
		fmt.Fprintf(&w, "\nThe agent says (untrusted): %q\n", firstRunes(d.AgentReason, maxShownReason))
	}
	return w.String()
}

// firstRunes cuts a text.
func firstRunes(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

func venueKind(a trade.Account) string {
	if a == "paper" {
		return "paper"
	}
	return "live"
}

func sessionOf(s trade.Session) string {
	if s == "" {
		return ""
	}
	return ", session " + trade.Printable(string(s), 64)
}

func short(hash string) string {
	if hash == "" {
		return "none"
	}
	return hash[:min(8, len(hash))]
}
