package hook

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"sallyport/trade"
	"sallyport/wire"
)

// Severity says how much a finding matters.
type Severity uint8

// The severities. A hook with a Fail is not armed, or lets calls pass when it fails.
const (
	Fail Severity = iota
	Warn
	OK
)

// String returns the word that is shown.
func (s Severity) String() string { return [...]string{"fail", "warn", "ok"}[s] }

// Finding is one thing that Inspect has to say about a settings file, with its repair.
type Finding struct {
	Severity Severity
	Text     string
}

//limit:hook-settings-bytes A settings file is read up to 1 MiB (1,048,576 bytes).
const maxSettings = 1 << 20

//limit:hook-settings-depth A settings file may nest 32 levels deep.
const maxSettingsDepth = 32

// Inspect reads a harness's settings and says whether the hook is really armed there: that it is called for every
// guarded tool, by its own absolute path, in time, and that the call is refused when it fails. What cannot be read is a
// failure.
func Inspect(t Target, settings []byte) []Finding {
	if err := t.check(); err != nil {
		return []Finding{{Fail, err.Error()}}
	}
	in := &inspection{target: t}
	in.read(settings)
	if len(in.findings) == 0 {
		in.hooks()
		in.idle()
		in.own()
	}
	return in.findings
}

type inspection struct {
	target   Target
	root     wire.Value
	entries  []entry
	findings []Finding
}

func (in *inspection) say(s Severity, format string, args ...any) {
	in.findings = append(in.findings, Finding{s, fmt.Sprintf(format, args...)})
}

// read makes a tree of the file, whatever it is written in.
func (in *inspection) read(settings []byte) {
	lim := wire.Limits{Bytes: maxSettings, Depth: maxSettingsDepth}
	if len(settings) > lim.Bytes {
		in.say(Fail, "the file is over %d bytes and cannot be read", lim.Bytes)
		return
	}
	var err error
	switch in.target.Harness {
	case "codex":
		if looksLikeJSON(settings) {
			in.root, err = wire.Read(settings, lim)
		} else {
			in.root, err = readTOML(settings)
		}
	case "hermes":
		in.root, err = readYAML(settings)
	case "claude":
		in.root, err = wire.Read(settings, lim)
	default: // Gemini CLI and Qwen Code take comments
		in.root, err = wire.Read(blankComments(settings), lim)
	}
	if err != nil {
		in.say(Fail, "the file cannot be read: %s. Repair it, or paste what sallyport hook print %s shows", trade.Printable(err.Error(), 200), in.target.Harness)
		return
	}
	if name, twice := in.root.Duplicate(); twice {
		in.say(Fail, "%q is given twice; only the last one counts. Keep one of them", trade.Printable(name, 64))
	}
	if in.root.Kind != wire.Object {
		in.say(Fail, "the file holds %s, not settings", in.root.Kind)
	}
}

func looksLikeJSON(b []byte) bool {
	return strings.HasPrefix(strings.TrimLeft(string(b[:min(len(b), 256)]), " \t\r\n"), "{")
}

// blankComments puts spaces in place of comments outside of strings.
func blankComments(b []byte) []byte {
	out := append([]byte(nil), b...)
	for i := 0; i < len(out); i++ {
		switch {
		case out[i] == '"':
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case out[i] == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			end := "\n"
			if out[i+1] == '*' {
				end = "*/"
			}
			stop := len(out)
			if n := strings.Index(string(out[i+2:]), end); n >= 0 {
				stop = i + 2 + n
				if end == "*/" {
					stop += 2
				}
			}
			for ; i < stop; i++ {
				if out[i] != '\n' {
					out[i] = ' '
				}
			}
			i--
		}
	}
	return out
}

// entry is one hook of the file.
type entry struct {
	event   string
	at      string // where it stands, for a finding
	matcher string
	all     bool // without a matcher, or with one that takes every tool
	hook    wire.Value
	words   []string // of its command, without what stands before the program; nil where a shell would do more than split it
	tier    string   // that the command gives the program; empty if it gives none
}

// hooks collects the hooks of the events that matter, and checks ours.
func (in *inspection) hooks() {
	h, _ := findHarness(in.target.Harness)
	hooks, n := in.root.Member("hooks")
	if n == 0 || hooks.Kind != wire.Object {
		if !in.pluginEnabled() {
			in.say(Fail, "the file has no hooks, so no order is guarded. Paste what sallyport hook print %s shows", in.target.Harness)
		}
		return
	}
	for _, m := range hooks.Members {
		in.collect(m.Name, m.Value)
	}
	in.event(h.before, true)
	if h.asked != "" {
		in.event(h.asked, true)
	}
	in.event(h.after, false)
	if h.failed != "" {
		in.event(h.failed, false)
	}
	in.siblings(h.before)
}

// collect reads the hooks of one event: groups with a matcher and hooks, or, for Hermes, hooks with a matcher each.
func (in *inspection) collect(event string, groups wire.Value) {
	if groups.Kind != wire.Array {
		return
	}
	for i, g := range groups.Elems {
		at := fmt.Sprintf("hooks.%s[%d]", event, i)
		e := entry{event: event, at: at}
		m, _ := g.Member("matcher")
		e.matcher = m.Text
		e.all = m.Kind != wire.String || m.Text == "" || m.Text == "*" && in.target.Harness != "hermes"
		if in.target.Harness == "hermes" {
			e.hook = g
			in.add(e)
			continue
		}
		list, _ := g.Member("hooks")
		for j, hk := range list.Elems {
			e.at, e.hook = fmt.Sprintf("%s.hooks[%d]", at, j), hk
			in.add(e)
		}
	}
}

func (in *inspection) add(e entry) {
	command, _ := e.hook.Member("command")
	args, hasArgs := e.hook.Member("args")
	shell := hasArgs == 0 && in.target.Harness != "hermes"
	if hasArgs > 0 {
		e.words = []string{command.Text}
		for _, a := range args.Elems {
			e.words = append(e.words, a.Text)
		}
	} else {
		e.words = splitWords(command.Text, shell)
	}
	e.words, e.tier = program(e.words, shell)
	in.entries = append(in.entries, e)
}

// program takes from a command what only sets the environment of the program that it starts: env with assignments, or, in
// a shell, assignments alone. It returns the tier that is set. env with an option is left as it is, and known to nobody.
func program(words []string, shell bool) (rest []string, tier string) {
	rest = words
	if len(rest) > 0 && filepath.Base(rest[0]) == "env" {
		rest = rest[1:]
	} else if !shell {
		return words, ""
	}
	for len(rest) > 0 {
		name, value, found := strings.Cut(rest[0], "=")
		if !found || !isVariable(name) {
			break
		}
		if name == tierVariable {
			tier = value
		}
		rest = rest[1:]
	}
	if len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		return words, ""
	}
	return rest, tier
}

func isVariable(s string) bool {
	return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == "" && (s[0] < '0' || s[0] > '9')
}

// ours reports whether the hook starts this program, or one of our name.
func (in *inspection) ours(e entry) bool {
	return len(e.words) > 0 &&
		(filepath.Base(e.words[0]) == "sallyport" || filepath.Clean(e.words[0]) == filepath.Clean(in.target.Binary))
}

// event checks that our hook takes every guarded name of one event.
func (in *inspection) event(event string, deciding bool) {
	var mine []entry
	for _, e := range in.entries {
		if e.event == event && in.ours(e) {
			mine = append(mine, e)
		}
	}
	severity, loss := Fail, "no order is guarded"
	if !deciding {
		severity, loss = Warn, "outcomes stay unknown, and changed arguments are not noticed"
	}
	if len(mine) == 0 && in.pluginEnabled() {
		return // the plugin brings its own hooks
	}
	if len(mine) == 0 {
		in.say(severity, "no %s hook starts sallyport, so %s. Paste what sallyport hook print %s shows", event, loss, in.target.Harness)
		return
	}
	before := len(in.findings)
	for _, e := range mine {
		in.command(e)
		in.timeout(e)
		if deciding {
			in.failure(e)
			in.tier(e)
		}
	}
	in.coverage(event, mine, severity)
	if len(in.findings) == before {
		in.say(OK, "%s starts %s for every guarded tool", event, trade.Printable(strings.Join(mine[0].words, " "), 200))
	}
}

// command checks what is started.
func (in *inspection) command(e entry) {
	t := in.target
	if kind, _ := e.hook.Member("type"); t.Harness != "hermes" && kind.Text != "command" {
		in.say(Fail, `%s has the type %q; write "command"`, e.at, trade.Printable(kind.Text, 64))
	}
	switch {
	case !filepath.IsAbs(e.words[0]):
		in.say(Fail, "%s starts %q, which depends on the directory and PATH of the harness; write %s", e.at, trade.Printable(e.words[0], 64), t.Binary)
	case filepath.Clean(e.words[0]) == filepath.Clean(t.Binary):
	case t.Starts != nil && !t.Starts(e.words[0]):
		in.say(Fail, "%s starts %s, and no program is there: the hook fails each time; write %s", e.at, trade.Printable(e.words[0], 200), t.Binary)
	default:
		in.say(Warn, "%s starts %s, and this is %s", e.at, trade.Printable(e.words[0], 200), t.Binary)
	}
	if len(e.words) < 3 || e.words[1] != "hook" || e.words[2] != t.Harness {
		in.say(Fail, "%s does not run the command hook %s; write %s", e.at, t.Harness, t.commandLine())
		return
	}
	dir := dataDirOf(e.words)
	if dir != "" && filepath.Clean(dir) == t.Default {
		dir = ""
	}
	if dir != t.DataDir && filepath.Clean(dir) != filepath.Clean(t.DataDir) {
		in.say(Warn, "%s uses %s, and this is %s: another policy, other limits and another record", e.at, dataDirName(dir), dataDirName(t.DataDir))
	}
}

// tier checks that the hook may permit orders at all. One that may not denies them, which is safe and seldom meant.
func (in *inspection) tier(e entry) {
	tier, known := trade.ParseTier(e.tier)
	switch {
	case e.tier == "":
		in.say(Warn, "%s sets no tier: unless the harness itself runs with %s, every guarded order is denied. Write %s", e.at, armed, in.target.commandLine())
	case !known:
		in.say(Warn, "%s sets the tier %q, which is none: every guarded order is denied. Write %s", e.at, trade.Printable(e.tier, 64), armed)
	case tier < trade.TierExecute:
		in.say(Warn, "%s has tier %s: every guarded order is denied. Write %s to let the policy decide", e.at, tier, armed)
	}
}

// dataDirOf returns the data directory that a command names; empty where it is the default one.
func dataDirOf(words []string) (dir string) {
	for i, w := range words {
		if joined, ok := strings.CutPrefix(w, "--data-dir="); ok {
			dir = joined
		} else if w == "--data-dir" && i+1 < len(words) {
			dir = words[i+1]
		}
	}
	return dir
}

func dataDirName(dir string) string {
	if dir == "" {
		return "the default data directory"
	}
	return "the data directory " + trade.Printable(dir, 200)
}

//limit:hook-harness-wait-most A harness that waits over 30,000 milliseconds for the hook is warned of.
const maxPatience = 30_000

// timeout checks that the harness waits for longer than the hook does, and not for ever.
func (in *inspection) timeout(e entry) {
	v, n := e.hook.Member("timeout")
	if n == 0 {
		in.say(Warn, "%s has no timeout; write %d seconds, in the harness's unit", e.at, snippetTimeout)
		return
	}
	whole, _, _ := strings.Cut(v.Text, ".")
	ms, err := strconv.ParseInt(whole, 10, 32)
	if v.Kind != wire.Number || err != nil {
		in.say(Fail, "%s.timeout is not a number that can be read; write %d seconds, in the harness's unit", e.at, snippetTimeout)
		return
	}
	inMillis := in.target.Harness == "gemini" || in.target.Harness == "qwen" && ms >= 1000
	if !inMillis {
		ms *= 1000
	}
	switch {
	case ms <= MaxWait.Milliseconds():
		in.say(Fail, "%s.timeout is %d milliseconds; the hook itself may take %s, so write %d seconds, in the harness's unit", e.at, ms, MaxWait, snippetTimeout)
	case ms > maxPatience:
		in.say(Warn, "%s.timeout is over 30 seconds; a hook that hangs holds the agent for as long. Write %d seconds, in the harness's unit", e.at, snippetTimeout)
	}
}

// siblings points at other hooks before the same calls: they run beside ours and may change the arguments.
func (in *inspection) siblings(event string) {
	for _, e := range in.entries {
		if e.event != event || in.ours(e) {
			continue
		}
		for _, name := range in.names() {
			if ok, _ := e.takes(in.target.Harness, name); ok {
				in.say(Warn, `%s also takes %s and may change the order after it was judged. Only an executing surface with "require_hook": true refuses that`, e.at, name)
				break
			}
		}
	}
}

// splitWords splits a command as a POSIX shell does. Where a shell would do more than that, it returns nil.
func splitWords(s string, shell bool) []string {
	var words []string
	var b strings.Builder
	open := false // inside a word
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\'' || c == '"':
			end := strings.IndexByte(s[i+1:], c)
			if end < 0 || c == '"' && strings.ContainsAny(s[i+1:i+1+end], "\\$`") {
				return nil
			}
			b.WriteString(s[i+1 : i+1+end])
			i, open = i+1+end, true
		case c == ' ' || c == '\t':
			if open {
				words = append(words, b.String())
				b.Reset()
				open = false
			}
		case c == '\\' || c == '\n' || shell && strings.IndexByte("$`;|&<>()*?[]{}~#!", c) >= 0:
			return nil
		default:
			b.WriteByte(c)
			open = true
		}
	}
	if open {
		words = append(words, b.String())
	}
	return words
}
