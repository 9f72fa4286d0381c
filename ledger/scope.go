package ledger

import (
	"strings"
	"time"

	"sallyport/trade"
)

// ScopeKind says what a stop covers. The zero kind is everything, so that what is not said stops all.
type ScopeKind uint8

// The kinds.
const (
	Everything ScopeKind = iota
	OneAccount
	OneAgent
	OneSymbol
)

var scopeWords = [...]string{"everything", "account", "agent", "symbol"}

// Scope is what a stop covers. The zero Scope is everything.
type Scope struct {
	Kind ScopeKind
	Name string // of the account, agent or symbol; empty for everything
}

// String returns everything, account:NAME, agent:NAME or symbol:NAME.
func (s Scope) String() string {
	if s.Kind == Everything {
		return scopeWords[Everything]
	}
	return scopeWords[s.Kind] + ":" + s.Name
}

// ParseScope reads what String writes.
func ParseScope(text string) (Scope, bool) {
	if text == scopeWords[Everything] {
		return Scope{}, true
	}
	word, name, _ := strings.Cut(text, ":")
	for k := OneAccount; k <= OneSymbol; k++ {
		if word == scopeWords[k] {
			return Scope{k, name}, validScopeName(k, name)
		}
	}
	return Scope{}, false
}

// ReadScope reads a scope as a person or an agent writes it: the case of a symbol does not count, as in an order.
func ReadScope(text string) (Scope, bool) {
	if name, isSymbol := strings.CutPrefix(text, scopeWords[OneSymbol]+":"); isSymbol {
		sym, ok := trade.ParseSymbol(name)
		return Scope{OneSymbol, sym.String()}, ok
	}
	return ParseScope(text)
}

func validScopeName(k ScopeKind, name string) bool {
	if k == OneSymbol {
		sym, ok := trade.ParseSymbol(name)
		return ok && sym.String() == name
	}
	return trade.Account(name).IsValid() // agents have the same grammar
}

// Covers reports whether a stop of this scope stops an order of that account, agent and symbol.
func (s Scope) Covers(a trade.Account, agent trade.Agent, sym trade.Symbol) bool {
	switch s.Kind {
	case Everything:
		return true
	case OneAccount: // names differ by more than their case, so a stop that is typed in a hurry means the one there is
		return strings.EqualFold(s.Name, string(a))
	case OneAgent:
		return s.OfAgent(agent)
	case OneSymbol:
		return s.Name == sym.String()
	}
	return true
}

// OfAgent reports whether the scope is this one agent.
func (s Scope) OfAgent(agent trade.Agent) bool {
	return s.Kind == OneAgent && strings.EqualFold(s.Name, string(agent))
}

// Stop is an engaged kill switch.
type Stop struct {
	Scope  Scope
	By     string
	Reason string
	Since  time.Time
	Keep   bool // orders that worked already were left as they are
	All    bool // the exits that protect positions are cancelled as well
}
