package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

func auditCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "audit", SuggestFor: []string{"log", "history"}, Short: "Read, verify, export and settle the record of every decision", GroupID: groupKeep,
		Long: `Every guarded order call is on record, whatever came of it, in a chain of hashes:
whoever changes, removes or inserts a record breaks it. Keep a head elsewhere to
notice also a chain that was cut or made anew.`,
		Example: `  sallyport audit list --limit 50
  sallyport audit verify
  sallyport audit head > head.txt
  sallyport audit verify --head "$(cat head.txt)"`,
	}
	return parent(c, auditListCommand(a), auditShowCommand(a), auditVerifyCommand(a), auditHeadCommand(a),
		auditResolveCommand(a), auditSettleCommand(a), auditExportCommand(a))
}

func auditListCommand(a *app) *cobra.Command {
	var limit uint
	c := &cobra.Command{
		Use: "list", Short: "List the newest intents, newest first, one row each", Args: exactly(0),
		Long: `List the newest intents, newest first, one row each: where the order stands, or
the first reason why it was blocked. Times are UTC. The states are sending,
working, partial, filled, cancelled, expired, rejected, unknown, blocked; for what
waits or waited for a person held, approved, declined, withdrawn, lapsed; permitted
is an order that a hook let its harness make, and accepted one whose fills nobody
tells us. Without a data directory here it asks the configured daemon: an agent
sees its own.`,
		Example: "  sallyport audit list --limit 50\n  sallyport audit list --json | jq -r .state",
	}
	c.Flags().UintVar(&limit, "limit", 20, fmt.Sprintf("show at most `N` intents, 1 to %d", gate.MaxAudit))
	withJSON(a, c, "print one decision object a line")
	return runs(c, func(ctx context.Context, _ []string) error {
		if limit < 1 || limit > gate.MaxAudit {
			return usage("'sallyport audit export' has all of them.", "--limit %d is not between 1 and %d", limit, gate.MaxAudit)
		}
		ds, err := a.newest(ctx, int(limit))
		if err != nil {
			return err
		}
		return a.printLines(func(w *bufio.Writer) error {
			if a.json {
				for _, d := range ds {
					w.Write(append(d.AppendJSON(nil), '\n'))
				}
				return nil
			}
			if len(ds) == 0 {
				w.WriteString("Nothing is on record yet.\n")
				return nil
			}
			w.WriteString(describeList(ds))
			return nil
		})
	})
}

// newest reads the data directory, or asks the daemon that is configured where there is none here.
func (a *app) newest(ctx context.Context, limit int) (all []ledger.Decision, err error) {
	err = a.read(ctx, reading, func(f far) error {
		found, err := f.Query(ctx, gate.Query{Limit: limit})
		all = found.Decisions
		return err
	}, func(g opened, _ config) error {
		all, err = g.Audit(ctx, limit)
		return err
	})
	return all, err
}

// describeList shows intents in rows: when, which, where it stands, and what was asked.
func describeList(ds []ledger.Decision) string {
	rows := [][]string{{timeHeader, "INTENT", "STATE", "ORDER"}}
	for _, d := range ds {
		rows = append(rows, []string{clock(d.At), string(d.Intent), stateWord(d), auditLine(d)})
	}
	return table(rows)
}

// codeRoom is how much of a code fits into the last column of a list, whatever stands in the others.
const codeRoom = width - len("2006-01-02 15:04  01KB9Y2V6T3M8Q4W5X7Z0A1B2C  cancelled  ")

// auditLine says in parts what was asked; the reason that denied it; what is held against it; and by whom,
// if it was not our default agent.
func auditLine(d ledger.Decision) string {
	var parts []string
	denied := d.Verdict == policy.Deny && len(d.Reasons) > 0
	if !d.Order.IsZero() || !denied {
		parts = append(parts, orderLine(d.Order))
	}
	if denied {
		parts = append(parts, clip(string(policy.Decisive(d.Reasons).Code), codeRoom))
	}
	for _, f := range d.Flags {
		parts = append(parts, clip(f, codeRoom))
	}
	return strings.Join(append(parts, agentPart(d.Agent)...), "\n")
}

// agentPart names an agent that is not our default one.
func agentPart(a trade.Agent) []string {
	if a == "local" {
		return nil
	}
	return []string{clip("agent "+show(string(a)), codeRoom)}
}

// intentArgument reads the id of an intent from the command line.
func intentArgument(s string) (trade.IntentID, error) {
	id, ok := trade.ParseIntentID(strings.ToUpper(s))
	if !ok {
		return "", usage("'sallyport audit list' shows the ids.", "%q is not the id of an intent: 26 letters and digits", show(s))
	}
	return id, nil
}

// notFound classifies the error of a command about one intent.
func notFound(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return finding("'sallyport audit list' shows the intents on record.", "%s", plain(err))
	}
	return err
}

func auditShowCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "show ID", Short: "Show one intent: its decision and every event of it", Args: exactly(1),
		Long: `Show the decision on one intent as it stands, and every event of it, oldest first,
with the hash of its record. Without a data directory here it asks the configured
daemon, which tells an agent of its own intents, and not of their events.`,
		Example:           "  sallyport audit show 01KB9Y2V6T3M8Q4W5X7Z0A1B2C",
		ValidArgsFunction: a.intents(func(ledger.Decision) bool { return true }),
	}
	withJSON(a, c, "print one object: the decision and its events")
	return runs(c, func(ctx context.Context, args []string) error {
		id, err := intentArgument(args[0])
		if err != nil {
			return err
		}
		var d ledger.Decision
		var events []ledger.Entry
		err = a.read(ctx, reading, func(f far) (err error) {
			d, events, err = f.History(ctx, id)
			return err
		}, func(g opened, _ config) (err error) {
			d, events, err = g.History(ctx, id)
			return notFound(err)
		})
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(appendHistory(nil, d, events))
		}
		return a.printLines(func(w *bufio.Writer) error {
			w.WriteString(describeHistory(d, events, a.color()))
			return nil
		})
	})
}

func appendHistory(b []byte, d ledger.Decision, events []ledger.Entry) []byte {
	b = d.AppendJSON(wire.AppendName(append(b, '{'), "decision"))
	b = append(wire.AppendName(b, "events"), '[')
	for i, e := range events {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(wire.AppendName(append(b, '{'), "seq"), uintText(e.Seq)...)
		b = wire.AppendText(b, "at", e.At.UTC().Format(ledger.TimeFormat))
		b = wire.AppendText(b, "event", e.Event)
		b = wire.AppendText(b, "state", string(e.State))
		if len(e.Body) > 0 { // a daemon elsewhere does not send it
			b = append(wire.AppendName(b, "body"), e.Body...)
		}
		b = append(wire.AppendText(b, "hash", e.Hash), '}')
	}
	return append(b, "]}"...)
}
