package gate

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/trade"
)

// Policy returns the policy as it would judge a call made now.
func (g *Gate) Policy() PolicyView { return g.policy.view() }

// MaxAudit is the largest number of intents that Audit returns.
//
//limit:gate-audit-rows An audit listing has at most 200 intents.
const MaxAudit = 200

// Audit returns the newest intents, one decision each in its present state, newest first, at most limit.
func (g *Gate) Audit(ctx context.Context, limit int) ([]ledger.Decision, error) {
	found, err := g.Query(ctx, Query{Limit: min(max(limit, 1), MaxAudit)})
	return found.Decisions, err
}

// stillThere is the life of a process that was seen after what it recorded was read.
func stillThere(string) bool { return true }

// ended reports whether the process that was to send the order has ended. What it recorded before its end may be newer
// than what was read of it, so whoever finds this true reads again.
func (g *Gate) ended(d ledger.Decision) bool {
	return d.Waiting() && d.Pending.Instance != "" && !g.lease.alive(d.Pending.Instance)
}

// History returns one intent's decision as it stands and every event of it, oldest first; fs.ErrNotExist if there is no
// such intent.
func (g *Gate) History(ctx context.Context, id trade.IntentID) (ledger.Decision, []ledger.Entry, error) {
	d, entries, err := g.history(ctx, id)
	alive := stillThere
	if err == nil && g.ended(d) {
		d, entries, err = g.history(ctx, id)
		alive = g.lease.alive
	}
	return d.Present(g.cfg.Now(), alive), entries, err
}

func (g *Gate) history(ctx context.Context, id trade.IntentID) (ledger.Decision, []ledger.Entry, error) {
	var d ledger.Decision
	var entries []ledger.Entry
	from := id.Time()
	for r, err := range g.journal.At(ctx, from, from.Add(time.Millisecond-time.Microsecond)) {
		if err != nil {
			return d, nil, err
		}
		if !bytes.Contains(r.Body, []byte(id)) { // many may have been recorded in its millisecond
			continue
		}
		e, err := ledger.Decode(r.Body)
		if err != nil {
			return d, nil, fmt.Errorf("record %d: %w", r.Seq, err)
		}
		if first, ok := e.(ledger.Decided); ok && first.Intent == id {
			d = first.Decision(r.At)
			entries = append(entries, entryOf(r, e, d.State))
			break
		}
	}
	if d.Intent == "" {
		return d, nil, fmt.Errorf("there is no intent %s: %w", trade.Printable(string(id), 64), fs.ErrNotExist)
	}
	recs, err := g.journal.Find(ctx, journal.Key(ledger.IntentKey(id)))
	if err != nil {
		return d, nil, err
	}
	for _, r := range recs {
		e, err := ledger.Decode(r.Body)
		if err != nil {
			return d, nil, fmt.Errorf("record %d: %w", r.Seq, err)
		}
		if e.About() == id {
			d.Apply(e)
			entries = append(entries, entryOf(r, e, d.State))
		}
	}
	return d, entries, nil
}

func entryOf(r journal.Record, e ledger.Event, s ledger.AuditState) ledger.Entry {
	return ledger.Entry{
		Seq: uint64(r.Seq), At: r.At, State: s, Event: e.Kind(), Body: r.Body, Hash: hex.EncodeToString(r.Hash[:]),
	}
}

// Orders returns the orders that are open in the ledger, oldest first; a proposal is none until it is executed. It first takes in what the venue has to tell.
func (g *Gate) Orders(ctx context.Context) ([]WorkingOrder, error) {
	if err := g.Recover(ctx); err != nil {
		return nil, err
	}
	var all []WorkingOrder
	err := g.journal.Read(ctx, func() error {
		for _, o := range g.follow.state.Opens() {
			if o.Phase == ledger.OnHold || o.Phase == ledger.Granted {
				continue
			}
			w := WorkingOrder{
				Intent: o.Intent, ID: o.Intent.BrokerOrderID(), Order: o.Order, Agent: o.Origin.Agent, State: g.standing(o),
				Filled: o.Filled, At: o.At, Deadline: o.Pending.Deadline,
			}
			all = append(all, w)
		}
		return nil
	})
	return all, err
}

// Positions returns what the ledger knows, sorted by account and symbol. It first takes in what the venue has to tell.
func (g *Gate) Positions(ctx context.Context) ([]Position, error) {
	if err := g.Recover(ctx); err != nil {
		return nil, err
	}
	var all []Position
	err := g.journal.Read(ctx, func() error {
		for _, h := range g.follow.state.Holdings() {
			all = append(all, Position{h.Account, h.Symbol, h.Quantity, h.PendingBuys, h.PendingSells})
		}
		return nil
	})
	return all, err
}

// Holdings returns the broker's own view of the account.
func (g *Gate) Holdings(ctx context.Context) (Holdings, error) {
	if g.cfg.Broker == nil {
		return Holdings{}, errors.New("this process has no broker")
	}
	return g.cfg.Broker.Holdings(ctx)
}

// Head returns the journal's newest record.
func (g *Gate) Head(ctx context.Context) (journal.Head, error) { return g.journal.Head(ctx) }

// Newest returns the time of the newest record.
func (g *Gate) Newest(ctx context.Context) (time.Time, error) {
	for r, err := range g.journal.Backward(ctx) {
		return r.At, err
	}
	return time.Time{}, nil
}

// Verify walks the whole journal: the chain, the index and the snapshot. contains, if set, is an earlier head that must
// be part of it. The error is a *journal.Broken where a record is not what was recorded.
func (g *Gate) Verify(ctx context.Context, contains *journal.Head, progress func(done, total journal.Seq)) (journal.Head, error) {
	disk, err := g.onDisk()
	if err != nil {
		return journal.Head{}, err
	}
	head, err := disk.Verify(ctx, journal.Verification{Contains: contains, Keys: keysOf, Follower: newFollower(), Progress: progress})
	if err == nil && head.Seq == 0 {
		return head, &journal.Broken{Reason: "the journal is empty, and it is made with a first record"}
	}
	return head, err
}

// Ready reports why nothing could be recorded now; nil if it could. It takes the journal's lock and records nothing.
func (g *Gate) Ready(ctx context.Context) error {
	if err := g.lease.hold(); err != nil {
		return err
	}
	return g.journal.Update(ctx, func(*journal.Tx) error { return nil })
}

func keysOf(r journal.Record) ([]journal.Key, error) {
	e, err := ledger.Decode(r.Body)
	if err != nil {
		return nil, err
	}
	var keys []journal.Key
	for _, k := range ledger.Keys(e) {
		keys = append(keys, journal.Key(k))
	}
	return keys, nil
}

// Export hands every record to write, oldest first.
func (g *Gate) Export(ctx context.Context, write func(journal.Record) error) error {
	return g.Tail(ctx, 1, write)
}

// Backup copies the journal into a new file, safely while others write.
func (g *Gate) Backup(ctx context.Context, path string) error {
	disk, err := g.onDisk()
	if err != nil {
		return err
	}
	return disk.Backup(ctx, path)
}
