package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

func demoCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "demo", Short: "See orders decided, executed, blocked and recorded, in a few seconds", GroupID: groupStart, Args: exactly(0),
		Long: `Play six acts with the real code in a temporary directory, without the network:
ten guarded calls, of which two execute on paper. Every claim is checked as it is
made; exit code 3 means that one of them did not hold.`,
		Example: "  sallyport demo",
	}
	return runs(c, func(ctx context.Context, _ []string) error {
		dir, err := os.MkdirTemp("", "sallyport-demo-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		d := &demo{app: a, home: filepath.Join(dir, "home"), paint: a.color()}
		start := a.now()
		if err := d.play(ctx); err != nil {
			return fmt.Errorf("the demo stopped: %w", err)
		}
		d.say("\n%s\n", d.paint.bold("Every claim above was checked as it was made, in "+a.now().Sub(start).Round(10*time.Millisecond).String()+"."))
		d.say("%s", liveText)
		return nil
	})
}

// liveText says how to see the same with a real agent.
const liveText = `The directory of this demo is gone. To see the same with your own agent:

  sallyport init --quotes-sample             make ~/.sallyport; edit its policy
  claude mcp add sallyport -e SALLYPORT_TIER=2 -- sallyport mcp
  codex mcp add sallyport --env SALLYPORT_TIER=2 -- sallyport mcp
  sallyport hook print claude                guard other servers' tools too
  sallyport doctor                           see that all of it is armed

Ask the agent to buy 10 shares of AAPL at 150.00 with the tools of sallyport,
then 250 shares, and look at 'sallyport audit list'.
`

// demo plays the six acts.
type demo struct {
	app   *app
	home  string
	paint paint
	gate  opened
	calls []ledger.Decision // every decision, in order
}

func (d *demo) say(format string, args ...any) { d.app.printf(format, args...) }

// claim stops the demo where what it says is not so.
func claim(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf("this claim did not hold: "+format, args...)
}

func (d *demo) play(ctx context.Context) (err error) {
	if err := gate.PrepareHome(d.home, true); err != nil {
		return err
	}
	cfg := defaultConfig(d.home)
	if _, err := writeSample(cfg.Quotes); err != nil {
		return err
	}
	if d.gate, err = d.app.wire(ctx, trading, d.home, cfg); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.gate.Close()) }()
	d.say("%s\n%s\n", d.paint.bold("Sallyport: the agent proposes, the gate decides by your policy."),
		"Paper money, the real code, no network.")
	d.showPolicy()
	for i, act := range d.acts() {
		d.say("\n%s\n%s", d.paint.bold(fmt.Sprintf("Act %d  %s", i+1, act.title)), indent("", act.story))
		if err := act.play(ctx); err != nil {
			return fmt.Errorf("act %d: %w", i+1, err)
		}
	}
	return nil
}

// act is one part of the demo.
type act struct {
	title, story string
	play         func(context.Context) error
}

func (d *demo) acts() []act {
	return []act{
		{"A compliant order executes", "It is within every limit, so it is recorded, sent to the paper venue and filled.", d.compliant},
		{"Too much money is blocked", "100 shares are fine; 15000 dollars are not.", d.notional},
		{"Too many shares are blocked", "7500 dollars are fine; 250 shares are not.", d.quantity},
		{"Another broker's schema meets the same policy", "Other field names make the same canonical order; every reason is told at once.", d.otherSchema},
		{"Garbage, and a broken policy, are refused", "Nothing is repaired or guessed, and without a valid policy nothing is allowed.", d.garbage},
		{"The record closes the case", "Every call was recorded before anything acted on it.", d.record},
	}
}

func (d *demo) showPolicy() {
	p := d.gate.Policy().Policy
	var symbols, sides []string
	for _, s := range p.Symbols() {
		symbols = append(symbols, s.String())
	}
	for _, s := range p.Sides() {
		sides = append(sides, s.String())
	}
	d.say("\nThe operator's policy:\n%s", table([][]string{
		{"  dollars a buy", "at most " + p.MaxNotional().Money()},
		{"  shares an order", "at most " + p.MaxQuantity().String()},
		{"  symbols", strings.Join(symbols, ", ")},
		{"  order types", "limit"},
		{"  sides", strings.Join(sides, ", ")},
	}))
}

// call sends the arguments of one tool call through the gate, as an agent would, and shows what came of it.
func (d *demo) call(ctx context.Context, tool, args string) (ledger.Decision, error) {
	t, err := findTool(tool, toolNames())
	if err != nil {
		return ledger.Decision{}, err
	}
	id := trade.ToolCallID(fmt.Sprintf("call_%d", len(d.calls)+1))
	o := gate.Origin{Agent: "demo", Surface: "cli", Harness: "demo", Session: "demo", Tool: tool, ToolCallID: id}
	c := callOf(t, []byte(args), o)
	c.Tier = trade.TierExecute
	r := d.gate.Execute(ctx, c)
	d.calls = append(d.calls, r)
	const margin = "          "
	d.say("\n  %-7s %s\n%s", fmt.Sprintf("call %d", len(d.calls)), tool, d.paint.dim(indent(margin, strings.ReplaceAll(args, `,"`, `, "`))))
	text := orderLine(r.Order)
	if r.Filled.Sign() > 0 {
		text += fmt.Sprintf("; filled %s at %s", r.Filled, r.FillPrice.Money())
	}
	d.say("%s%s  %s\n", margin, d.paint.bold(d.paint.verdict(r, headline(r))), text)
	for i := range r.Reasons {
		reason := indent(margin+"  ", string(r.Reasons[i].Code)+": "+printable(r.Reasons[i].Message))
		d.say("%s- %s", margin, strings.TrimPrefix(reason, margin+"  "))
	}
	return r, nil
}

// executes plays a call that must execute and fill.
func (d *demo) executes(ctx context.Context, tool, args string) error {
	r, err := d.call(ctx, tool, args)
	if err != nil {
		return err
	}
	return claim(r.Verdict == policy.Allow && r.State == ledger.Succeeded && r.Filled.Cmp(r.Order.Quantity()) == 0,
		"call %d executes; it is %s", len(d.calls), r.State)
}

// blocked plays a call that must be denied for exactly these reasons.
func (d *demo) blocked(ctx context.Context, tool, args string, want ...trade.Code) error {
	r, err := d.call(ctx, tool, args)
	if err != nil {
		return err
	}
	var got []trade.Code
	for i := range r.Reasons {
		got = append(got, r.Reasons[i].Code)
	}
	slices.Sort(got)
	slices.Sort(want)
	return claim(r.Verdict == policy.Deny && r.State == ledger.Blocked && slices.Equal(got, want),
		"call %d is blocked for %v; it is %s for %v", len(d.calls), want, r.State, got)
}

const (
	toolA = "paper_place_order_a"
	toolB = "paper_place_order_b"
	buy10 = `{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"limit","limit_price":"150.00"}`
)

func (d *demo) compliant(ctx context.Context) error { return d.executes(ctx, toolA, buy10) }

func (d *demo) notional(ctx context.Context) error {
	return d.blocked(ctx, toolA, `{"symbol":"AAPL","side":"buy","quantity":"100","order_type":"limit","limit_price":"150.00"}`,
		policy.NotionalExceedsLimit)
}

func (d *demo) quantity(ctx context.Context) error {
	return d.blocked(ctx, toolA, `{"symbol":"AAPL","side":"buy","quantity":"250","order_type":"limit","limit_price":"30.00"}`,
		policy.QuantityExceedsLimit)
}

func (d *demo) otherSchema(ctx context.Context) error {
	return errors.Join(
		d.blocked(ctx, toolB, `{"ticker":"TSLA","direction":"buy","qty":"250","order_type":"limit","price":"300.00"}`,
			policy.NotionalExceedsLimit, policy.QuantityExceedsLimit, policy.SymbolNotAllowed),
		d.executes(ctx, toolB, `{"ticker":"MSFT","direction":"buy","qty":"5","order_type":"limit","price":"412.00"}`),
	)
}

func (d *demo) garbage(ctx context.Context) error {
	err := errors.Join(
		d.blocked(ctx, toolA, `{"symbol":"AAPL","side":"buy","quantity":"10","quantity":"9999","order_type":"limit","limit_price":"150.00"}`,
			trade.FieldDuplicate),
		d.blocked(ctx, toolA, `{"symbol":"AAPL","side":"buy","quantity":1e3,"order_type":"mkt","limit_price":true}`,
			trade.QuantityMalformed, trade.OrderTypeUnknown, trade.FieldTypeWrong),
		d.blocked(ctx, toolA, `buy ten apples please`, trade.JSONMalformed),
		d.blocked(ctx, toolB, `{"ticker":"АAPL","direction":"buy","qty":"10","order_type":"limit","price":"150.00"}`, trade.SymbolMalformed),
	)
	if err != nil {
		return err
	}
	path := filepath.Join(d.home, gate.PolicyName)
	good := d.gate.Policy().Raw
	d.say("\n  The operator's policy file now says \"max_quantity\":\"lots\".\n")
	broken := bytes.Replace(good, []byte(`200`), []byte(`"lots"`), 1)
	if err := os.WriteFile(path, broken, privateMode); err != nil {
		return err
	}
	err = d.blocked(ctx, toolA, buy10, policy.PolicyInvalid)
	return errors.Join(err, os.WriteFile(path, good, privateMode))
}

// record reads back what the ten calls left behind, and tries to falsify it.
func (d *demo) record(ctx context.Context) error {
	rows, err := d.gate.Audit(ctx, 200)
	if err != nil {
		return err
	}
	states := map[ledger.AuditState]int{}
	for _, r := range rows {
		states[r.State]++
	}
	d.say("\n  %d guarded calls, one row each in the audit trail: %d executed, %d blocked.\n",
		len(rows), states[ledger.Succeeded], states[ledger.Blocked])
	if err := claim(len(d.calls) == 10 && len(rows) == 10 && states[ledger.Succeeded] == 2 && states[ledger.Blocked] == 8,
		"ten calls, two executions: %d calls, %d rows, %v", len(d.calls), len(rows), states); err != nil {
		return err
	}
	for i, r := range rows { // newest first
		if r.Intent != d.calls[len(d.calls)-1-i].Intent {
			return claim(false, "the trail holds the ten decisions in their order")
		}
	}
	orders, err := d.gate.venue.Rows(ctx, 0, 100)
	if err != nil {
		return err
	}
	if err := claim(len(orders) == 2, "two rows in paper_ledger: %d", len(orders)); err != nil {
		return err
	}
	d.say("  %d rows in paper_ledger, the venue's own book:\n", len(orders))
	for _, o := range orders {
		d.say("    %s  %s %s %s, filled at %s\n", o.OrderID, o.Side, o.Quantity, o.Symbol, o.FilledPrice.Money())
	}
	head, err := d.gate.Verify(ctx, nil, nil)
	if err != nil {
		return err
	}
	d.say("  The hash chain holds over all %d records.\n", head.Seq)
	return d.falsify(ctx)
}

// falsify changes one number in a copy of the journal and has it found.
func (d *demo) falsify(ctx context.Context) error {
	copied := filepath.Join(filepath.Dir(d.home), "copy")
	if err := gate.PrepareHome(copied, true); err != nil {
		return err
	}
	file := filepath.Join(copied, gate.JournalName)
	if err := d.gate.Backup(ctx, file); err != nil {
		return err
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	forged := bytes.ReplaceAll(raw, []byte(`"limit_price":"150.00"`), []byte(`"limit_price":"140.00"`))
	if err := errors.Join(claim(!bytes.Equal(raw, forged), "the order's price stands in the copy"), os.WriteFile(file, forged, privateMode)); err != nil {
		return err
	}
	v := d.app.verify(ctx, copied, defaultConfig(copied), nil, nil)
	if err := claim(v.broken != nil, "a price changed in a copy is found: %v", v.err); err != nil {
		return err
	}
	d.say("  In a copy, 150.00 was changed to 140.00: record %d is named as the first\n  that is not as it was recorded.\n", v.broken.Seq)
	return nil
}
