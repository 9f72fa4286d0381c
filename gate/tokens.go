package gate

import (
	"context"
	"strings"
	"sync"
	"time"

	"sallyport/ledger"
	"sallyport/policy"
)

// tokens are the agents' tokens as they were a moment ago, for every call that an agent makes.
type tokens struct {
	at     time.Time
	byHash map[string]ledger.Grant
}

// tokensFor is how long a look at the tokens is good. What this process itself changes counts at once.
//
//limit:gate-token-age A token that another process has rotated or removed is refused after 50 milliseconds at the latest.
const tokensFor = 50 * time.Millisecond

// looking is the turn of whoever looks at the tokens. A look waits for its turn at the journal, behind what is being
// committed: of the many callers that arrive at the same moment one looks for all.
type looking struct {
	once sync.Once
	turn chan struct{}
}

func (l *looking) take(ctx context.Context) error {
	l.once.Do(func() { l.turn = make(chan struct{}, 1) })
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *looking) give() { <-l.turn }

// grants returns the tokens, as they were at most a moment ago, or after this call began.
func (g *Gate) grants(ctx context.Context) (map[string]ledger.Grant, error) {
	began := time.Now()
	if t := g.tokens.Load(); t != nil && began.Sub(t.at) < tokensFor {
		return t.byHash, nil
	}
	if err := g.looking.take(ctx); err != nil {
		return nil, err
	}
	defer g.looking.give()
	if t := g.tokens.Load(); t != nil && (t.at.After(began) || time.Since(t.at) < tokensFor) { // another one has looked meanwhile
		return t.byHash, nil
	}
	return g.grantsNow(ctx)
}

// grantsNow returns the tokens as they are on record.
func (g *Gate) grantsNow(ctx context.Context) (map[string]ledger.Grant, error) {
	t := &tokens{at: time.Now(), byHash: map[string]ledger.Grant{}}
	changes := g.changes.Load()
	err := g.journal.Read(ctx, func() error {
		for _, x := range g.follow.state.Grants() {
			t.byHash[x.Hash] = x
		}
		return nil
	})
	g.cfg.step("tokens read")
	if err == nil {
		g.tokens.Store(t)
	}
	if g.changes.Load() != changes { // this process has changed them meanwhile
		g.tokens.Store(nil)
	}
	return t.byHash, err
}

// Authenticate recognises an agent by its token.
//
//limit:gate-token Only a token that the owner has made lets an agent in, with the name and at most the tier that it carries.
func (g *Gate) Authenticate(ctx context.Context, token, channel string) (ledger.Grant, error) {
	all, err := g.grants(ctx)
	if err != nil {
		return ledger.Grant{}, err
	}
	found, ok := all[hashOf(token)]
	if !ok { // another process may just have made it
		if all, err = g.grantsNow(ctx); err != nil {
			return ledger.Grant{}, err
		}
		found, ok = all[hashOf(token)]
	}
	if !ok || !strings.HasPrefix(token, agentPrefix) {
		return ledger.Grant{}, g.wrongCredential(ctx, attempt{action: "authenticate", by: "unknown", channel: channel},
			refusal(policy.TokenUnknown, "the token is no agent's"))
	}
	return found, nil
}
