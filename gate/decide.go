package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// Limits of a judgement.
//
//limit:gate-origin-text A tool name, session, harness or tool-call id of over 256 bytes, not in UTF-8 or with a control character denies the call: ORIGIN_MALFORMED.
//limit:gate-clock-behind A clock more than 5 seconds behind the newest record denies every order: CLOCK_BEHIND.
const (
	maxOriginText  = 256
	maxClockBehind = 5 * time.Second
)

// judgement is one call on its way through the gate. It is filled in under the journal's lock.
type judgement struct {
	g    *Gate
	call Call
	basis
	executing bool          // we send what is allowed; otherwise somebody else does
	checking  bool          // a dry run
	outside   []ledger.Stop // of a dry run: switches that the state does not know
	proposing bool          // whatever is allowed waits for a person
	approved  bool          // people have approved it, and it is judged again

	tx *journal.Tx // nil in a dry run, which records nothing
	at time.Time   // of the judgement

	next     next
	decision ledger.Decision
	cleared  Cleared // set for send
}

type next uint8

const (
	answer next = iota // the decision stands
	send               // the decision is durable: mint a permit and send
	await              // a repeat of what is still in flight
)

// prior is what the journal knows of a call's ids.
type prior struct {
	bound    ledger.Decision // the intent that the ids are bound to, as it stands; without Intent there is none
	conflict bool            // bound to another order, or the ids to two intents
}

// decide judges the call after everything that was recorded before it. It changes nothing unless it records it.
func (j *judgement) decide(tx *journal.Tx) error {
	at, behind := j.g.moment(tx)
	p, err := j.prior(tx)
	if err != nil {
		return err
	}
	j.tx, j.at = tx, at
	j.g.prepare(tx, at, j.basis)
	j.g.expire(tx, at)
	j.g.stopBehind(tx, at, behind)
	switch {
	case len(j.call.Faults) > 0 || j.call.Order.IsZero():
		return j.fresh(tx, at, behind, p, nil)
	case p.conflict:
		return j.fresh(tx, at, behind, p, []policy.Reason{{
			Code: policy.IDReused, Field: j.idField(),
			Message: fmt.Sprintf("this id is bound to intent %s with other terms; use a new id for another order", p.bound.Intent),
		}})
	case j.executing:
		return j.decideExecuting(tx, at, behind, p)
	}
	return j.decidePermitting(tx, at, behind, p)
}

// decideExecuting: an unspent permission is this same intent, judged again; any other bound intent is repeated.
func (j *judgement) decideExecuting(tx *journal.Tx, at time.Time, behind time.Duration, p prior) error {
	st := j.g.follow.state
	if j.proposing && p.bound.Intent == "" {
		return j.fresh(tx, at, behind, p, nil)
	}
	if j.proposing {
		j.repeat(p.bound)
		return nil
	}
	open := st.Open(p.bound.Intent)
	if p.bound.Intent == "" {
		open = j.unspent(st, false)
	}
	if open != nil && open.Phase == ledger.Permitted {
		return j.rejudge(tx, at, behind, open)
	}
	if p.bound.Intent != "" {
		j.repeat(p.bound)
		return nil
	}
	if j.g.cfg.RequireHook {
		return j.fresh(tx, at, behind, p, []policy.Reason{{
			Code: policy.HookRequired, Message: "no hook has permitted this call, and this gate executes nothing without one",
		}})
	}
	return j.fresh(tx, at, behind, p, nil)
}

// decidePermitting: the very same call may be permitted again while its permission is unspent; nothing else under its
// ids may, since one reservation is good for one execution.
func (j *judgement) decidePermitting(tx *journal.Tx, at time.Time, behind time.Duration, p prior) error {
	st := j.g.follow.state
	if j.call.Asked {
		if open := j.unspent(st, true); open != nil {
			return j.regrant(tx, at, behind, open, true)
		}
	}
	if open := j.held(st, p); open != nil {
		if j.tierGap() != nil { // people approve an order, and never a tier
			return j.fresh(tx, at, behind, p, nil)
		}
		if open.Phase == ledger.Granted {
			return j.grantedCall(tx, at, behind, open)
		}
		j.repeat(proposed(open))
		return nil
	}
	if p.bound.Intent == "" {
		return j.fresh(tx, at, behind, p, nil)
	}
	sameCall := j.call.Origin.ToolCallID != "" && p.bound.ToolCallID == j.call.Origin.ToolCallID
	if open := st.Open(p.bound.Intent); sameCall && open != nil && open.Phase == ledger.Permitted {
		return j.regrant(tx, at, behind, open, false)
	}
	return j.fresh(tx, at, behind, p, []policy.Reason{{
		Code: policy.PermissionSpent, Field: j.idField(),
		Message: fmt.Sprintf("intent %s was permitted under this id already; another call needs an id of its own", p.bound.Intent),
	}})
}

// held finds the proposal of the same call at a hook: under its ids, or the one of that session for exactly this order.
func (j *judgement) held(st *ledger.State, p prior) *ledger.Open {
	if open := st.Open(p.bound.Intent); open != nil {
		if open.Hold.Permits && (open.Phase == ledger.OnHold || open.Phase == ledger.Granted) {
			return open
		}
		return nil
	}
	if p.bound.Intent != "" {
		return nil
	}
	open := st.Alike(j.call.Origin, j.call.Order, true)
	if open != nil && open.ClientOrderID != j.call.Tags.ClientOrderID {
		return nil
	}
	return open
}

// unspent finds a permission without help of a tool-call id. Its client order id must be the call's, and it must still be
// good: one that is not is passed over, so that it stands in the way of no other.
func (j *judgement) unspent(st *ledger.State, asking bool) *ledger.Open {
	return st.Unspent(j.call.Origin, j.call.Order, func(p *ledger.Open) bool {
		return p.ClientOrderID == j.call.Tags.ClientOrderID && !(asking && p.Asked) && !unused(j.at, p) && len(lapsed(j.at, p)) == 0
	})
}

func (j *judgement) idField() string {
	if j.call.Origin.ToolCallID == "" {
		return "client_order_id"
	}
	return "tool_call_id"
}

// moment returns the time of what is recorded now, which never falls, and how far the clock is behind the newest record.
func (g *Gate) moment(tx *journal.Tx) (at time.Time, behind time.Duration) {
	now, last := g.cfg.Now().UTC().Truncate(time.Microsecond), tx.LastAt()
	if now.Before(last) {
		return last, last.Sub(now)
	}
	return now, 0
}

// prior looks up the ids of the call.
func (j *judgement) prior(tx *journal.Tx) (prior, error) {
	var p prior
	o := j.call.Origin
	if o.ToolCallID != "" {
		d, err := j.g.bound(tx.Find, ledger.CallKey(j.call.Account, o))
		if err != nil {
			return p, err
		}
		p.bound = d
	}
	if id := j.call.Tags.ClientOrderID; id != "" {
		d, err := j.g.bound(tx.Find, ledger.OrderKey(j.call.Account, o.Agent, id))
		if err != nil {
			return p, err
		}
		if p.bound.Intent != "" && p.bound.Intent != d.Intent {
			p.conflict = true // the call's id says one intent, the client order id another or none
		} else {
			p.bound = d
		}
	}
	if p.bound.Intent != "" && p.bound.Order.Digest() != j.call.Order.Digest() {
		p.conflict = true
	}
	return p, nil
}

// bound returns the intent that is bound to a key, as it stands, or a zero decision. An intent that ended denied binds
// nothing: the model may correct itself under the same id.
func (g *Gate) bound(find func(journal.Key) ([]journal.Record, error), k ledger.Key) (ledger.Decision, error) {
	all, err := g.under(find, k)
	for _, d := range all {
		if d.Clears != ledger.ClearsNothing && d.State != ledger.Blocked {
			return d, err
		}
	}
	return ledger.Decision{}, err
}

// under returns the intents under a key as they stand, oldest first: by their first judgement, or by the second where
// the call arrived under an id that the hook did not know.
func (g *Gate) under(find func(journal.Key) ([]journal.Record, error), k ledger.Key) ([]ledger.Decision, error) {
	recs, err := find(journal.Key(k))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	var all []ledger.Decision
	for _, r := range recs {
		e, err := ledger.Decode(r.Body)
		if err != nil {
			return nil, fmt.Errorf("%w: record %d: %w", errUnreadable, r.Seq, err)
		}
		if !carries(e, k) || slices.ContainsFunc(all, func(d ledger.Decision) bool { return d.Intent == e.About() }) {
			continue
		}
		var d ledger.Decision
		switch e := e.(type) {
		case ledger.Decided:
			d = e.Decision(r.At)
		case ledger.Rejudged:
			d = e.First()
		default:
			continue
		}
		if d, err = g.stand(find, d); err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// carries reports whether an event really has the key: the index knows only its hash.
func carries(e ledger.Event, k ledger.Key) bool { return slices.Contains(ledger.Keys(e), k) }

// stand returns a decision as it is after all that followed it.
func (g *Gate) stand(find func(journal.Key) ([]journal.Record, error), d ledger.Decision) (ledger.Decision, error) {
	recs, err := find(journal.Key(ledger.IntentKey(d.Intent)))
	if err != nil {
		return d, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	for _, r := range recs {
		next, err := ledger.Decode(r.Body)
		if err != nil {
			return d, fmt.Errorf("%w: record %d: %w", errUnreadable, r.Seq, err)
		}
		if next.About() == d.Intent {
			d.Apply(next)
		}
	}
	return d, nil
}

// repeat answers with the first decision. While its outcome may still come, the caller waits for it.
func (j *judgement) repeat(bound ledger.Decision) {
	d := bound.Present(j.g.cfg.Now(), j.g.lease.alive)
	d.Repeated = true
	j.decision, j.next = d, answer
	if j.executing && d.Waiting() {
		j.next = await
	}
}

// ruling judges the call by the gate's own reasons and the policy's. Every rule runs, whatever the gate has found.
func (j *judgement) ruling(own []policy.Reason, behind time.Duration, without trade.IntentID) ledger.Ruling {
	st := j.g.follow.state
	r := ledger.Ruling{PolicySHA256: j.policy.SHA256}
	r.Reasons = append(r.Reasons, faultReasons(j.call.Faults)...)
	r.Reasons = append(r.Reasons, own...)
	r.Reasons = append(r.Reasons, j.systemReasons(st, behind, without)...)
	if j.policy.Reason != nil {
		r.Reasons = append(r.Reasons, *j.policy.Reason)
	}
	if j.call.Order.IsZero() {
		return r
	}
	facts := st.Facts(j.call.Account, j.call.Order.Symbol(), without)
	var v policy.Verdict
	switch {
	case j.policy.Policy != nil:
		v = j.policy.Policy.Evaluate(j.call.Order, facts)
	case j.policy.Book != nil:
		v = j.bookVerdict(&r, facts, without)
	default:
		return r
	}
	r.Facts = &facts
	j.untold(v.Reasons)
	fewer(&v)
	if len(r.Reasons) > 0 {
		r.Reasons = append(r.Reasons, v.Reasons...)
		return r // denied whatever the policy says
	}
	r.Effect, r.Reasons, r.MaxQuantity, r.RetryAt = v.Effect, v.Reasons, v.MaxQuantity, upToMicrosecond(v.RetryAfter)
	j.holding(&r)
	return r
}

// systemReasons are the gate's own: what no policy can lift.
//
//limit:gate-account An order is sent only to the account that the gate's broker has: ACCOUNT_UNKNOWN.
func (j *judgement) systemReasons(st *ledger.State, behind time.Duration, without trade.IntentID) []policy.Reason {
	var rs []policy.Reason
	if len(j.call.Faults) == 0 && j.call.Order.IsZero() {
		rs = append(rs, policy.Reason{Code: policy.InternalError, Message: "the call holds neither an order nor faults"})
	}
	if o := j.call.Order; !o.IsZero() && o.Account() != j.call.Account {
		rs = append(rs, policy.Reason{Code: policy.InternalError, Message: "the call and its order name two accounts"})
	}
	if j.executing && j.call.Account != j.g.cfg.Account {
		rs = append(rs, policy.Reason{
			Code: policy.AccountUnknown, Field: "account", Limit: string(j.g.cfg.Account), Observed: trade.Printable(string(j.call.Account), 64),
			Message: fmt.Sprintf("this gate's broker has the account %s, not %s", j.g.cfg.Account, trade.Printable(string(j.call.Account), 64)),
		})
	}
	rs = append(rs, j.controlReasons(st)...)
	if without == "" && j.call.Order.Side() == trade.Buy { // no way out is blocked
		rs = append(rs, j.placeReasons(st)...)
	}
	if behind > maxClockBehind {
		rs = append(rs, policy.Reason{
			Code: policy.ClockBehind, Limit: maxClockBehind.String(), Observed: behind.String(),
			Message: fmt.Sprintf("the clock is %s behind the newest record; set it right", behind),
		})
	}
	if name := malformedOrigin(j.call.Origin); name != "" {
		rs = append(rs, policy.Reason{
			Code: policy.OriginMalformed, Field: name, Limit: fmt.Sprint(maxOriginText),
			Message: fmt.Sprintf("%s is over %d bytes, is not UTF-8, or holds a control character", name, maxOriginText),
		})
	}
	return rs
}

// controlReasons are those of people in control: the tier, the daemon and the kill switch.
//
//limit:gate-tier An order is executed or permitted only for a caller of tier 2, and proposed for one of tier 1 or above: TIER_TOO_LOW.
//limit:gate-kill No order passes while a kill switch covers its account, agent or symbol: KILL_SWITCH_ACTIVE.
func (j *judgement) controlReasons(st *ledger.State) []policy.Reason {
	var rs []policy.Reason
	if gap := j.tierGap(); gap != nil {
		rs = append(rs, policy.Reason{
			Code: policy.TierTooLow, Limit: gap.Required.String(), Observed: gap.Current.String(),
			Message: fmt.Sprintf("this needs tier %s, and this caller has tier %s; the operator decides it", gap.Required, gap.Current),
		})
	}
	if st.Owned() && !j.g.cfg.Daemon && !j.checking {
		rs = append(rs, policy.Reason{Code: policy.DaemonRequired, Message: ErrDaemonRequired.Error()})
	}
	for _, s := range j.stops(st) {
		rs = append(rs, stopReason(s))
	}
	return rs
}

func stopReason(s ledger.Stop) policy.Reason {
	return policy.Reason{
		Code: policy.KillSwitchActive, Field: s.Scope.String(),
		Message: fmt.Sprintf("the kill switch of %s is engaged by %s: %s", s.Scope, trade.Printable(s.By, 64), trade.Printable(s.Reason, 200)),
	}
}

func (j *judgement) stops(st *ledger.State) []ledger.Stop {
	stops := st.Stopping(j.call.Account, j.call.Origin.Agent, j.call.Order.Symbol())
	for _, s := range j.outside {
		if !engaged(stops, s.Scope) && s.Scope.Covers(j.call.Account, j.call.Origin.Agent, j.call.Order.Symbol()) {
			stops = append(stops, s)
		}
	}
	return stops
}

// tierGap says which tier the call needs and does not have; nil if it has it.
func (j *judgement) tierGap() *ledger.TierGap {
	need := trade.TierExecute
	switch {
	case j.checking || j.approved:
		return nil
	case j.proposing:
		need = trade.TierPropose
	}
	if j.call.Tier >= need {
		return nil
	}
	return &ledger.TierGap{Required: need, Current: j.call.Tier}
}

// explain adds to a denial what stopped the call beside the policy.
func (j *judgement) explain(d *ledger.Decision, r ledger.Ruling) {
	if r.Effect != policy.Deny {
		return
	}
	if gap := j.tierGap(); gap != nil {
		d.Error, d.Tier = "permission_denied", gap
		return
	}
	if stops := j.stops(j.g.follow.state); len(stops) > 0 {
		d.Error, d.Stops = "killswitch_active", stops
	}
}

// malformedOrigin names the first part of an origin that cannot be an id: ids are joined into index keys, so they hold no
// separator, and they are recorded as they are.
func malformedOrigin(o Origin) string {
	switch {
	case !originText(o.Tool):
		return "tool"
	case !originText(string(o.Session)):
		return "session"
	case !originText(string(o.Harness)):
		return "harness"
	case !originText(string(o.ToolCallID)):
		return "tool_call_id"
	case !originText(string(o.Agent)):
		return "agent"
	}
	return ""
}

func originText(s string) bool {
	if len(s) > maxOriginText || !utf8.ValidString(s) {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// cleanOrigin keeps a record small and readable whatever a caller sends; a call whose origin it changes is denied.
func cleanOrigin(o Origin) Origin {
	if malformedOrigin(o) == "" {
		return o
	}
	clean := func(s string) string { return trade.Printable(s, maxOriginText/4) } // at most four bytes a character
	return Origin{
		Agent: trade.Agent(clean(string(o.Agent))), Surface: o.Surface, Harness: trade.Harness(clean(string(o.Harness))),
		Session: trade.Session(clean(string(o.Session))), Tool: clean(o.Tool), ToolCallID: trade.ToolCallID(clean(string(o.ToolCallID))),
	}
}

func faultReasons(fs []trade.Fault) []policy.Reason {
	if len(fs) == 0 {
		return nil
	}
	rs := make([]policy.Reason, 0, len(fs)+2)
	for _, f := range fs {
		rs = append(rs, policy.Reason{Code: f.Code, Field: f.Field, Observed: f.Observed, Message: f.Message})
	}
	return rs
}

// inputOf keeps what is kept of arguments that are no order.
func inputOf(raw []byte) *ledger.Input {
	sum := sha256.Sum256(raw)
	head := strings.ToValidUTF8(string(raw[:min(len(raw), ledger.MaxInputHead)]), "\uFFFD")
	return &ledger.Input{Length: len(raw), SHA256: hex.EncodeToString(sum[:]), Head: head}
}
