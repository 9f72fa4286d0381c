package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// Query asks for intents. What is zero does not restrict.
type Query struct {
	Agent    trade.Agent
	Symbol   trade.Symbol
	State    ledger.AuditState // as it is now
	From, To time.Time         // of the decision; To is exclusive
	Limit    int               // at most MaxAudit; 0 is 20

	scan int // records to look at; 0 is maxScan
}

// maxScan bounds how many records one query looks at.
//
//limit:gate-query-scan A query looks at most at the newest 100,000 records; what is older is found by narrower times.
const maxScan = 100_000

// Found is the answer to a query.
type Found struct {
	Decisions []ledger.Decision // newest first
	More      bool              // there may be more that match
}

// Query returns the newest intents that match.
func (g *Gate) Query(ctx context.Context, q Query) (Found, error) {
	found, ended, err := g.query(ctx, q, stillThere)
	if err == nil && ended {
		found, _, err = g.query(ctx, q, g.lease.alive)
	}
	return found, err
}

// query reports besides whether a process that was to send one of the orders has ended meanwhile.
func (g *Gate) query(ctx context.Context, q Query, alive func(string) bool) (found Found, ended bool, err error) {
	if q.Limit <= 0 {
		q.Limit = 20
	}
	q.Limit = min(q.Limit, MaxAudit)
	setDefault(&q.scan, maxScan)
	later := map[trade.IntentID][]ledger.Event{}
	scanned := 0
	for r, err := range g.journal.Backward(ctx) {
		if err != nil {
			return found, ended, err
		}
		if scanned++; scanned > q.scan || !q.From.IsZero() && r.At.Before(q.From) {
			found.More = scanned > q.scan
			return found, ended, nil
		}
		e, err := ledger.Decode(r.Body)
		if err != nil {
			return found, ended, fmt.Errorf("record %d: %w", r.Seq, err)
		}
		first, ok := e.(ledger.Decided)
		if !ok {
			if e.About() != "" {
				later[e.About()] = append(later[e.About()], e)
			}
			continue
		}
		d := first.Decision(r.At)
		for _, e := range slices.Backward(later[d.Intent]) { // the newest came first
			d.Apply(e)
		}
		delete(later, d.Intent)
		ended = ended || g.ended(d)
		if d = d.Present(g.cfg.Now(), alive); !q.matches(d) {
			continue
		}
		if len(found.Decisions) == q.Limit {
			found.More = true
			return found, ended, nil
		}
		found.Decisions = append(found.Decisions, d)
	}
	return found, ended, nil
}

func (q Query) matches(d ledger.Decision) bool {
	return (q.Agent == "" || d.Agent == q.Agent) && (q.Symbol.String() == "" || d.Order.Symbol() == q.Symbol) &&
		(q.State == "" || d.State == q.State) && (q.To.IsZero() || d.At.Before(q.To))
}

// CancelOwn cancels an agent's own order. No kill switch stops it.
//
//limit:gate-cancel-own An agent cancels its own orders only, at tier 1 or above.
func (g *Gate) CancelOwn(ctx context.Context, o Origin, tier trade.Tier, id trade.IntentID) (CancelResult, error) {
	if tier < trade.TierPropose {
		return CancelResult{Intent: id}, g.tierRefusal(ctx, o.Agent, tier, trade.TierPropose, "order_cancel")
	}
	mine := false
	err := g.journal.Read(ctx, func() error {
		if open := g.follow.state.Open(id); open != nil {
			mine = open.Origin.Agent == o.Agent
		}
		return nil
	})
	if err != nil {
		return CancelResult{Intent: id}, err
	}
	if d, _, err := g.History(ctx, id); err == nil && !mine && d.Agent == o.Agent {
		return CancelResult{Intent: id}, g.refuseNow(ctx, attempt{intent: knownID(id), action: "cancel", by: agentBy + string(o.Agent), channel: o.Surface},
			refusal(policy.OrderNotOpen, "order %s is not open at the broker", trade.Printable(string(id), 64)))
	}
	if !mine { // whether another agent has it is not this one's to know
		return CancelResult{Intent: id}, g.refuseNow(ctx, attempt{intent: knownID(id), action: "cancel", by: agentBy + string(o.Agent), channel: o.Surface},
			refusal(policy.OrderNotYours, "this agent has no open order %s", trade.Printable(string(id), 64)))
	}
	res, err := g.Cancel(ctx, o, id)
	switch {
	case errors.Is(err, ErrNoOpenOrder):
		return res, refusal(policy.OrderNotOpen, "there is no open order %s at the broker", trade.Printable(string(id), 64))
	case errors.Is(err, ErrProtects):
		return res, g.refuseNow(ctx, attempt{intent: id, action: "cancel", by: agentBy + string(o.Agent), channel: o.Surface},
			refusal(policy.ApprovalRequired, "order %s is filled, and its exits protect what it bought: only a person cancels those", id))
	}
	return res, err
}

// knownID keeps what is no intent id out of the record.
func knownID(id trade.IntentID) trade.IntentID {
	if _, ok := trade.ParseIntentID(string(id)); ok {
		return id
	}
	return ""
}

// Portfolio is what an account holds, owes and may still do.
type Portfolio struct {
	Account   trade.Account
	At        time.Time
	Cash      *trade.Decimal // as the broker says; nil if it cannot be asked
	Positions []Position
	Orders    []WorkingOrder // of the agent that asks
	Headroom  []Headroom
	Stops     []ledger.Stop // those that concern the account or the agent
}

// Headroom is how much of one limit is left. Texts are decimals.
type Headroom struct {
	Limit  string
	Symbol trade.Symbol // zero: whatever symbol
	Bound  string
	Used   string
	Left   string
}

// Portfolio returns what an agent may know of the account: its holdings, that agent's own orders, and what is left of each
// limit. An empty agent is a person, who sees all orders.
func (g *Gate) Portfolio(ctx context.Context, agent trade.Agent) (Portfolio, error) {
	p := Portfolio{Account: g.cfg.Account, At: g.now()}
	if g.cfg.Broker != nil {
		ask, cancel := context.WithTimeout(ctx, g.cfg.BrokerWait)
		if h, err := g.cfg.Broker.Holdings(ask); err == nil {
			p.Cash = &h.Cash
		}
		cancel()
	}
	orders, err := g.Orders(ctx)
	if err != nil {
		return p, err
	}
	for _, o := range orders {
		if agent == "" || o.Agent == agent {
			p.Orders = append(p.Orders, o)
		}
	}
	positions, err := g.Positions(ctx)
	if err != nil {
		return p, err
	}
	for _, x := range positions {
		if x.Account == p.Account {
			p.Positions = append(p.Positions, x)
		}
	}
	stops, err := g.Stops(ctx)
	for _, s := range stops {
		if s.Scope.Kind != ledger.OneAgent || agent == "" || s.Scope.OfAgent(agent) {
			p.Stops = append(p.Stops, s)
		}
	}
	if by := g.basis(ctx); by.policy.Book != nil {
		p.Headroom = g.bookHeadroom(ctx, by, agent, p)
	} else {
		p.Headroom = headroom(by.policy, p)
	}
	return p, err
}

// headroom says what is left of each limit of the policy in force; nothing if there is none.
func headroom(v PolicyView, p Portfolio) []Headroom {
	if v.Policy == nil || v.Reason != nil {
		return nil
	}
	zero := trade.Decimal{}
	all := []Headroom{
		{Limit: "max_gross_buy_notional_usd", Bound: v.Policy.MaxNotional().Money(), Used: zero.Money(), Left: v.Policy.MaxNotional().Money()},
		{Limit: "max_quantity", Bound: v.Policy.MaxQuantity().String(), Used: zero.String(), Left: v.Policy.MaxQuantity().String()},
	}
	for _, x := range p.Positions {
		left := x.Quantity.Sub(x.PendingSells)
		if left.Sign() < 0 {
			left = zero
		}
		all = append(all, Headroom{
			Limit: "sellable", Symbol: x.Symbol, Bound: x.Quantity.String(), Used: x.PendingSells.String(), Left: left.String(),
		})
	}
	return all
}

// Quote returns what the market shows of a symbol; found is false where it shows nothing.
func (g *Gate) Quote(_ context.Context, s trade.Symbol) (q trade.Quote, found bool, err error) {
	if g.cfg.Quotes == nil {
		return trade.Quote{}, false, nil
	}
	return g.cfg.Quotes.Quote(s)
}
