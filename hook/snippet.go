package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sallyport/trade"
)

// Snippet is what an operator pastes into a harness's settings, in the composition that fails closed there.
type Snippet struct {
	File  string   // which file it goes into
	Text  string   // JSON, TOML or YAML, as the file is
	Notes []string // what the file cannot say, a sentence or two each
}

// Target says what a snippet is made for, and what Inspect looks for.
type Target struct {
	Harness string
	Binary  string  // the absolute path of sallyport
	DataDir string  // absolute; empty: the default one
	Guards  []Guard // the operator's, beside our own order tools
	Default string  // the path of the default data directory, for Inspect; empty: not known
	// Starts reports whether a path is a program that can be started. Inspect asks it for a hook that starts another
	// path than Binary; nil is not asked.
	Starts func(path string) bool
}

//limit:hook-harness-wait A harness is told to wait 5 seconds for the hook: more than MaxWait, so that the hook answers first.
const snippetTimeout = 5

// check refuses what could not be pasted safely.
func (t Target) check() error {
	if _, known := findHarness(t.Harness); !known {
		return fmt.Errorf("the harness %q is not known; use claude, codex, gemini, qwen or hermes", trade.Printable(t.Harness, 64))
	}
	paths := []string{t.Binary}
	if t.DataDir != "" {
		paths = append(paths, t.DataDir)
	}
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("%q is not an absolute path; a harness starts its hooks in any directory", trade.Printable(path, 64))
		}
		if trade.Printable(path, 4096) != path {
			return errors.New("a path has characters that cannot be shown, or is over 4,096 characters; use another")
		}
	}
	return nil
}

// A hook is started with its tier, which no harness has a place for: without one it may only read, and denies every order.
// Where commands are no shell's, an assignment before the program is none, so it goes through env.
const (
	envProgram   = "/usr/bin/env"
	tierVariable = "SALLYPORT_TIER"
	armed        = tierVariable + "=2"
)

// arguments follow the program that is started for this harness, which is env.
func (t Target) arguments() []string {
	args := []string{armed, t.Binary, "hook", t.Harness}
	if t.DataDir != "" {
		args = append(args, "--data-dir", t.DataDir)
	}
	return args
}

// commandLine is the same for a shell and for Python's shlex.
func (t Target) commandLine() string {
	words := append([]string{envProgram}, t.arguments()...)
	for i, w := range words {
		words[i] = quoteWord(w)
	}
	return strings.Join(words, " ")
}

// quoteWord quotes a word for a POSIX shell, if it needs it.
func quoteWord(w string) string {
	plain := strings.IndexFunc(w, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("/._-=", r)
	}) < 0
	if plain && w != "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'"'"'`) + "'"
}

// matcher is a regular expression over the names of guarded tools, as this harness calls them. It is never a plain word:
// several harnesses take such a word as one exact name.
func (t Target) matcher() string {
	parts := []string{".*paper_place_order_[ab]"}
	for _, g := range t.Guards {
		if g.Pass || ownTool(g.Match) != "" {
			continue
		}
		prefix, isPrefix := strings.CutSuffix(g.Match, "*")
		part := t.pattern(prefix, isPrefix)
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "|")
}

// pattern matches each name that this harness gives to what a guard names, or to what begins so.
func (t Target) pattern(name string, isPrefix bool) string {
	here, rest := spellings(t.Harness, name), ""
	if isPrefix {
		rest = ".*"
	}
	if len(here) > 1 {
		return strings.ReplaceAll(looselyQuoted(name, cleaned(t.Harness, name)), "_", "_+") + rest
	}
	name = here[0]
	clean := cleaned(t.Harness, name)
	if t.Harness == "gemini" && isMCP(name) { // it writes what other harnesses replace by an underscore
		clean = "mcp_" + strings.NewReplacer("_", ".", "-", ".").Replace(clean[len("mcp_"):])
	}
	switch n := len(name); {
	case t.Harness != "gemini" || !isMCP(name):
	case isPrefix && n > geminiHead:
		name = name[:geminiHead]
	case !isPrefix && n > geminiName:
		tail := n - geminiHead
		return looselyQuoted(name[:geminiHead], clean) + ".+" + looselyQuoted(name[tail:], clean[tail:])
	}
	return looselyQuoted(name, clean) + rest
}

// looselyQuoted matches a name and what a harness makes of it.
func looselyQuoted(name, clean string) string {
	var b strings.Builder
	for i := range len(name) {
		if name[i] != clean[i] || name[i] == '.' {
			b.WriteByte('.')
		} else {
			b.WriteString(regexp.QuoteMeta(name[i : i+1]))
		}
	}
	return b.String()
}

// Print returns the snippet for a harness.
func Print(t Target) (Snippet, error) {
	if err := t.check(); err != nil {
		return Snippet{}, err
	}
	s := map[string]func(Target) Snippet{
		"claude": Target.claude, "codex": Target.codex, "gemini": Target.gemini, "qwen": Target.qwen, "hermes": Target.hermes,
	}[t.Harness](t)
	s.Notes = append(s.Notes, armed+" lets the policy decide about orders. A hook without it denies every guarded order: TIER_TOO_LOW.")
	return s, nil
}

// The JSON settings of Claude Code, Gemini CLI and Qwen Code, in the order in which they are read best.
type (
	jsonSettings struct {
		Hooks any `json:"hooks"`
	}
	jsonGroup struct {
		Matcher string     `json:"matcher"`
		Hooks   []jsonHook `json:"hooks"`
	}
	jsonHook struct {
		Type      string   `json:"type"`
		Name      string   `json:"name,omitempty"`
		Command   string   `json:"command"`
		Args      []string `json:"args,omitempty"`
		Timeout   int      `json:"timeout"`
		OnFailure string   `json:"onFailure,omitempty"`
		FailMode  string   `json:"failMode,omitempty"`
	}
	claudeEvents struct {
		Before []jsonGroup `json:"PreToolUse"`
		After  []jsonGroup `json:"PostToolUse"`
		Failed []jsonGroup `json:"PostToolUseFailure"`
	}
	geminiEvents struct {
		Before []jsonGroup `json:"BeforeTool"`
		After  []jsonGroup `json:"AfterTool"`
	}
)

func (t Target) group(h jsonHook) []jsonGroup {
	return []jsonGroup{{Matcher: t.matcher(), Hooks: []jsonHook{h}}}
}

func indent(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		panic(err) // plain structs of text always encode
	}
	return b.String()
}

func (t Target) claude() Snippet {
	after := jsonHook{Type: "command", Command: envProgram, Args: t.arguments(), Timeout: snippetTimeout}
	before := after
	before.OnFailure = "block"
	return Snippet{
		File: "~/.claude/settings.json, or a file given with --settings",
		Text: indent(jsonSettings{claudeEvents{Before: t.group(before), After: t.group(after), Failed: t.group(after)}}),
		Notes: []string{
			"Needs Claude Code 2.1.295 or newer: older ones ignore onFailure, and a hook that crashes or times out lets the order pass.",
			"Run unattended agents with --permission-mode dontAsk and write no allow rule for a guarded tool. Then a hook that is not there, or says nothing, denies.",
			"--bare and disableAllHooks switch hooks off, and one invalid value drops the whole file without a word. Check with: sallyport doctor --harness claude --settings FILE",
		},
	}
}

func (t Target) qwen() Snippet {
	after := jsonHook{Type: "command", Name: "sallyport", Command: t.commandLine(), Timeout: snippetTimeout}
	before := after
	before.FailMode = "closed"
	return Snippet{
		File: "~/.qwen/settings.json",
		Text: indent(jsonSettings{claudeEvents{Before: t.group(before), After: t.group(after), Failed: t.group(after)}}),
		Notes: []string{
			failsOpen("Qwen Code", "Versions that know failMode deny then; others ignore it."),
		},
	}
}

func (t Target) gemini() Snippet {
	h := jsonHook{Type: "command", Name: "sallyport", Command: t.commandLine(), Timeout: snippetTimeout * 1000}
	return Snippet{
		File: "~/.gemini/settings.json",
		Text: indent(jsonSettings{geminiEvents{Before: t.group(h), After: t.group(h)}}),
		Notes: []string{
			failsOpen("Gemini CLI", "It has no setting that changes this."),
			"The timeout is in milliseconds here.",
		},
	}
}

func failsOpen(program, remedy string) string {
	return program + " makes the call when a hook crashes, times out or is missing. " + remedy +
		` Let the order go through sallyport mcp with "require_hook": true in sallyport.json: it refuses a call that no hook permitted.`
}

func (t Target) codex() Snippet {
	var b strings.Builder
	for _, event := range []string{"PreToolUse", "PermissionRequest", "PostToolUse"} {
		fmt.Fprintf(&b, "[[hooks.%s]]\nmatcher = %s\n\n[[hooks.%s.hooks]]\ntype = \"command\"\ncommand = %s\ntimeout = %d\n\n",
			event, tomlText(t.matcher()), event, tomlText(t.commandLine()), snippetTimeout)
	}
	b.WriteString("# In the table of each MCP server whose tools are guarded, so that a call which\n# no hook grants is refused:\n")
	for _, s := range t.servers() {
		fmt.Fprintf(&b, "#   [mcp_servers.%s]\n#   default_tools_approval_mode = \"prompt\"\n", tomlKey(s))
	}
	return Snippet{
		File: "$CODEX_HOME/config.toml (~/.codex/config.toml)",
		Text: b.String(),
		Notes: []string{
			`Set default_tools_approval_mode = "prompt" for each guarded MCP server: the PermissionRequest hook then grants, and a hook that crashes, times out or says nothing denies.`,
			"Codex sends no event after a call that failed or whose answer is an error. The outcome of such an order stays unknown, and reserved, until you settle it with: sallyport audit resolve",
			"Codex runs a hook only after you have reviewed it: start codex once, type /hooks, and trust these. Until then codex exec skips them without a word.",
			"--dangerously-bypass-approvals-and-sandbox skips the PermissionRequest hook.",
		},
	}
}

// servers names the MCP servers whose tools are guarded, as far as the guards say it.
func (t Target) servers() []string {
	names := []string{"sallyport"}
	for _, g := range t.Guards {
		rest, isMCP := strings.CutPrefix(g.Match, "mcp__")
		name, _, hasTool := strings.Cut(rest, "__")
		if !isMCP || !hasTool || g.Pass || name == "" || strings.Contains(name, "*") {
			continue
		}
		seen := false
		for _, n := range names {
			seen = seen || n == name
		}
		if !seen {
			names = append(names, name)
		}
	}
	return names
}

// tomlText writes a basic string. What it is given has no control characters.
func tomlText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func tomlKey(s string) string {
	if quoteWord(s) == s && !strings.ContainsAny(s, "/.=") {
		return s
	}
	return tomlText(s)
}

func (t Target) hermes() Snippet {
	text := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	entry := func(event, closed string) string {
		return fmt.Sprintf("  %s:\n    - matcher: %s\n      command: %s\n      timeout: %d\n%s",
			event, text(t.matcher()), text(t.commandLine()), snippetTimeout, closed)
	}
	return Snippet{
		File: "$HERMES_HOME/config.yaml (~/.hermes/config.yaml)",
		Text: "hooks:\n" + entry("pre_tool_call", "      fail_closed: true\n") + entry("post_tool_call", "") +
			"# Without this, or an approval on a terminal, Hermes skips the hooks above\n# without a word.\nhooks_auto_accept: true\n",
		Notes: []string{
			"Needs Hermes 0.20 or newer: 0.19 knows neither fail_closed nor exit code 2.",
			"hooks_auto_accept approves every hook in this file. To approve one by one instead, leave it out, start Hermes on a terminal, and answer y; then check with: hermes hooks doctor",
			"For Hermes 0.23.1 or newer the native plugin is an alternative: copy plugins/hermes to <HERMES_HOME>/plugins/sallyport and list sallyport under plugins.enabled. It also brings the tools.",
		},
	}
}
