package replay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"sallyport/dialect"
	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/trade"
)

// player runs one tape. It is the clock of its gate, and what the gate has for a market and a broker.
type player struct {
	gate    *gate.Memory
	account trade.Account
	only    bool
	market  exchange
	desk    desk
	intents intents
	tools   map[string]*dialect.Dialect
	order   *dialect.Dialect

	clock   time.Time // the gate's
	last    time.Time // of the last line
	entropy uint64
	now     line // the line that is run
	quick   quick

	stated bool // the broker has said what the account has, and nothing else has happened since

	asking *intent  // whose line is run, until the gate has made an intent of it
	made   bool     // the gate has
	later  [][]byte // what is written after the decision that the line waits for
	waits  bool

	count   counters
	write   func([]byte) error
	fills   func(Fill) // may be nil, and so may closing
	closing func(func(trade.Symbol) (trade.Quote, bool))
	buf     []byte
	failed  error
}

func newPlayer(ctx context.Context, cfg Config, write func([]byte) error) (*player, error) {
	p := &player{
		account: cfg.Account, only: cfg.Only, write: write, fills: cfg.Fills, closing: cfg.Closing,
		clock: time.Unix(0, 0).UTC(), tools: map[string]*dialect.Dialect{},
	}
	if p.account == "" {
		p.account = "paper"
	}
	for _, d := range dialect.Table() {
		p.tools[d.Name] = d
	}
	p.tools[proposeTool], p.tools[reduceTool] = p.tools["paper_place_order_a"], p.tools["paper_place_order_a"]
	p.order = dialect.Canonical()
	p.desk.intents, p.desk.market = &p.intents, &p.market
	p.desk.ledger = func() *ledger.State { return p.gate.State() }
	var err error
	if p.market, err = newExchange(cfg.Instruments); err != nil {
		return nil, err
	}
	p.gate, err = gate.OpenMemory(ctx, gate.MemoryConfig{
		Config: gate.Config{
			Account: p.account, Approval: cfg.Approval, Shared: cfg.Shared,
			Now: func() time.Time { return p.clock }, Entropy: p.random, Market: &p.market, Trial: Trial,
		},
		Policy: cfg.Policy, Desk: &p.desk, Seen: p.seen, Proved: cfg.proved,
	})
	if err != nil {
		return nil, err
	}
	_, err = p.gate.Approver(ctx, "tape") // so that a proposal does not say that nobody can answer it
	return p, err
}

// proposeTool is the tool whose orders wait for a person in any case.
const proposeTool = "trade_propose"

// random counts: an id differs from every other of its tape, and is the same each time the tape is run.
func (p *player) random(b *[10]byte) {
	p.entropy++
	binary.BigEndian.PutUint64(b[2:], p.entropy)
}

// acts are what lines of each kind do.
var acts = [...]func(*player, context.Context, *line) error{
	quoteLine:    (*player).quote,
	accountLine:  (*player).worth,
	positionLine: (*player).position,
	policyLine:   (*player).policy,
	intentLine:   (*player).intent,
	brokerLine:   (*player).answer,
	fillLine:     (*player).fill,
	cancelLine:   (*player).cancel,
	approveLine:  (*player).press,
	declineLine:  (*player).press,
	killLine:     (*player).kill,
	resetLine:    (*player).reset,
}

// quote shows a quote. The day begins as soon as it can, as it does where a daemon looks every second.
func (p *player) quote(ctx context.Context, l *line) error {
	if err := p.settle(ctx); err != nil {
		return err
	}
	first, err := p.market.show(l)
	if err != nil {
		return err
	}
	if first {
		p.desk.marked(l.symbol)
	}
	return p.beginDay(ctx)
}

// beginDay begins the day if the equity is known.
func (p *player) beginDay(ctx context.Context) error {
	if !p.desk.told || p.desk.unmarked > 0 {
		return nil
	}
	p.desk.settle()
	return p.gate.BeginDay(ctx)
}

// worth is the broker's word on the account. Its positions may be in the lines that follow.
func (p *player) worth(_ context.Context, l *line) error {
	p.desk.state(l.cash, l.equity)
	p.stated = true
	return nil
}

// settle goes by what the broker has said of the account and its positions, now that this is at its end.
func (p *player) settle(ctx context.Context) error {
	if !p.stated {
		return nil
	}
	p.stated = false
	return p.beginDay(ctx)
}

func (p *player) policy(_ context.Context, l *line) error {
	if !p.only {
		p.gate.SetPolicy(append([]byte(nil), l.policy...))
	}
	return nil
}

// intent hands an order to the gate, and writes its decision.
func (p *player) intent(ctx context.Context, l *line) error {
	if old := p.intents.byID[l.id]; old != nil && !old.denied && string(old.agent) != l.agent {
		return fmt.Errorf("the id %q is that of an intent of another agent", trade.Printable(l.id, 64))
	}
	p.asking, p.made, p.waits = &intent{id: l.id, number: p.count.Intents, reply: l.reply}, false, true
	p.count.Intents++
	c := p.call(l)
	var d ledger.Decision
	switch l.tool {
	case proposeTool:
		d = p.gate.Propose(ctx, c)
	case reduceTool:
		var err error
		if d, err = p.reduce(ctx, c); err != nil {
			return err
		}
	default:
		d = p.gate.Execute(ctx, c)
	}
	if d.Error == "journal_unavailable" {
		return errors.New(d.Message)
	}
	if d.Repeated {
		p.count.Repeated++
	}
	if p.waits { // nothing was allowed, so that it has not been written yet
		p.decision(l.id, &d)
	}
	for _, line := range p.later {
		p.emit(line)
	}
	p.asking, p.waits, p.later = nil, false, p.later[:0]
	return nil
}

// call reads the arguments of an intent as a surface does.
func (p *player) call(l *line) gate.Call {
	c := gate.Call{
		Origin: gate.Origin{
			Agent: trade.Agent(l.agent), Surface: "tape", Tool: l.tool, ToolCallID: trade.ToolCallID(l.id),
		},
		Tier: trade.TierExecute, Account: p.account, Raw: l.raw,
	}
	d := p.order
	if l.tool != "" {
		if d = p.tools[l.tool]; d == nil {
			c.Faults = []trade.Fault{{
				Code: trade.ToolUnknown, Field: "tool", Observed: trade.Printable(l.tool, 64),
				Message: fmt.Sprintf("the tool %q is not known", trade.Printable(l.tool, 64)),
			}}
			return c
		}
	}
	order, tags, faults := d.ParseValue(p.account, l.args)
	if c.Faults = faults; len(faults) == 0 {
		c.Order, c.Tags = order, tags
		c.Account = order.Account()
	}
	return c
}

// answer is the broker's, to an order that is in flight.
func (p *player) answer(ctx context.Context, l *line) error {
	in, err := p.intents.find(l.id)
	if err != nil {
		return err
	}
	settled := false
	if r, ok := p.desk.answer(in, l); ok {
		if settled, err = p.gate.Answer(ctx, in.intent, r); err != nil {
			return err
		}
	}
	p.passOver(!settled)
	return nil
}

// fill is what the broker did to an order that it had.
func (p *player) fill(ctx context.Context, l *line) error {
	in, exits, err := p.intents.findPart(l.id)
	if err != nil {
		return err
	}
	if err = p.settle(ctx); err != nil {
		return err
	}
	e, ok, err := p.desk.fill(in, exits, l)
	if err != nil {
		return err
	}
	if p.passOver(!ok); !ok {
		p.missed(in, exits, l)
		return nil
	}
	if p.count.Fills++; p.fills != nil {
		p.told(in, e.Side, l, true)
	}
	if err = p.gate.Happened(ctx, e); p.gate.State().Open(in.intent) == nil && in.venue == there {
		p.desk.leave(in, gone)
	}
	return err
}

// cancel asks the broker to cancel an order; a proposal is withdrawn.
func (p *player) cancel(ctx context.Context, l *line) error {
	in, exits, err := p.intents.findPart(l.id)
	if err != nil {
		return err
	}
	p.dropped(in, exits)
	if !exits && in.shown.Ended != "" { // a stop came before it: it is not the exits that are meant
		p.passOver(true)
		return nil
	}
	if exits {
		e, ok := p.desk.endExits(in)
		if p.passOver(!ok); !ok {
			return nil
		}
		return p.gate.Happened(ctx, e)
	}
	origin := gate.Origin{Agent: in.agent, Surface: "tape", Tool: "cancel"}
	if p.gate.State().Proposal(in.intent) != nil {
		_, err = p.gate.Withdraw(ctx, origin, trade.TierExecute, in.intent, "")
	} else {
		_, err = p.gate.Cancel(ctx, origin, in.intent)
	}
	if errors.Is(err, gate.ErrProtects) { // which no agent's word was enough for
		origin.Surface = surfacePerson
		_, err = p.gate.Cancel(ctx, origin, in.intent)
	}
	return p.unless(err)
}

// unless passes over what the gate refused, and fails on what it could not do.
func (p *player) unless(err error) error {
	var r *gate.Refusal
	refused := errors.As(err, &r) || errors.Is(err, gate.ErrNoOpenOrder) || errors.Is(err, gate.ErrProtects)
	if p.passOver(refused); refused {
		return nil
	}
	return err
}

func (p *player) passOver(yes bool) {
	if yes {
		p.count.PassedOver++
	}
}

// press is a person's answer to a proposal.
func (p *player) press(ctx context.Context, l *line) error {
	in, err := p.intents.find(l.id)
	if err != nil {
		return err
	}
	by, err := p.person(ctx, l.by)
	if err != nil {
		return err
	}
	open := p.gate.State().Proposal(in.intent)
	if open == nil {
		p.passOver(true)
		return nil
	}
	press := gate.Press{By: by, Proposal: in.intent, Digest: open.Order.Digest()}
	if l.kind == approveLine {
		_, err = p.gate.Approve(ctx, press)
	} else {
		_, err = p.gate.Decline(ctx, press)
	}
	return p.unless(err)
}

// person returns the approver of that name. Whoever answers on a tape is one.
func (p *player) person(ctx context.Context, name string) (gate.Person, error) {
	by, err := p.gate.Approver(ctx, trimWho(name))
	if err != nil {
		return by, fmt.Errorf("by %q: %w", trade.Printable(name, 64), err)
	}
	return by, nil
}

// kill engages the switch: an agent is named agent:NAME, what the gate does by itself is by sallyport or policy, and
// everybody else is a person.
func (p *player) kill(ctx context.Context, l *line) error {
	req := gate.StopRequest{Scope: l.scope, Reason: l.reason, Keep: l.keep, All: l.all}
	switch word, name := who(l.by); word {
	case "agent":
		req.Agent, req.Tier = trade.Agent(name), trade.TierExecute
	case "local":
		req.Local = name
	case "person":
		by, err := p.person(ctx, name)
		if err != nil {
			return err
		}
		req.Person = by
	default:
		return p.gate.Halt(ctx, l.scope, l.reason)
	}
	_, err := p.gate.Kill(ctx, req)
	return err
}

func (p *player) reset(ctx context.Context, l *line) error {
	by, err := p.person(ctx, l.by)
	if err != nil {
		return err
	}
	return p.unless(p.gate.Reset(ctx, by, l.scope, l.reason))
}

// expire ends proposals, each at its own instant, up to and with a time.
func (p *player) expire(ctx context.Context, upTo time.Time) error {
	for {
		due := p.gate.State().Due(upTo)
		if len(due) == 0 {
			return nil
		}
		p.clock = due[0].Ends()
		for _, o := range due {
			if o.Ends().Before(p.clock) {
				p.clock = o.Ends()
			}
		}
		if err := p.gate.Expire(ctx); err != nil {
			return err
		}
	}
}

// end says how all stands after the last line.
func (p *player) end() error {
	p.emit(p.appendFinal(p.buf[:0]))
	if p.closing != nil {
		p.closing(func(s trade.Symbol) (trade.Quote, bool) { q, known := p.market.newest[s]; return q, known })
	}
	return p.failed
}

// position is the broker's word on what is held.
func (p *player) position(ctx context.Context, l *line) error {
	p.desk.restate()
	if err := p.desk.hold(l.symbol, l.quantity); err != nil {
		return err
	}
	return p.gate.Hold(ctx, l.symbol, l.quantity, l.price)
}
