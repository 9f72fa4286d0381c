package gate

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// Person is somebody whom this gate has recognised, and through what. Only Identify and IdentifyTelegram make one; the
// zero Person is nobody.
type Person struct {
	name, channel string
	hash          string // of the credential that was recognised
}

// Name returns the person's name; empty for nobody.
func (p Person) Name() string { return p.name }

func (p Person) who() string {
	if p.name == "" {
		return "nobody"
	}
	return personBy + p.name
}

// Refusal is a no to a person or an agent who wants to change something: a stable code and a sentence.
type Refusal struct {
	Code    trade.Code
	Message string
	Tier    *ledger.TierGap // where the tier is too low
}

// Error implements error.
func (r *Refusal) Error() string { return string(r.Code) + ": " + r.Message }

func refusal(code trade.Code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
}

// attempt is what somebody tried.
type attempt struct {
	intent              trade.IntentID
	action, by, channel string
}

// refuse records an attempt that was refused.
//
//limit:gate-attempts Every refused attempt to approve, decline, withdraw, reset or administer is recorded, and changes nothing.
func (g *Gate) refuse(tx *journal.Tx, at time.Time, a attempt, r *Refusal) {
	g.recordIn(tx, streamPeople, at, ledger.AttemptRefused{
		Intent: knownID(a.intent), Action: a.action, By: trade.Printable(a.by, 64), Channel: trade.Printable(a.channel, 64), Code: r.Code, Message: r.Message,
	})
}

// maxAttempts is how many refused attempts of one agent are recorded in a minute.
//
//limit:gate-agent-refusals Of an agent's refused cancels, withdrawals and stops, which no rate holds up, at most 60 a minute are recorded; the next one that is says how many were not.
const maxAttempts, attemptsEvery = 60, time.Minute

// refusals counts the attempts of agents that were refused. There are no more agents than people have made.
type refusals struct {
	mu sync.Mutex
	of map[string]*refusedOf
}

type refusedOf struct {
	since          time.Time
	recorded, more int
}

// take counts one attempt of somebody, and reports whether it is recorded, and how many were not before it.
func (s *refusals) take(who string, now time.Time) (recorded bool, more int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.of[who]
	if one == nil {
		one = &refusedOf{since: now}
		if s.of == nil {
			s.of = map[string]*refusedOf{}
		}
		s.of[who] = one
	}
	if age := now.Sub(one.since); age >= attemptsEvery || age < 0 {
		one.since, one.recorded = now, 0
	}
	if one.recorded == maxAttempts {
		one.more++
		return false, 0
	}
	one.recorded++
	more, one.more = one.more, 0
	return true, more
}

// refuseNow records an attempt that was refused, and returns the refusal.
func (g *Gate) refuseNow(ctx context.Context, a attempt, r *Refusal) error {
	if strings.HasPrefix(a.by, agentBy) {
		recorded, more := g.refusals.take(a.by, g.now())
		if !recorded {
			return r
		}
		if more > 0 {
			told := *r
			told.Message += fmt.Sprintf(" (and %d more before, which are not recorded)", more)
			return g.recordRefusal(ctx, a, &told, r)
		}
	}
	return g.recordRefusal(ctx, a, r, r)
}

// What stands before a name in a record that says who did something.
const (
	agentBy  = "agent:"
	personBy = "person:"
	localBy  = "local:" // who ran the command on the machine, without a credential
)

// byPerson reports whether a stop is that of a person with a credential.
func byPerson(s ledger.Stop) bool { return strings.HasPrefix(s.By, personBy) }

// recordRefusal records a refusal as told, and returns it as it is.
func (g *Gate) recordRefusal(ctx context.Context, a attempt, told, r *Refusal) error {
	err := g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		g.refuse(tx, at, a, told)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w (and it could not be recorded: %w)", r, err)
	}
	return r
}

// Credentials are 160 random bits behind a word that says what they are.
const (
	personPrefix = "sp-person-"
	agentPrefix  = "sp-agent-"
)

func (g *Gate) newSecret(prefix string) string {
	var a, b [10]byte
	g.cfg.Entropy(&a)
	g.cfg.Entropy(&b)
	text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(append(a[:], b[:]...))
	return prefix + strings.ToLower(text)
}

// hashOf is what is kept of a credential. It has 160 random bits, so one SHA-256 hides it.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// slowly delays the answers to wrong credentials, the more the more of them come.
type slowly struct {
	mu      sync.Mutex
	waiting int
	count   int
	last    time.Time
}

// How wrong credentials are slowed down.
//
//limit:gate-wrong-credential A wrong credential is answered after 250 ms, and after up to 4 s when many come.
//limit:gate-wrong-waiting At most 16 wrong credentials wait for their answer; one more is refused at once and not recorded.
const (
	firstWrong  = 250 * time.Millisecond
	maxWrong    = 4 * time.Second
	wrongMemory = time.Minute
	maxWaiting  = 16
)

// enter reports how long to wait, or that too many wait already.
func (s *slowly) enter(now time.Time) (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting >= maxWaiting {
		return 0, false
	}
	if now.Sub(s.last) > wrongMemory {
		s.count = 0
	}
	s.last = now
	s.waiting++
	delay := min(firstWrong<<min(s.count, 8), maxWrong)
	s.count++
	return delay, true
}

func (s *slowly) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
}

// wrongCredential slows the caller down, records the attempt and returns the refusal.
func (g *Gate) wrongCredential(ctx context.Context, a attempt, r *Refusal) error {
	delay, ok := g.wrong.enter(g.cfg.Now())
	if !ok {
		return r
	}
	defer g.wrong.leave()
	select {
	case <-ctx.Done():
	case <-g.cfg.slow(delay):
	}
	return g.refuseNow(context.WithoutCancel(ctx), a, r)
}

// Identify recognises a person by his credential. The channel is how he came: terminal, http and the like. A terminal, an
// operating-system user or a header proves nothing.
func (g *Gate) Identify(ctx context.Context, credential, channel string) (Person, error) {
	var found ledger.Person
	ok := false
	err := g.journal.Read(ctx, func() error {
		found, ok = g.follow.state.PersonByHash(hashOf(credential))
		return nil
	})
	switch {
	case err != nil:
		return Person{}, err
	case !ok || !strings.HasPrefix(credential, personPrefix):
		return Person{}, g.wrongCredential(ctx, attempt{action: "authenticate", by: "unknown", channel: channel},
			refusal(policy.PersonUnknown, "the credential is nobody's"))
	}
	return Person{name: found.Name, channel: channel, hash: found.Hash}, nil
}

// IdentifyTelegram recognises a person by the user id that Telegram vouches for. chat is where it was said.
func (g *Gate) IdentifyTelegram(ctx context.Context, user, chat int64) (Person, error) {
	channel := fmt.Sprintf("telegram:%d", chat)
	var found ledger.Person
	ok := false
	err := g.journal.Read(ctx, func() error {
		found, ok = g.follow.state.PersonByTelegram(user)
		return nil
	})
	switch {
	case err != nil:
		return Person{}, err
	case !ok:
		return Person{}, g.refuseNow(ctx, attempt{action: "authenticate", by: fmt.Sprintf("telegram user %d", user), channel: channel},
			refusal(policy.PersonUnknown, "this Telegram user is nobody here"))
	}
	return Person{name: found.Name, channel: channel, hash: found.Hash}, nil
}

// listed refuses a person who is gone or has another credential.
func (g *Gate) listed(by Person) *Refusal {
	_, r := g.personNow(by)
	return r
}

// personNow returns the person as the ledger now has him; a refusal if he is gone or has another credential.
func (g *Gate) personNow(by Person) (ledger.Person, *Refusal) {
	for _, p := range g.follow.state.People() {
		if by.name != "" && p.Name == by.name && p.Hash == by.hash {
			return p, nil
		}
	}
	return ledger.Person{}, refusal(policy.PersonUnknown, "this person is not listed, or has another credential now")
}

// PersonTerms are a person's rights.
type PersonTerms struct {
	Name     string
	Approver bool
	Telegram int64
}

// MakeOwner makes the owner, once in the life of a data directory, and returns his credential, which is kept nowhere.
//
//limit:gate-owner-once The owner is made once; nobody can make another.
func (g *Gate) MakeOwner(ctx context.Context, p PersonTerms) (secret string, err error) {
	return g.administer(ctx, Person{}, "make owner", personPrefix, func(st *ledger.State, hash string) (ledger.Event, *Refusal) {
		for _, q := range st.People() {
			if q.Owner {
				return nil, refusal(policy.NameTaken, "the owner is %s; use that credential", q.Name)
			}
		}
		if r := freeName(st, p.Name); r != nil {
			return nil, r
		}
		return ledger.PersonSet{Person: ledger.Person{
			Name: p.Name, Owner: true, Approver: p.Approver, Telegram: p.Telegram, Hash: hash,
		}, By: "people init"}, nil
	})
}

// AddPerson adds a person and returns his credential. Only the owner may.
func (g *Gate) AddPerson(ctx context.Context, owner Person, p PersonTerms) (secret string, err error) {
	return g.administer(ctx, owner, "add person", personPrefix, func(st *ledger.State, hash string) (ledger.Event, *Refusal) {
		if r := freeName(st, p.Name); r != nil {
			return nil, r
		}
		if q, taken := st.PersonByTelegram(p.Telegram); taken {
			return nil, refusal(policy.NameTaken, "%s has that Telegram user id", q.Name)
		}
		return ledger.PersonSet{Person: ledger.Person{
			Name: p.Name, Approver: p.Approver, Telegram: p.Telegram, Hash: hash,
		}, By: personBy + owner.name}, nil
	})
}

// RotatePerson gives a person a new credential; the old one ends at once.
func (g *Gate) RotatePerson(ctx context.Context, owner Person, name string) (secret string, err error) {
	return g.administer(ctx, owner, "rotate person", personPrefix, func(st *ledger.State, hash string) (ledger.Event, *Refusal) {
		for _, q := range st.People() {
			if q.Name == name {
				q.Hash = hash
				return ledger.PersonSet{Person: q, By: personBy + owner.name}, nil // his approvals end: see administer
			}
		}
		return nil, refusal(policy.NameUnknown, "there is no person %s", trade.Printable(name, 64))
	})
}

// RemovePerson ends a person's rights. The owner cannot be removed, only rotated.
func (g *Gate) RemovePerson(ctx context.Context, owner Person, name string) error {
	_, err := g.administer(ctx, owner, "remove person", "", func(st *ledger.State, _ string) (ledger.Event, *Refusal) {
		for _, q := range st.People() {
			switch {
			case q.Name == name && q.Owner:
				return nil, refusal(policy.OwnerStays, "the owner cannot be removed; rotate the credential")
			case q.Name == name:
				return ledger.PersonRemoved{Name: name, By: personBy + owner.name}, nil
			}
		}
		return nil, refusal(policy.NameUnknown, "there is no person %s", trade.Printable(name, 64))
	})
	return err
}

// AddAgent adds an agent with its highest tier and returns its token. Only the owner may.
func (g *Gate) AddAgent(ctx context.Context, owner Person, agent trade.Agent, tier trade.Tier) (token string, err error) {
	return g.administer(ctx, owner, "add agent", agentPrefix, func(st *ledger.State, hash string) (ledger.Event, *Refusal) {
		if r := freeName(st, string(agent)); r != nil {
			return nil, r
		}
		return ledger.GrantSet{Grant: ledger.Grant{Agent: agent, Tier: tier, Hash: hash}, By: personBy + owner.name}, nil
	})
}

// RotateAgent gives an agent a new token; the old one ends at once.
func (g *Gate) RotateAgent(ctx context.Context, owner Person, agent trade.Agent) (token string, err error) {
	return g.administer(ctx, owner, "rotate agent", agentPrefix, func(st *ledger.State, hash string) (ledger.Event, *Refusal) {
		for _, q := range st.Grants() {
			if q.Agent == agent {
				q.Hash = hash
				return ledger.GrantSet{Grant: q, By: personBy + owner.name}, nil
			}
		}
		return nil, refusal(policy.NameUnknown, "there is no agent %s", trade.Printable(string(agent), 64))
	})
}

// RemoveAgent ends an agent's token.
func (g *Gate) RemoveAgent(ctx context.Context, owner Person, agent trade.Agent) error {
	_, err := g.administer(ctx, owner, "remove agent", "", func(st *ledger.State, _ string) (ledger.Event, *Refusal) {
		for _, q := range st.Grants() {
			if q.Agent == agent {
				return ledger.GrantRemoved{Agent: agent, By: personBy + owner.name}, nil
			}
		}
		return nil, refusal(policy.NameUnknown, "there is no agent %s", trade.Printable(string(agent), 64))
	})
	return err
}

// administer changes who may do what, by the owner's word. Nobody may only make the owner.
//
//limit:gate-owner-only Only the owner's credential adds, removes or rotates people and agents.
func (g *Gate) administer(ctx context.Context, owner Person, action, prefix string, change func(*ledger.State, string) (ledger.Event, *Refusal)) (string, error) {
	secret := ""
	if prefix != "" {
		secret = g.newSecret(prefix)
	}
	var refused *Refusal
	err := g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		var e ledger.Event
		if refused = g.ownerRefusal(owner, action); refused == nil {
			e, refused = change(g.follow.state, hashOf(secret))
		}
		if refused != nil {
			g.refuse(tx, at, attempt{action: action, by: owner.who(), channel: owner.channel}, refused)
			return nil
		}
		g.recordIn(tx, streamPeople, at, e)
		g.revoke(tx, at, e)
		return nil
	})
	g.changes.Add(1)
	g.tokens.Store(nil)
	if err == nil && refused != nil {
		err = refused
	}
	if err != nil {
		return "", err
	}
	return secret, nil
}

// revoke ends the proposals that somebody has approved whose credential is no longer good: it may have been another who
// pressed.
//
//limit:gate-approval-revoked A proposal ends when somebody who has approved it is removed or gets a new credential, and when its agent is removed.
func (g *Gate) revoke(tx *journal.Tx, at time.Time, e ledger.Event) {
	person, agent := "", trade.Agent("")
	switch e := e.(type) {
	case ledger.PersonRemoved:
		person = e.Name
	case ledger.PersonSet:
		person = e.Person.Name
	case ledger.GrantRemoved:
		agent = e.Agent
	default:
		return
	}
	for _, o := range g.follow.state.Proposals() {
		end := ledger.ProposalEnded{Intent: o.Intent, State: ledger.ApprovalExpired, By: bySallyport}
		switch {
		case person != "" && slices.Contains(o.Approvals, person):
			end.Reason = person + " had approved it, and was removed or has another credential now"
		case agent != "" && o.Origin.Agent == agent:
			end.State, end.Reason = ledger.ApprovalWithdrawn, "its agent was removed"
		default:
			continue
		}
		g.record(tx, at, o.Order.Account(), end)
	}
}

func (g *Gate) ownerRefusal(owner Person, action string) *Refusal {
	if action == "make owner" {
		return nil
	}
	p, r := g.personNow(owner)
	if r == nil && !p.Owner {
		r = refusal(policy.NotTheOwner, "%s is not the owner", p.Name)
	}
	return r
}

// freeName makes sure that nobody has the name: a person and an agent of one name could be taken for each other.
//
//limit:gate-names A person or agent has a name of 1 to 64 of A-Z a-z 0-9 . _ - that begins with a letter or digit, and that no other person or agent has in whatever case.
func freeName(st *ledger.State, name string) *Refusal {
	if !trade.Account(name).IsValid() || strings.ContainsRune("._-", rune(name[0])) {
		return refusal(policy.NameMalformed, "the name is not 1 to 64 of A-Z a-z 0-9 . _ - after a letter or digit")
	}
	for _, p := range st.People() {
		if strings.EqualFold(p.Name, name) {
			return refusal(policy.NameTaken, "there is a person %s", p.Name)
		}
	}
	for _, a := range st.Grants() {
		if strings.EqualFold(string(a.Agent), name) {
			return refusal(policy.NameTaken, "there is an agent %s", a.Agent)
		}
	}
	return nil
}

// People returns everybody with a credential. Their hashes are left out.
func (g *Gate) People(ctx context.Context) ([]ledger.Person, error) {
	var all []ledger.Person
	err := g.journal.Read(ctx, func() error {
		all = g.follow.state.People()
		return nil
	})
	for i := range all {
		all[i].Hash = ""
	}
	return all, err
}

// Agents returns every agent with a token. Their hashes are left out.
func (g *Gate) Agents(ctx context.Context) ([]ledger.Grant, error) {
	var all []ledger.Grant
	err := g.journal.Read(ctx, func() error {
		all = g.follow.state.Grants()
		return nil
	})
	for i := range all {
		all[i].Hash = ""
	}
	return all, err
}
