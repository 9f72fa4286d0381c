package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"sallyport/policy"
	"sallyport/wire"
)

func policySchemaCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of policies of version 2, for editors", Args: exactly(0),
		Long: `Print a JSON Schema (draft 2020-12) of policies of version 2. An editor that is told
of it completes keys and limits and says what each means. It takes every policy that
is valid; 'sallyport policy validate' finds more, such as what rules come to together.`,
		Example: "  sallyport policy schema > policy.schema.json",
	}
	return runs(c, func(context.Context, []string) error {
		_, err := a.stdout.Write(policy.Schema())
		return err
	})
}

func policyConvertCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "convert [FILE|-]", Short: "Write a policy of version 1 as one of version 2", Args: between(0, 1),
		Long: `Print a policy of version 1, the one in force or the one in FILE, as one of version
2. Each difference in meaning is told on standard error and stands as a comment in
what is printed. Nothing is overwritten and nothing comes into force: look at it,
then put it in the place of your policy yourself.`,
		Example:           "  sallyport policy convert > draft.json\n  sallyport policy convert old.json --json",
		ValidArgsFunction: oneFile,
	}
	withJSON(a, c, "print one object: the file as text, and the differences")
	return runs(c, func(ctx context.Context, args []string) error {
		f, err := a.readRules(ctx, first(args))
		if err != nil {
			return err
		}
		if f.V2 != nil {
			return usage("There is nothing to convert.", "%s is a policy of version 2 already", showPath(f.path))
		}
		converted, differences, err := policy.Convert(f.raw)
		if err != nil {
			return f.invalid(err)
		}
		if a.json {
			b := f.appendJSON(append([]byte{'{'}, `"from":`...))
			b = wire.AppendText(b, "policy", string(converted))
			b = wire.AppendText(b, "sha256", hashOf(converted))
			return a.printJSON(append(appendTexts(wire.AppendName(b, "differences"), differences), '}'))
		}
		if _, err := a.stdout.Write(converted); err != nil {
			return err
		}
		a.tell("what version 2 means otherwise:")
		for _, d := range differences {
			a.point(d)
		}
		return nil
	})
}

// point writes one of several points of a note to standard error.
func (a *app) point(text string) { fmt.Fprint(a.stderr, hang("  - ", "    ", showLines(text))) }

// first returns the first argument, or nothing.
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// oneFile offers files for a first argument.
func oneFile(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return files(c, args, typed)
}
