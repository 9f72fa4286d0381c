package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sallyport/gate"
	"sallyport/hook"
	"sallyport/trade"
	"sallyport/wire"
)

// log is where causes go that a caller is not told: standard error, never standard output, which is the protocol's.
func (a *app) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

func mcpCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "mcp", Short: "Serve the tools to an agent over MCP on standard input and output",
		GroupID: groupAgents, Args: exactly(0),
		Long: `Serve the Model Context Protocol on standard input and output. The tools that an
agent sees are those of its tier, SALLYPORT_TIER: 0 reads, 1 also proposes, cancels
its own orders and stops everything, 2 also executes; unset it is 0. The server
ends when its input ends. Messages for people go to standard error.

With a daemon configured (SALLYPORT_DAEMON, or daemon in sallyport.json) it is the
daemon that decides, records and executes, and the tier is the lower of the
token's and the environment's. The harness starts this command; see the examples
for what to configure there.`,
		Example: `  claude mcp add sallyport -e SALLYPORT_TIER=1 -- sallyport mcp
  codex mcp add sallyport --env SALLYPORT_TIER=1 -- sallyport mcp`,
	}
	withAgent(a, c)
	return runs(c, func(ctx context.Context, _ []string) error {
		g, who, err := a.openAgent(ctx, trading)
		if err != nil {
			return err
		}
		t, err := a.tools(g, who)
		if err == nil {
			err = t.ServeStdio(ctx)
		}
		return errors.Join(err, g.Close())
	})
}

func toolCommand(a *app) *cobra.Command {
	o := gate.Origin{}
	var surface, harness, session, call string
	surfaces := []string{"cli", "plugin"}
	c := &cobra.Command{
		Use: "tool NAME", Short: "Run one tool on arguments from standard input",
		GroupID: groupAgents, Args: exactly(1),
		Long: `Run one tool exactly as the MCP server would: its arguments are read from
standard input, one JSON object; its answer is printed, one JSON object. Plugins
of harnesses call this. Whatever the exit code, an answer that was printed
counts.

Exit codes: those of the decision in the answer: 0 allowed or fine, 1 denied or
an error, 4 held for a person.`,
		Example: `  echo '{}' | sallyport tool trade_policy_get
  sallyport tool trade_check < order.json
  sallyport tool paper_place_order_a --surface plugin --harness hermes \
      --session s1 --tool-call-id call_7 < order.json`,
		ValidArgs: []string{"paper_place_order_a", "paper_place_order_b", "trade_check", "trade_policy_get", "trade_audit"},
	}
	c.Flags().StringVar(&surface, "surface", "cli", "through what the call came, `S`: cli or plugin")
	c.Flags().StringVar(&harness, "harness", "", "the harness `H` that drives the agent: "+strings.Join(harnesses(), ", "))
	c.Flags().StringVar(&session, "session", "", "the harness's session `ID`")
	c.Flags().StringVar(&call, "tool-call-id", "", "the harness's `ID` of this tool call")
	completes(c, "surface", words(surfaces...))
	completes(c, "harness", words(harnesses()...))
	withAgent(a, c)
	return runs(c, func(ctx context.Context, args []string) error {
		switch {
		case !slices.Contains(surfaces, surface):
			return usage("Use cli or plugin.", "the surface %q is not known", show(surface))
		case c.Flags().Changed("harness") && !slices.Contains(harnesses(), harness):
			return harnessProblem(harness)
		}
		o.Surface, o.Harness, o.Session, o.ToolCallID = surface, trade.Harness(harness), trade.Session(session), trade.ToolCallID(call)
		raw, err := a.body(ctx, "-")
		if err != nil {
			return err
		}
		g, who, err := a.openAgent(ctx, useOf(args[0]))
		if err != nil {
			return err
		}
		defer g.Close()
		o.Agent = who.agent
		t, err := a.tools(g, who)
		if err != nil {
			return err
		}
		r := t.Call(ctx, o, args[0], raw)
		if err := a.printJSON(r.JSON); err != nil {
			return err
		}
		return result(codeOfAnswer(r.JSON, r.IsError))
	})
}

// useOf says what a tool wants of the gate. All of them create what is missing, since an agent's first call may be any.
func useOf(tool string) use {
	switch tool {
	case toolA, toolB, "portfolio_get", "order_cancel", "kill_switch_engage":
		return trading
	}
	return founding
}

// maxAnswerDepth bounds the nesting of a tool's answer, which is ours.
//
//limit:cli-answer-depth A tool's answer nested over 64 levels is taken for a failure, exit code 3.
const maxAnswerDepth = 64

// codeOfAnswer returns the exit code of a tool's answer: by the verdict in it, if there is one.
func codeOfAnswer(answer []byte, isError bool) int {
	v, err := wire.Read(answer, wire.Limits{Bytes: len(answer), Depth: maxAnswerDepth})
	if err != nil {
		return exitInternal
	}
	verdict, _ := v.Member("verdict")
	switch {
	case verdict.Text == "hold":
		return exitHeld
	case verdict.Text == "deny", isError:
		return exitDenied
	}
	return exitFine
}

// harnesses are those whose hooks are known.
func harnesses() []string { return []string{"claude", "codex", "gemini", "qwen", "hermes"} }

func harnessProblem(name string) *problem {
	return usage("Use one of "+strings.Join(harnesses(), ", ")+".", "the harness %q is not known%s", show(name), perhaps("", nearest(name, harnesses())))
}

// hookCommand is for the help, and for printing settings: a hook itself never comes this far.
func hookCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "hook HARNESS", Short: "Answer a tool-call hook of a harness, or print the settings that arm it", GroupID: groupAgents,
		ValidArgs: harnesses(),
		Long: `Answer one tool-call event of a harness: claude, codex, gemini, qwen or hermes.
The event is read from standard input. A tool that no guard names passes: exit
code 0 and no output. A guarded order is decided by the gate: an allow is
printed, exit code 0; everything else, every failure included, is a denial that
all five harnesses understand, exit code 2. It answers within 2 seconds.

Harnesses start this command; 'sallyport hook print HARNESS' prints what to put
into their settings. It never creates a data directory.`,
		Example: `  sallyport hook print claude
  sallyport hook claude < event.json`,
	}
	return parent(c, hookPrintCommand(a))
}

func hookPrintCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "print HARNESS", Short: "Print the settings that arm the hook in a harness", Args: exactly(1), ValidArgs: harnesses(),
		Long: `Print the settings snippet to paste, in the composition that is fail-closed for
that harness, and what the file cannot say. The snippet goes to standard output,
the rest to standard error, so that the output can be redirected into a file.

The matcher takes Sallyport's own order tools and those that the guards in
sallyport.json name: {"match": NAME, "dialect": D}, where NAME is a tool's name or a
prefix that ends in *, and D reads its orders: paper_place_order_a,
paper_place_order_b or alpaca. A guard with "pass": true leaves tools to the
harness. One with neither denies every call: TOOL_UNKNOWN. A guard of an MCP tool
holds for both of the names that harnesses give it: mcp__SERVER__TOOL, and
mcp_SERVER_TOOL in Gemini CLI and Hermes.`,
		Example: "  sallyport hook print claude\n  sallyport hook print codex > snippet.toml",
	}
	withJSON(a, c, "print one object")
	return runs(c, func(_ context.Context, args []string) error {
		target, err := a.target(args[0])
		if err != nil {
			return err
		}
		s, err := hook.Print(target)
		if err != nil {
			return usage("Name the data directory and the program by paths that can be shown.", "%s", plain(err))
		}
		if a.json {
			return a.printJSON(appendSnippet(nil, target.Harness, s))
		}
		a.printf("%s\n", strings.TrimRight(s.Text, "\n"))
		a.remark("", "Goes into "+s.File)
		for _, n := range s.Notes {
			a.remark("- ", n)
		}
		return nil
	})
}

// remark writes wrapped text to standard error behind a mark.
func (a *app) remark(mark, text string) {
	margin := strings.Repeat(" ", len(mark))
	_, _ = io.WriteString(a.stderr, mark+strings.TrimPrefix(indent(margin, text), margin))
}

// target says what a snippet is for: this binary by its absolute path, and the data directory if it is not the default.
func (a *app) target(harness string) (hook.Target, error) {
	if !slices.Contains(harnesses(), harness) {
		return hook.Target{}, harnessProblem(harness)
	}
	home, cfg, err := a.dataDir()
	if err != nil {
		return hook.Target{}, err
	}
	binary, err := os.Executable()
	if err != nil {
		return hook.Target{}, err
	}
	t := hook.Target{Harness: harness, Binary: binary, DataDir: home, Guards: cfg.Guards}
	if byDefault, err := resolveHome(given{}, func(name string) string { // as a harness will see it, without our environment
		if name == "HOME" {
			return a.getenv(name)
		}
		return ""
	}); err == nil {
		t.Default = byDefault
		if byDefault == home {
			t.DataDir = ""
		}
	}
	return t, nil
}

func appendSnippet(b []byte, harness string, s hook.Snippet) []byte {
	b = wire.AppendText(append(b, '{'), "harness", harness)
	b = wire.AppendText(b, "file", s.File)
	b = wire.AppendText(b, "text", s.Text)
	return append(appendTexts(wire.AppendName(b, "notes"), s.Notes), '}')
}
