package main

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// The daemon's log tells what is recorded, by whichever process, each thing once and in the words of the record: what was
// decided, what people and the venue did about it, who may do what from now on. It holds no arguments of orders that are
// none, and no secret, since the record has none.

// entry is a line of the log.
type entry struct {
	level slog.Level
	what  string
	args  []any
}

func info(what string, args ...any) entry { return entry{slog.LevelInfo, what, args} }
func warn(what string, args ...any) entry { return entry{slog.LevelWarn, what, args} }

// begin leaves out of the log what is recorded already.
func (d *daemon) begin(ctx context.Context) error {
	head, err := d.gate.Head(ctx)
	d.told = head.Seq
	return err
}

// tellRecord tells what was recorded since it was called last.
func (d *daemon) tellRecord(ctx context.Context) {
	err := d.gate.Tail(ctx, d.told+1, func(r journal.Record) error {
		e, err := ledger.Decode(r.Body)
		if err != nil {
			return err
		}
		d.told = r.Seq
		if line := d.entryOf(e); line.what != "" {
			d.log.Log(ctx, line.level, line.what, append(line.args, "at", r.At.UTC().Format(time.RFC3339Nano))...)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		d.log.Error("what is recorded cannot be read", "cause", err)
	}
}

// tellPolicy tells when the policy is another one, or can no longer be used.
func (d *daemon) tellPolicy() {
	v := d.gate.Policy()
	now := v.SHA256
	if v.Reason != nil {
		now = v.Reason.Message
	}
	if now == d.policy {
		return
	}
	first := d.policy == ""
	d.policy = now
	switch {
	case v.Reason != nil:
		d.log.Error("the policy cannot be used, so every order is denied", "code", string(v.Reason.Code), "cause", printable(v.Reason.Message))
	case v.Book != nil:
		d.log.Info("a policy of version 2 is in force; each of its limits was seen to work", "policy_sha256", v.SHA256, "bounds", len(v.Book.Prove()))
	case !first:
		d.log.Info("another policy is in force", "policy_sha256", v.SHA256)
	}
}

// entryOf says what an event was; nothing of one that is told otherwise.
func (d *daemon) entryOf(e ledger.Event) entry {
	switch x := e.(type) {
	case ledger.Decided:
		return decidedEntry(x)
	case ledger.Rejudged:
		return rejudgedEntry(x)
	case ledger.Concluded:
		return concludedEntry(x)
	case ledger.Happened:
		return info("at the venue: "+x.What, "intent", string(x.Intent), "quantity", x.Quantity.String(), "symbol", x.Symbol.String(), "price", x.Price.String())
	case ledger.Flagged:
		return warn("flagged", "intent", string(x.Intent), "flag", x.Flag, "detail", printable(x.Detail))
	case ledger.Ran:
		return warn("an order that nothing allows was executed", "intent", string(x.Intent), "agent", string(x.Agent), "order", orderLine(x.Order))
	case ledger.CancelAsked:
		return info("a cancel was asked", "intent", string(x.Intent), "by", "agent:"+string(x.Origin.Agent), "surface", x.Origin.Surface)
	case ledger.CancelEnded:
		return info("a cancel was answered", "intent", string(x.Intent), "outcome", x.Outcome.String(), "message", printable(x.Message))
	case ledger.KillEngaged, ledger.KillReset:
		return d.stopEntry(x)
	}
	return peopleEntry(e)
}

// decidedEntry tells a decision: what was asked by whom, and why it is not allowed.
func decidedEntry(e ledger.Decided) entry {
	args := []any{"intent", string(e.Intent), "agent", string(e.Origin.Agent), "surface", e.Origin.Surface, "order", orderLine(e.Order)}
	switch {
	case e.Clears == ledger.ClearsApproval:
		return info("an order is proposed and held", append(args, "expires", e.Hold.Expires.UTC().Format(time.RFC3339), "approvers", e.Hold.Approvers, "codes", codesOf(e.Ruling))...)
	case e.Ruling.Effect == policy.Deny:
		return info("an order is denied", append(args, "codes", codesOf(e.Ruling))...)
	case e.Clears == ledger.ClearsPermission:
		return info("an order is permitted", args...)
	}
	return info("an order is allowed and sent", args...)
}

func rejudgedEntry(e ledger.Rejudged) entry {
	args := []any{"intent", string(e.Intent), "agent", string(e.Origin.Agent), "surface", e.Origin.Surface}
	if e.Ruling.Effect != policy.Allow {
		return warn("an order is denied when it is judged again", append(args, "codes", codesOf(e.Ruling))...)
	}
	return info("an order is allowed when it is judged again", args...)
}

func codesOf(r ledger.Ruling) string {
	var codes []string
	for i := range r.Reasons {
		codes = append(codes, string(r.Reasons[i].Code))
	}
	return strings.Join(codes, " ")
}

func concludedEntry(e ledger.Concluded) entry {
	args := []any{"intent", string(e.Intent), "source", string(e.Source), "order_id", e.OrderID}
	switch e.Outcome {
	case trade.Accepted:
		return info("an order is accepted", args...)
	case trade.Rejected:
		return warn("an order is rejected", append(args, "code", e.Code, "message", printable(e.Message))...)
	case trade.Unknown:
	}
	return entry{slog.LevelError, "whether an order was executed is not known", append(args, "message", printable(e.Message))}
}

// stopEntry tells a stop, unless it was told before it was on record.
func (d *daemon) stopEntry(e ledger.Event) entry {
	switch x := e.(type) {
	case ledger.KillEngaged:
		if !d.toldStop[x.Scope] {
			d.toldStop[x.Scope] = true
			return stopEngaged(ledger.Stop{Scope: x.Scope, By: x.By, Reason: x.Reason})
		}
	case ledger.KillReset:
		delete(d.toldStop, x.Scope)
		return warn("the kill switch is reset", "scope", x.Scope.String(), "by", x.By, "reason", printable(x.Reason))
	}
	return entry{}
}

func stopEngaged(s ledger.Stop) entry {
	return warn("the kill switch is engaged", "scope", s.Scope.String(), "by", s.By, "reason", printable(s.Reason))
}

// peopleEntry tells what people did, what was refused to whom, and who may do what.
func peopleEntry(e ledger.Event) entry {
	switch x := e.(type) {
	case ledger.Approved:
		return info("a proposal is approved", "intent", string(x.Intent), "by", "person:"+x.Person, "channel", x.Channel)
	case ledger.ProposalEnded:
		return info("a proposal has ended", "intent", string(x.Intent), "state", string(x.State), "by", x.By, "channel", x.Channel, "reason", printable(x.Reason))
	case ledger.AttemptRefused:
		if x.Channel == channelHTTP && (x.Code == policy.PersonUnknown || x.Code == policy.TokenUnknown) {
			return entry{} // the listener has told that somebody was not let in
		}
		return warn("an attempt is refused", "action", x.Action, "intent", string(x.Intent), "by", x.By, "channel", x.Channel, "code", string(x.Code))
	case ledger.PersonSet:
		return info("a person is listed", "person", x.Person.Name, "owner", x.Person.Owner, "approver", x.Person.Approver, "by", x.By)
	case ledger.PersonRemoved:
		return info("a person is removed", "person", x.Name, "by", x.By)
	case ledger.GrantSet:
		return info("an agent has a token", "agent", string(x.Grant.Agent), "tier", x.Grant.Tier.String(), "by", x.By)
	case ledger.GrantRemoved:
		return info("an agent's token is ended", "agent", string(x.Agent), "by", x.By)
	}
	return entry{}
}

// channelHTTP is how those come whom the listeners let in.
const channelHTTP = "http"
