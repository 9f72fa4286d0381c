package ledger

import (
	"cmp"
	"slices"
	"time"

	"sallyport/policy"
	"sallyport/trade"
)

// State is the fold of the journal's events. It holds what a decision needs and nothing that grows for ever: intents
// whose reservation lives, and what each account holds. The zero State is that of an empty journal, with the kill switch
// engaged because nothing says that it is off.
type State struct {
	kill     kill           // of everything
	stops    map[Scope]kill // of narrower scopes, engaged ones only
	people   map[string]Person
	grants   map[trade.Agent]Grant
	owned    bool // by a daemon
	accounts map[trade.Account]*account
	open     map[trade.IntentID]*Open
	// waiting finds unspent permissions by what they permit, oldest first. It is derived from open.
	waiting map[trade.Digest][]trade.IntentID
	held    map[trade.IntentID]*Open         // proposals: held or approved. It is derived from open
	alike   map[proposalKey][]trade.IntentID // the same, oldest first, by who asks for which order
	asking  map[trade.Agent]int              // how many of them each agent has
	due     time.Time                        // no proposal ends by time before it; zero: nobody knows
	memory  memory
	loaded  string // the SHA-256 of the policy of version 2 that was loaded last; empty if none was
}

type kill struct {
	known, off bool
	keep, all  bool
	by, reason string
	at         time.Time
}

type account struct {
	cursor   uint64         // the venue's last event that was taken in
	last     trade.IntentID // the intent that it was about
	refusals int            // orders that the broker rejected, in a row
	holdings map[trade.Symbol]*holding
	past     past
	day      Day
	streak   streak
	pardons  []pardon // by their scopes
	seen     bool     // its broker has shown what it holds
}

// holding sums what is known of one symbol. The pending sums cover open intents and what harnesses reported as accepted
// by venues whose fills nobody tells us. average is what a share of the position was paid; zero while that is not known.
// unsized is how many orders by amount are pending of which nobody can say how many shares they are. Of what is pending
// without an open intent, dearBuy and dearSell are the highest prices that a share may cost or bring by the orders' own
// terms.
type holding struct {
	position, pendingBuys, pendingSells, average trade.Decimal
	unsized                                      int
	dearBuy, dearSell                            trade.Decimal
	doubted                                      bool // the broker shows another position
}

// Phase is where an open intent stands. The zero Phase is none.
type Phase uint8

// The phases. Whatever is rejected, filled, cancelled or expired is open no more.
const (
	NoPhase   Phase = iota
	Permitted       // a hook allowed it; nobody is known to have spent that
	Sending         // we send it, or somebody else made the call, and no outcome is known
	Working         // the venue has accepted it and tells us of its fills
	OnHold          // people must approve it first
	Granted         // people have approved it; it is not executed yet
)

// String returns the word for people and for records.
func (p Phase) String() string {
	return [...]string{"none", "permitted", "sending", "working", "held", "approved"}[p]
}

// Open is an intent whose reservation lives.
type Open struct {
	Intent trade.IntentID
	Order  trade.Order
	Origin Origin
	// ClientOrderID is the agent's own id of the order, if it gave one.
	ClientOrderID trade.ClientOrderID
	PolicySHA256  string // of the first judgement
	Phase         Phase
	Unknown       bool // an unknown outcome is on record
	Asked         bool // the harness's permission request was answered by this permission
	Cancelling    bool // a cancel was asked for and is not answered
	ExitsToo      bool // and a person wants the exits of what is filled cancelled as well
	At            time.Time
	Pending       Pending
	Filled        trade.Decimal   // shares of the order itself
	Over          bool            // what was left of the order itself was cancelled, has expired or is used up
	Exited        trade.Decimal   // of what was filled, the shares whose exits are over
	Hold          Hold            // of a proposal
	Reasons       []policy.Reason // why it was held, as the people were shown
	Approvals     []string        // who has approved
	Lapses        time.Time       // when an approval is used up by time
	Revoked       bool            // somebody who approved it, or its agent, is no longer who he was

	// What the history counts of it, while a second judgement may still come, which leaves it out.
	Counted time.Time // when it was counted; zero: it was not
	Rules   []string
	Value   trade.Decimal

	// What the judgement made of an order that does not say it itself: see Ruling.
	Shares policy.Known  // how many shares an order by amount may come to
	Spent  trade.Decimal // dollars of the amount that fills have used
	Price  trade.Decimal // what a share of an order without a limit price may cost; zero if that is not known

	line []byte // of the snapshot, while all but Intent and Phase is unread
}

// NewState returns the state of an empty journal.
func NewState() *State {
	return &State{
		accounts: map[trade.Account]*account{}, open: map[trade.IntentID]*Open{},
		waiting: map[trade.Digest][]trade.IntentID{}, held: map[trade.IntentID]*Open{},
		alike: map[proposalKey][]trade.IntentID{}, asking: map[trade.Agent]int{}, stops: map[Scope]kill{},
		people: map[string]Person{}, grants: map[trade.Agent]Grant{},
	}
}

// Facts returns what a judgement of an order in that symbol may know. without leaves out one intent's own reservation.
func (s *State) Facts(a trade.Account, sym trade.Symbol, without trade.IntentID) policy.Facts {
	var f policy.Facts
	acc := s.accounts[a]
	if acc == nil {
		return f
	}
	f.PositionKnown = s.known(acc)
	unsized := 0
	if h := acc.holdings[sym]; h != nil {
		f.Position, f.PendingBuys, f.PendingSells, unsized = h.position, h.pendingBuys, h.pendingSells, h.unsized
		f.PositionKnown = f.PositionKnown && !h.doubted
	}
	if o := s.Open(without); o != nil && o.Order.Account() == a && o.Order.Symbol() == sym {
		own := o.pending()
		f.PendingBuys, f.PendingSells = f.PendingBuys.Sub(own.buys), f.PendingSells.Sub(own.sells)
		unsized -= own.unsized
	}
	if unsized > 0 {
		f.PendingBuys = trade.Decimal{}.Sub(trade.Whole(1)) // below zero: not known
	}
	return f
}

// Open returns the open intent of that id; nil if there is none.
func (s *State) Open(id trade.IntentID) *Open { return s.open[id].load() }

// OpenCount returns how many intents are open.
func (s *State) OpenCount() int { return len(s.open) }

// OpenCountOf returns how many of them are an agent's. It reads all of them.
func (s *State) OpenCountOf(agent trade.Agent) (n int) {
	for _, o := range s.open {
		if o.load().Origin.Agent == agent {
			n++
		}
	}
	return n
}

// Opens returns every open intent, oldest first.
func (s *State) Opens() []*Open {
	all := make([]*Open, 0, len(s.open))
	for _, o := range s.open {
		all = append(all, o.load())
	}
	slices.SortFunc(all, func(a, b *Open) int { return cmp.Compare(a.Intent, b.Intent) })
	return all
}

// Cursor returns the number of the venue's last event that was taken in for the account, and the intent that it was
// about.
func (s *State) Cursor(a trade.Account) (number uint64, about trade.IntentID) {
	if acc := s.accounts[a]; acc != nil {
		return acc.cursor, acc.last
	}
	return 0, ""
}

// Held is what the ledger knows of one symbol in one account.
type Held struct {
	Account                             trade.Account
	Symbol                              trade.Symbol
	Quantity, PendingBuys, PendingSells trade.Decimal
	Doubted                             bool // the quantity is not known: the broker shows another
}

// Holdings returns every symbol with a position or something pending, sorted by account and symbol.
func (s *State) Holdings() []Held {
	var all []Held
	for name, acc := range s.accounts {
		for sym, h := range acc.holdings {
			all = append(all, Held{name, sym, h.position, h.pendingBuys, h.pendingSells, h.doubted})
		}
	}
	slices.SortFunc(all, func(a, b Held) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Symbol.String(), b.Symbol.String()))
	})
	return all
}

// Unspent returns the oldest unspent permission for that order of that agent and tool which fits; nil if there is none. A
// side that names no session, harness or tool-call id matches any; two that name one must name the same.
func (s *State) Unspent(o Origin, order trade.Order, fits func(*Open) bool) *Open {
	for _, id := range s.waiting[order.Digest()] {
		p := s.Open(id)
		same := p.Origin.Agent == o.Agent && p.Origin.Tool == o.Tool && p.Origin.Joins(o)
		if same && !p.Unknown && fits(p) {
			return p
		}
	}
	return nil
}

// UnspentOther returns the oldest unspent permission of that agent, session and tool for whatever order.
func (s *State) UnspentOther(o Origin) *Open {
	for _, p := range s.Opens() {
		if p.Phase == Permitted && !p.Unknown && p.Origin.ToolCallID == "" && p.Origin.Agent == o.Agent &&
			p.Origin.Tool == o.Tool && p.Origin.Session == o.Session && p.Origin.Harness == o.Harness {
			return p
		}
	}
	return nil
}

// Joins reports whether two surfaces may speak of one call: what both know of its id, session and harness is the same.
func (o Origin) Joins(other Origin) bool {
	return sameText(string(o.ToolCallID), string(other.ToolCallID)) && sameText(string(o.Session), string(other.Session)) &&
		sameText(string(o.Harness), string(other.Harness))
}

func sameText(a, b string) bool { return a == "" || b == "" || a == b }

func (s *State) account(a trade.Account) *account {
	acc := s.accounts[a]
	if acc == nil {
		acc = &account{holdings: map[trade.Symbol]*holding{}}
		s.accounts[a] = acc
	}
	return acc
}

func (s *State) holding(a trade.Account, sym trade.Symbol) *holding {
	acc := s.account(a)
	h := acc.holdings[sym]
	if h == nil {
		h = &holding{}
		acc.holdings[sym] = h
	}
	return h
}

// tidy drops a holding that says nothing, so that states that are equal are equal in bytes.
func (s *State) tidy(a trade.Account, sym trade.Symbol) {
	if h := s.accounts[a].holdings[sym]; h != nil && h.position.Sign() == 0 && h.pendingBuys.Sign() == 0 && h.pendingSells.Sign() == 0 && h.unsized == 0 && !h.doubted {
		delete(s.accounts[a].holdings, sym)
	}
}
