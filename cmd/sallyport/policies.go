package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

func policyCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "policy", Short: "Show, explain, test and compare policies", GroupID: groupKeep,
		Long: `The policy is the operator's file of limits, policy.json in the data directory
unless the configuration names another. No command and no tool edits it; an edit
of yours holds from the next order on. While it cannot be read, is not valid, or
could be written by somebody else, every order is denied.`,
		Example: "  sallyport policy show\n  sallyport policy validate draft.json\n  sallyport policy diff draft.json",
	}
	return parent(c, policyShowCommand(a), policyValidateCommand(a), policyHashCommand(a), policyDefaultCommand(a),
		policyExplainCommand(a), policyHeadroomCommand(a), policyTestCommand(a),
		policyDiffCommand(a), policyConvertCommand(a), policySchemaCommand(a))
}

// view reads the policy in force, here or at the daemon that is configured where there is no data directory here. Then
// the configuration names no file.
func (a *app) view(ctx context.Context) (v gate.PolicyView, cfg config, err error) {
	return a.viewAnd(ctx, func(opened) {})
}

// viewPrepared is view, and leaves on record that the policy is sound, so that processes which have no time to find that
// out believe it.
func (a *app) viewPrepared(ctx context.Context) (v gate.PolicyView, cfg config, err error) {
	return a.viewAnd(ctx, func(g opened) {
		if err := g.Prepare(ctx); err != nil {
			a.note("that the policy is sound could not be put on record, so a hook has to find it out: %s", plain(err))
		}
	})
}

func (a *app) viewAnd(ctx context.Context, and func(opened)) (v gate.PolicyView, cfg config, err error) {
	err = a.read(ctx, reading, func(f far) error {
		v = f.Policy()
		if v.Reason != nil && v.Reason.Code == policy.DaemonUnreachable {
			return (&problem{exit: exitInternal, what: reasonText(v.Reason), repair: "'sallyport serve' starts it."}).coded(v.Reason.Code)
		}
		return nil
	}, func(g opened, c config) error {
		v, cfg = g.Policy(), c
		and(g)
		return nil
	})
	return v, cfg, err
}

// inForce returns an error if the policy in force allows nothing.
func inForce(v gate.PolicyView, cfg config) error {
	if v.Reason == nil {
		return nil
	}
	return policyProblem(v, policyRepair(v.Reason, cfg.Policy))
}

// policyRepair says what helps where the policy in force allows nothing.
func policyRepair(r *policy.Reason, path string) string {
	switch {
	case path == "":
		return "The operator corrects it where the daemon runs; until then every order is denied."
	case r.Code == policy.PolicyInvalid:
		return "Correct " + showPath(path) + "; until then every order is denied."
	case r.Code == policy.PolicyTestsFail:
		return "'sallyport policy test " + showPath(path) + "' says which. Correct the rules or the tests; until then every order is denied."
	case !exists(path):
		return "Put a policy there; 'sallyport policy default' prints one. Until then every order is denied."
	}
	return ownRepair(path) + "; until then every order is denied."
}

// policyProblem says why a policy is not used.
func policyProblem(v gate.PolicyView, repair string) *problem {
	return finding(repair, "%s: %s", v.Reason.Code, policyText(v)).coded(v.Reason.Code)
}

// policyText says why a policy is not used: everything that is wrong with a file that is none, or the reason that there is.
func policyText(v gate.PolicyView) string {
	if len(v.Problems) > 0 {
		return notValid("the policy", v.Problems)
	}
	return plainText(trade.Printable(v.Reason.Message, 1<<20))
}

// notValid says what is wrong with a policy file, each thing on a line of its own.
func notValid(what string, problems []policy.Problem) string {
	text := what + " is not valid, so nothing is allowed:"
	for _, p := range problems {
		text += "\n  " + trade.Printable(p.String(), 1<<20)
	}
	return text
}

func policyShowCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "show", Short: "Print the policy in force", Args: exactly(0),
		Long: `Print the policy in force, byte for byte. Without a data directory here it asks the
configured daemon. Exit code 1 means that it allows nothing; one that only fails its
own tests is printed all the same.`,
		Example: "  sallyport policy show\n  sallyport policy show --json",
	}
	withJSON(a, c, "print one object: path, sha256 and the policy")
	return runs(c, func(ctx context.Context, _ []string) error {
		v, cfg, err := a.view(ctx)
		if err != nil {
			return err
		}
		if err := inForce(v, cfg); err != nil {
			if v.Reason.Code == policy.PolicyTestsFail && !a.json { // it can be read, and what fails is in it
				_, wrote := a.stdout.Write(v.Raw)
				return errors.Join(err, wrote)
			}
			return err
		}
		if !a.json {
			_, err := a.stdout.Write(v.Raw)
			return err
		}
		b := wire.AppendOptional([]byte{'{'}, "path", cfg.Policy)
		b = wire.AppendText(b, "sha256", v.SHA256)
		b = appendCompact(wire.AppendName(b, "policy"), policy.Plain(v.Raw))
		return a.printJSON(append(b, '}'))
	})
}

func policyValidateCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "validate [FILE|-]", SuggestFor: []string{"check", "verify"}, Short: "Say whether a policy is valid, and what is wrong with it", Args: between(0, 1),
		Long: `Say whether the policy in force is valid, or the one in FILE, a draft anywhere, or
with - on standard input. A file that the gate would refuse because of its owner
or mode is not valid. A policy that is valid and can allow nothing is warned of.

That the policy in force is sound, its bounds and its own tests, is left on record: a
hook, which has to answer at once, then need not find it out. After an edit of a large
policy of version 2 run this before the next order.

Exit code 0 means valid, 1 not valid.`,
		Example:           "  sallyport policy validate\n  sallyport policy validate draft.json",
		ValidArgsFunction: files,
	}
	withJSON(a, c, "print one object")
	return runs(c, func(ctx context.Context, args []string) error {
		d, err := a.draft(ctx, args)
		if err != nil {
			return err
		}
		v := d.view
		warnings := warningsOfRules(v)
		if a.json {
			b := append(wire.AppendName([]byte{'{'}, "valid"), trueOrFalse(v.Reason == nil)...)
			b = wire.AppendText(b, "path", d.path)
			b = wire.AppendOptional(b, "sha256", v.SHA256)
			if v.Reason != nil {
				b = wire.AppendText(b, "code", string(v.Reason.Code))
				b = wire.AppendText(b, "message", plainText(v.Reason.Message))
				b = wire.AppendText(b, "repair", d.repair)
				b = appendProblems(wire.AppendName(b, "problems"), v.Problems)
			}
			b = append(appendTexts(wire.AppendName(b, "warnings"), warnings), '}')
			return errors.Join(a.printJSON(b), resultIf(v.Reason != nil))
		}
		if v.Reason != nil {
			return policyProblem(v, d.repair)
		}
		a.printf("%s is valid.\nSHA-256 %s\n", showPath(d.path), v.SHA256)
		for _, w := range warnings {
			a.note("warning: %s", w)
		}
		return nil
	})
}

// resultIf ends a command with the exit code of a finding if there is one.
func resultIf(found bool) error {
	if found {
		return result(exitDenied)
	}
	return nil
}

func appendTexts(b []byte, texts []string) []byte {
	b = append(b, '[')
	for i, t := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendString(b, t)
	}
	return append(b, ']')
}

// warningsOf says what a valid policy can never allow, though nothing is wrong with how it is written.
func warningsOf(p *policy.Policy) (warnings []string) {
	if !p.IsValid() {
		return nil
	}
	buys, sells := slices.Contains(p.Sides(), trade.Buy), slices.Contains(p.Sides(), trade.Sell)
	if !slices.Contains(p.OrderTypes(), trade.Limit) {
		warnings = append(warnings, "it allows no order: order_type_allowlist does not have limit, and other orders are not taken in this version")
	}
	if p.MaxQuantity().Sign() == 0 {
		warnings = append(warnings, "it allows no order: max_quantity is zero")
	}
	if buys && p.MaxNotional().Sign() == 0 {
		warnings = append(warnings, "it allows no buy: max_gross_buy_notional_usd is zero")
	}
	if sells && (!buys || p.MaxNotional().Sign() == 0) {
		warnings = append(warnings, "it allows only sells, and a sell needs a position that is there already")
	}
	return warnings
}

// warningsOfRules says what a valid policy of either version can never allow or stop.
func warningsOfRules(v gate.PolicyView) []string {
	if v.Book != nil {
		return v.Book.Dormant()
	}
	return warningsOf(v.Policy)
}

// draft is a policy that is looked at, and where it lies.
type draft struct {
	view   gate.PolicyView
	path   string
	repair string // of what is wrong with it
}

// appendProblems appends problems as a list of objects; line and column are 0 where the file as a whole is meant.
func appendProblems(b []byte, problems []policy.Problem) []byte {
	b = append(b, '[')
	for i, p := range problems {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(wire.AppendName(append(b, '{'), "line"), int64(p.Line), 10)
		b = strconv.AppendInt(wire.AppendName(b, "column"), int64(p.Column), 10)
		b = wire.AppendOptional(b, "key", p.Key)
		b = append(wire.AppendText(b, "message", p.Message), '}')
	}
	return append(b, ']')
}

// draft reads the policy in FILE, on standard input, or the one in force.
func (a *app) draft(ctx context.Context, args []string) (draft, error) {
	if len(args) == 0 {
		v, cfg, err := a.viewPrepared(ctx)
		d := draft{view: v, path: cfg.Policy}
		if d.path == "" {
			d.path = "the policy of the daemon"
		}
		if v.Reason != nil {
			d.repair = policyRepair(v.Reason, cfg.Policy)
		}
		return d, err
	}
	in, err := a.installation()
	if err != nil {
		return draft{}, err
	}
	d := draft{path: args[0], repair: "Correct " + showPath(args[0]) + "."}
	var raw []byte
	var refused string
	if args[0] == "-" {
		d.path, d.repair = "standard input", "Correct it."
		raw, err = readLimited(interruptible(ctx, a.stdin), d.path)
	} else {
		raw, refused, err = readOwned(args[0])
	}
	switch {
	case refused != "":
		d.repair = ownRepair(args[0])
		d.view.Reason = &policy.Reason{Code: policy.PolicyUnreadable, Field: "policy", Message: "as it lies there the gate would refuse it: " + refused}
		return d, nil
	case err != nil:
		return d, usage("Name a policy file, or none for the policy in force.", "the policy cannot be read: %s", plain(err))
	}
	d.view = in.draft(a, raw)
	return d, nil
}

func hashOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

func policyHashCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "hash", Short: "Print the SHA-256 of the policy in force", Args: exactly(0),
		Long: `Print the SHA-256 of the bytes of the policy in force, as decisions carry it. Of a
policy that is not valid it is printed with a warning, and the exit code is 1.`,
		Example: "  sallyport policy hash",
	}
	withJSON(a, c, "print one object")
	return runs(c, func(ctx context.Context, _ []string) error {
		v, cfg, err := a.view(ctx)
		if err != nil {
			return err
		}
		if v.SHA256 == "" {
			return inForce(v, cfg)
		}
		if a.json {
			b := wire.AppendOptional([]byte{'{'}, "path", cfg.Policy)
			b = wire.AppendText(b, "sha256", v.SHA256)
			b = append(wire.AppendName(b, "valid"), trueOrFalse(v.Reason == nil)...)
			return errors.Join(a.printJSON(append(b, '}')), resultIf(v.Reason != nil))
		}
		a.printf("%s\n", v.SHA256)
		return inForce(v, cfg)
	})
}

func policyDefaultCommand(a *app) *cobra.Command {
	var version string
	c := &cobra.Command{
		Use: "default", Short: "Print the default policy, or one of version 2 to begin with", Args: exactly(0),
		Long: `Print the policy that a new data directory gets, to start a draft from, or to put
one back that is gone. With --version 2 print a policy of version 2 that uses every
key: leave out what you do not want, and set the bounds to your own. 'sallyport
policy convert' makes one that says what yours says.`,
		Example: "  sallyport policy default > draft.json\n  sallyport policy default --version 2 > draft.json",
	}
	c.Flags().StringVar(&version, "version", "1", "of version `N`: 1 or 2")
	completes(c, "version", words("1", "2"))
	return runs(c, func(context.Context, []string) error {
		raw, known := map[string][]byte{"1": policy.Default(), "2": policy.ExampleV2()}[version]
		if !known {
			return usage("Use 1 or 2.", "there is no version %q of the policy", show(version))
		}
		_, err := a.stdout.Write(raw)
		return err
	})
}

// exists reports whether there is something at a path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
