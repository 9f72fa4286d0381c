package ledger

import (
	"strconv"
	"time"

	"sallyport/trade"
	"sallyport/wire"
)

// The events below are those of people in control: stops, approvals, and who may do what.

// KillEngaged and KillReset set the latched switch of one scope. A journal begins with a reset of everything; without
// one the switch is engaged.
type KillEngaged struct {
	Scope      Scope
	By, Reason string
	Keep       bool // orders that work already are left as they are
	All        bool // the exits that protect positions are cancelled as well
}

// KillReset is a person's, or the making of the journal. It resets its own scope and no other.
type KillReset struct {
	Scope      Scope
	By, Reason string
}

// Hold says how a held intent waits for people.
type Hold struct {
	Expires   time.Time     // strictly before it both the last approval and the send
	Within    time.Duration // from the last approval to the send
	Approvers int           // how many different persons must approve
	Permits   bool          // somebody else makes the call once it is approved
	Shown     Mark          // the quote that the people are shown, where the policy bounds how far it may move; zero: none
}

// Approved is one person's approval of exactly one digest.
type Approved struct {
	Intent  trade.IntentID
	Digest  trade.Digest
	Person  string
	Channel string
	Lapses  time.Time // when the approval is used up by time; zero while another person is still needed
	Needs   int       // how many different persons must approve, where the judgement says more than when it was proposed; else zero
}

// ProposalEnded ends a held intent without execution.
type ProposalEnded struct {
	Intent  trade.IntentID
	State   AuditState // ApprovalDeclined, ApprovalWithdrawn or ApprovalExpired
	By      string
	Channel string
	Reason  string
}

// AttemptRefused is what somebody tried and could not do. It changes nothing.
type AttemptRefused struct {
	Intent  trade.IntentID // that it was about, if any
	Action  string         // approve, decline, withdraw, execute, reset, authenticate and the like
	By      string         // as far as it is known
	Channel string
	Code    trade.Code
	Message string
}

// Person is somebody who is known by a credential of his own.
type Person struct {
	Name     string
	Owner    bool
	Approver bool
	Telegram int64  // the user id there; 0 for none
	Hash     string // SHA-256 of the credential, 64 hexadecimal digits
}

// Grant is what an agent's token is good for.
type Grant struct {
	Agent trade.Agent
	Tier  trade.Tier // at most
	Hash  string     // SHA-256 of the token, 64 hexadecimal digits
}

// PersonSet adds a person, or gives him other rights or a new credential.
type PersonSet struct {
	Person Person
	By     string
}

// PersonRemoved ends a person's rights.
type PersonRemoved struct{ Name, By string }

// GrantSet adds an agent's token, or replaces it.
type GrantSet struct {
	Grant Grant
	By    string
}

// GrantRemoved ends an agent's token.
type GrantRemoved struct {
	Agent trade.Agent
	By    string
}

// DaemonOwned says that a daemon has owned the data directory: nobody else decides in it from then on.
type DaemonOwned struct{ By string }

// Kind implements Event.
func (KillEngaged) Kind() string    { return "kill_engaged" }
func (KillReset) Kind() string      { return "kill_reset" }
func (Approved) Kind() string       { return "approved" }
func (ProposalEnded) Kind() string  { return "proposal_ended" }
func (AttemptRefused) Kind() string { return "attempt_refused" }
func (PersonSet) Kind() string      { return "person_set" }
func (PersonRemoved) Kind() string  { return "person_removed" }
func (GrantSet) Kind() string       { return "grant_set" }
func (GrantRemoved) Kind() string   { return "grant_removed" }
func (DaemonOwned) Kind() string    { return "daemon_owned" }

// About implements Event.
func (KillEngaged) About() trade.IntentID      { return "" }
func (KillReset) About() trade.IntentID        { return "" }
func (e Approved) About() trade.IntentID       { return e.Intent }
func (e ProposalEnded) About() trade.IntentID  { return e.Intent }
func (e AttemptRefused) About() trade.IntentID { return e.Intent }
func (PersonSet) About() trade.IntentID        { return "" }
func (PersonRemoved) About() trade.IntentID    { return "" }
func (GrantSet) About() trade.IntentID         { return "" }
func (GrantRemoved) About() trade.IntentID     { return "" }
func (DaemonOwned) About() trade.IntentID      { return "" }

func (e KillEngaged) append(dst []byte) []byte {
	return appendFlag(appendFlag(appendKill(dst, e.Scope, e.By, e.Reason), "keep", e.Keep), "all", e.All)
}
func (e KillReset) append(dst []byte) []byte { return appendKill(dst, e.Scope, e.By, e.Reason) }

func appendKill(dst []byte, scope Scope, by, reason string) []byte {
	if scope.Kind != Everything {
		dst = wire.AppendText(dst, "scope", scope.String())
	}
	return wire.AppendText(wire.AppendText(dst, "by", by), "reason", reason)
}

func (e Approved) append(dst []byte) []byte {
	dst = wire.AppendText(dst, "digest", e.Digest.String())
	dst = wire.AppendText(dst, "person", e.Person)
	dst = wire.AppendText(dst, "channel", e.Channel)
	if !e.Lapses.IsZero() {
		dst = appendTime(dst, "lapses_at", e.Lapses)
	}
	if e.Needs > 0 {
		dst = strconv.AppendInt(wire.AppendName(dst, "approvers"), int64(e.Needs), 10)
	}
	return dst
}

func (e ProposalEnded) append(dst []byte) []byte {
	dst = wire.AppendText(wire.AppendText(dst, "state", string(e.State)), "by", e.By)
	return wire.AppendOptional(wire.AppendOptional(dst, "channel", e.Channel), "reason", e.Reason)
}

func (e AttemptRefused) append(dst []byte) []byte {
	dst = wire.AppendText(wire.AppendText(dst, "action", e.Action), "by", e.By)
	dst = wire.AppendOptional(dst, "channel", e.Channel)
	return wire.AppendOptional(wire.AppendText(dst, "code", string(e.Code)), "message", e.Message)
}

func (e PersonSet) append(dst []byte) []byte {
	return wire.AppendText(e.Person.append(dst), "by", e.By)
}

func (p Person) append(dst []byte) []byte {
	dst = wire.AppendText(dst, "name", p.Name)
	dst = appendFlag(appendFlag(dst, "owner", p.Owner), "approver", p.Approver)
	if p.Telegram != 0 {
		dst = wire.AppendText(dst, "telegram", strconv.FormatInt(p.Telegram, 10))
	}
	return wire.AppendText(dst, "hash", p.Hash)
}

func (e PersonRemoved) append(dst []byte) []byte {
	return wire.AppendText(wire.AppendText(dst, "name", e.Name), "by", e.By)
}

func (e GrantSet) append(dst []byte) []byte { return wire.AppendText(e.Grant.append(dst), "by", e.By) }

func (g Grant) append(dst []byte) []byte {
	dst = wire.AppendText(wire.AppendText(dst, "agent", string(g.Agent)), "tier", g.Tier.String())
	return wire.AppendText(dst, "hash", g.Hash)
}

func (e GrantRemoved) append(dst []byte) []byte {
	return wire.AppendText(wire.AppendText(dst, "agent", string(e.Agent)), "by", e.By)
}

func (e DaemonOwned) append(dst []byte) []byte { return wire.AppendText(dst, "by", e.By) }

func appendFlag(dst []byte, name string, set bool) []byte {
	if !set {
		return dst
	}
	return append(wire.AppendName(dst, name), "true"...)
}

func appendHold(dst []byte, h Hold) []byte {
	dst = appendTime(dst, "expires_at", h.Expires)
	dst = strconv.AppendInt(wire.AppendName(dst, "within_ms"), h.Within.Milliseconds(), 10)
	dst = strconv.AppendInt(wire.AppendName(dst, "approvers"), int64(h.Approvers), 10)
	dst = appendFlag(dst, "permits", h.Permits)
	if h.Shown == (Mark{}) {
		return dst
	}
	return appendDecimal(appendDecimal(dst, "shown_bid", h.Shown.Bid), "shown_ask", h.Shown.Ask)
}

// decodeControl reads the events of people in control.
func decodeControl(o *object, kind string) (Event, bool) {
	switch kind {
	case "kill_engaged":
		return KillEngaged{Scope: o.scope(), By: o.text("by"), Reason: o.text("reason"), Keep: o.flag("keep"), All: o.flag("all")}, true
	case "kill_reset":
		return KillReset{Scope: o.scope(), By: o.text("by"), Reason: o.text("reason")}, true
	case "approved":
		return Approved{
			Intent: o.intent(), Digest: o.digest("digest"), Person: o.text("person"), Channel: o.text("channel"),
			Lapses: o.optionalTime("lapses_at"), Needs: int(o.optionalNumber("approvers")),
		}, true
	case "proposal_ended":
		e := ProposalEnded{
			Intent: o.intent(), State: AuditState(o.text("state")), By: o.text("by"), Channel: o.optional("channel"),
			Reason: o.optional("reason"),
		}
		if e.State != ApprovalDeclined && e.State != ApprovalWithdrawn && e.State != ApprovalExpired {
			o.fail(errState)
		}
		return e, true
	case "attempt_refused":
		e := AttemptRefused{
			Action: o.text("action"), By: o.text("by"), Channel: o.optional("channel"), Code: trade.Code(o.text("code")),
			Message: o.optional("message"),
		}
		if o.optional("intent") != "" {
			e.Intent = o.intent()
		}
		return e, true
	case "person_set":
		return PersonSet{Person: o.person(), By: o.text("by")}, true
	case "person_removed":
		return PersonRemoved{Name: o.text("name"), By: o.text("by")}, true
	case "grant_set":
		return GrantSet{Grant: o.grant(), By: o.text("by")}, true
	case "grant_removed":
		return GrantRemoved{Agent: trade.Agent(o.text("agent")), By: o.text("by")}, true
	case "daemon_owned":
		return DaemonOwned{By: o.text("by")}, true
	}
	return nil, false
}
