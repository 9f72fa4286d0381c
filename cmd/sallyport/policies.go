package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/policy"
	"sallyport/wire"
)

func policyCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "policy", Short: "Show, validate or hash the policy", GroupID: groupKeep,
		Long: `The policy is the operator's file of limits, policy.json in the data directory
unless the configuration names another. No command and no tool edits it; an edit
of yours holds from the next order on. While it cannot be read, is not valid, or
could be written by somebody else, every order is denied.`,
		Example: "  sallyport policy show\n  sallyport policy validate draft.json",
	}
	return parent(c, policyShowCommand(a), policyValidateCommand(a), policyHashCommand(a))
}

// view reads the policy in force.
func (a *app) view(ctx context.Context) (gate.PolicyView, config, error) {
	g, cfg, err := a.openGate(ctx, reading)
	if err != nil {
		return gate.PolicyView{}, cfg, err
	}
	defer g.Close()
	return g.Policy(), cfg, nil
}

// inForce returns an error if the policy in force allows nothing.
func inForce(v gate.PolicyView, cfg config) error {
	if v.Reason == nil {
		return nil
	}
	repair := "Correct " + showPath(cfg.Policy) + "; until then every order is denied."
	return finding(repair, "%s: %s", v.Reason.Code, printable(v.Reason.Message))
}

func policyShowCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "show", Short: "Print the policy in force", Args: exactly(0),
		Long:    "Print the policy in force, byte for byte. Exit code 1 means that it allows nothing.",
		Example: "  sallyport policy show\n  sallyport policy show --json",
	}
	withJSON(a, c, "print one object: path, sha256 and the policy")
	return runs(c, func(ctx context.Context, _ []string) error {
		v, cfg, err := a.view(ctx)
		if err != nil {
			return err
		}
		if err := inForce(v, cfg); err != nil {
			return err
		}
		if !a.json {
			_, err := a.stdout.Write(v.Raw)
			return err
		}
		b := wire.AppendText([]byte{'{'}, "path", cfg.Policy)
		b = wire.AppendText(b, "sha256", v.SHA256)
		b = appendCompact(wire.AppendName(b, "policy"), v.Raw)
		return a.printJSON(append(b, '}'))
	})
}

func policyValidateCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "validate [FILE]", Short: "Say whether a policy is valid, and what is wrong with it", Args: between(0, 1),
		Long: `Say whether the policy in force is valid, or the one in FILE, a draft anywhere.
Exit code 0 means valid, 1 not valid.`,
		Example: "  sallyport policy validate\n  sallyport policy validate draft.json",
	}
	withJSON(a, c, "print one object")
	return runs(c, func(ctx context.Context, args []string) error {
		v, path, err := a.viewOf(ctx, args)
		if err != nil {
			return err
		}
		if a.json {
			b := append(wire.AppendName([]byte{'{'}, "valid"), trueOrFalse(v.Reason == nil)...)
			b = wire.AppendText(b, "path", path)
			b = wire.AppendOptional(b, "sha256", v.SHA256)
			if v.Reason != nil {
				b = wire.AppendText(b, "code", string(v.Reason.Code))
				b = wire.AppendText(b, "message", v.Reason.Message)
			}
			if err := a.printJSON(append(b, '}')); err != nil {
				return err
			}
			if v.Reason != nil {
				return result(exitDenied)
			}
			return nil
		}
		if v.Reason != nil {
			return finding("Correct "+showPath(path)+".", "%s: %s", v.Reason.Code, printable(v.Reason.Message))
		}
		a.printf("%s is valid.\nSHA-256 %s\n", showPath(path), v.SHA256)
		return nil
	})
}

// viewOf reads the policy in FILE, or the one in force.
func (a *app) viewOf(ctx context.Context, args []string) (gate.PolicyView, string, error) {
	if len(args) == 0 {
		v, cfg, err := a.view(ctx)
		return v, cfg.Policy, err
	}
	raw, err := readPolicyDraft(args[0])
	if err != nil {
		return gate.PolicyView{}, args[0], err
	}
	v := gate.PolicyView{Raw: raw, SHA256: hashOf(raw)}
	if v.Policy, err = policy.Parse(raw); err != nil {
		v.Reason = &policy.Reason{Code: policy.PolicyInvalid, Field: "policy", Message: err.Error()}
	}
	a.warnOfOwner(args[0])
	return v, args[0], nil
}

// warnOfOwner says where a draft, good as it is, would be refused because of its mode or owner.
func (a *app) warnOfOwner(path string) {
	if _, err := readTrusted(path); errors.Is(err, errNotTrusted) {
		a.note("as it lies there the gate would refuse it: %v", err)
	}
}

func hashOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

func policyHashCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "hash", Short: "Print the SHA-256 of the policy in force", Args: exactly(0),
		Long:    "Print the SHA-256 of the bytes of the policy in force, as decisions carry it.",
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
			b := wire.AppendText([]byte{'{'}, "path", cfg.Policy)
			return a.printJSON(append(wire.AppendText(b, "sha256", v.SHA256), '}'))
		}
		a.printf("%s\n", v.SHA256)
		return nil
	})
}

// exists reports whether there is something at a path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
