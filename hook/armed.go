package hook

import (
	"path"
	"strings"

	"sallyport/trade"
	"sallyport/wire"
)

// failure checks what the harness does when a deciding hook fails, as far as the hook's own entry says it.
func (in *inspection) failure(e entry) {
	switch in.target.Harness {
	case "claude":
		if v, _ := e.hook.Member("onFailure"); v.Text != "block" {
			in.say(Fail, `%s lets the order pass when the hook crashes or times out; write "onFailure": "block"`, e.at)
		}
	case "hermes":
		v, n := e.hook.Member("fail_closed")
		if n == 0 {
			v, _ = e.hook.Member("failClosed")
		}
		if v.Kind != wire.Bool || v.Text != "true" {
			in.say(Fail, "%s lets the order pass when the hook crashes or times out; write fail_closed: true", e.at)
		}
	case "qwen":
		if v, _ := e.hook.Member("failMode"); v.Text != "closed" {
			in.say(Warn, `%s: write "failMode": "closed", for the versions that know it`, e.at)
		}
	}
	for _, name := range []string{"async", "asyncRewake"} {
		if v, _ := e.hook.Member(name); v.Text == "true" {
			in.say(Fail, "%s.%s is true: the call does not wait for the hook; remove it", e.at, name)
		}
	}
	for _, name := range []string{"if", "once"} {
		if _, n := e.hook.Member(name); n > 0 {
			in.say(Fail, "%s.%s keeps the hook from some calls; remove it", e.at, name)
		}
	}
}

// own checks what only one harness has.
func (in *inspection) own() {
	switch in.target.Harness {
	case "claude":
		in.claudeValues()
		in.disabled("disableAllHooks")
		in.disabled("allowManagedHooksOnly")
		in.claudePermissions()
	case "qwen":
		in.disabled("disableAllHooks")
		in.say(Warn, "%s", failsOpen("Qwen Code", "Versions that know failMode deny then."))
	case "gemini":
		in.switchedOff()
		in.say(Warn, "%s", failsOpen("Gemini CLI", "It has no setting that changes this."))
	case "codex":
		in.codex()
	case "hermes":
		in.hermes()
	}
}

func (in *inspection) disabled(name string) {
	if v, n := in.root.Member(name); n > 0 && v.Text != "false" {
		in.say(Fail, "%s is set: these hooks do not run; remove it", name)
	}
}

// claudeValues looks for the values that make Claude Code drop the whole file without a word.
func (in *inspection) claudeValues() {
	const drops = "; Claude Code then drops the whole file without a word"
	hooks, n := in.root.Member("hooks")
	if n > 0 && hooks.Kind != wire.Object {
		in.say(Fail, "hooks is %s%s", hooks.Kind, drops)
	}
	for _, m := range hooks.Members {
		event := trade.Printable(m.Name, 64)
		if m.Value.Kind != wire.Array {
			in.say(Fail, "hooks.%s is %s, not an array%s", event, m.Value.Kind, drops)
		}
		for _, g := range m.Value.Elems {
			list, n := g.Member("hooks")
			if matcher, has := g.Member("matcher"); has > 0 && matcher.Kind != wire.String {
				in.say(Fail, "a matcher of hooks.%s is %s, not text%s", event, matcher.Kind, drops)
			}
			if n == 0 || list.Kind != wire.Array {
				in.say(Fail, "an entry of hooks.%s has no array of hooks%s", event, drops)
			}
		}
	}
	for _, e := range in.entries {
		for _, problem := range claudeHookProblems(e.hook) {
			in.say(Fail, "%s%s%s", e.at, problem, drops)
		}
	}
}

func claudeHookProblems(hook wire.Value) []string {
	if hook.Kind != wire.Object {
		return []string{" is " + hook.Kind.String() + ", not an object"}
	}
	var problems []string
	kind, n := hook.Member("type")
	switch kind.Text {
	case "command", "http", "mcp_tool", "prompt", "agent":
	default:
		problems = append(problems, ".type is none that Claude Code knows")
	}
	if v, has := hook.Member("command"); kind.Text == "command" && n > 0 && (has == 0 || v.Kind != wire.String) {
		problems = append(problems, ".command is not text")
	}
	if v, has := hook.Member("args"); has > 0 {
		wrong := v.Kind != wire.Array
		for _, a := range v.Elems {
			wrong = wrong || a.Kind != wire.String
		}
		if wrong {
			problems = append(problems, ".args is not an array of text")
		}
	}
	if v, has := hook.Member("timeout"); has > 0 && (v.Kind != wire.Number || strings.HasPrefix(v.Text, "-") || v.Text == "0") {
		problems = append(problems, ".timeout is not a number above zero")
	}
	if v, has := hook.Member("onFailure"); has > 0 && (v.Kind != wire.String || v.Text != "block" && v.Text != "continue") {
		problems = append(problems, `.onFailure is neither "block" nor "continue"`)
	}
	if v, has := hook.Member("async"); has > 0 && v.Kind != wire.Bool {
		problems = append(problems, ".async is neither true nor false")
	}
	return problems
}

// claudePermissions looks for rules and modes under which a missing hook lets the order pass.
func (in *inspection) claudePermissions() {
	permissions, _ := in.root.Member("permissions")
	rules, _ := permissions.Member("allow")
	for _, rule := range rules.Elems {
		for _, name := range in.names() {
			if allowRuleTakes(rule.Text, name) {
				in.say(Fail, "the allow rule %q lets %s pass when the hook says nothing; remove it", trade.Printable(rule.Text, 64), name)
				break
			}
		}
	}
	switch mode, _ := permissions.Member("defaultMode"); mode.Text {
	case "dontAsk":
		in.say(OK, "the permission mode is dontAsk: a call that no hook grants is denied")
	case "bypassPermissions":
		in.say(Fail, "the permission mode is bypassPermissions: a hook that says nothing lets the order pass; use dontAsk")
	default:
		in.say(Warn, "start unattended agents with --permission-mode dontAsk; this file does not set it")
	}
}

func allowRuleTakes(rule, tool string) bool {
	rule, _, _ = strings.Cut(rule, "(")
	if rule == "" || rule == tool || strings.HasPrefix(tool, rule+"__") {
		return rule != ""
	}
	ok, err := path.Match(rule, tool)
	return ok || err != nil
}

// switchedOff looks for the settings of Gemini CLI, old and new, that switch hooks off.
func (in *inspection) switchedOff() {
	for _, place := range [][2]string{{"hooksConfig", "enabled"}, {"hooks", "enabled"}, {"tools", "enableHooks"}} {
		v, _ := in.root.Member(place[0])
		if v, n := v.Member(place[1]); n > 0 && v.Text != "true" {
			in.say(Fail, "%s.%s is not true: hooks do not run; remove it", place[0], place[1])
		}
	}
	for _, place := range []string{"hooksConfig", "hooks"} {
		v, _ := in.root.Member(place)
		off, _ := v.Member("disabled")
		for _, e := range in.entries {
			name, _ := e.hook.Member("name")
			command, _ := e.hook.Member("command")
			for _, o := range off.Elems {
				if in.ours(e) && o.Text != "" && (o.Text == name.Text || o.Text == command.Text) {
					in.say(Fail, "%s.disabled lists %q, so %s does not run; remove it", place, trade.Printable(o.Text, 64), e.at)
				}
			}
		}
	}
}

// codex checks that a call which no hook grants is refused, and says what no file can show.
func (in *inspection) codex() {
	if v, _ := in.root.Member("features"); v.Kind == wire.Object {
		for _, name := range []string{"hooks", "codex_hooks"} {
			if f, _ := v.Member(name); f.Text == "false" {
				in.say(Fail, "features.%s is false: hooks do not run; remove it", name)
			}
		}
	}
	servers, _ := in.root.Member("mcp_servers")
	guardedOurs := len(in.target.Guards) == 0
	for _, name := range in.target.servers() {
		server, n := servers.Member(name)
		if n == 0 {
			if name != "sallyport" || guardedOurs {
				in.say(Warn, "mcp_servers.%s is not in this file; where it is, write default_tools_approval_mode = \"prompt\"", trade.Printable(name, 64))
			}
			continue
		}
		if mode, _ := server.Member("default_tools_approval_mode"); mode.Text != "prompt" {
			in.say(Fail, "mcp_servers.%s lets a call pass when a hook crashes or times out; write default_tools_approval_mode = \"prompt\"", trade.Printable(name, 64))
		} else {
			in.say(OK, "mcp_servers.%s asks for each call, and the PermissionRequest hook answers", trade.Printable(name, 64))
		}
		tools, _ := server.Member("tools")
		for _, m := range tools.Members {
			if mode, n := m.Value.Member("approval_mode"); n > 0 && mode.Text != "prompt" {
				in.say(Fail, "mcp_servers.%s.tools.%s has another approval mode; remove it", trade.Printable(name, 64), trade.Printable(m.Name, 64))
			}
		}
	}
	in.say(Warn, "Codex runs a hook only after you reviewed it, which this file does not show: start codex, type /hooks")
}

// hermes checks what stands beside the hooks in Hermes' configuration.
func (in *inspection) hermes() {
	plugins, _ := in.root.Member("plugins")
	off, _ := plugins.Member("disabled")
	for _, o := range off.Elems {
		if o.Text == "sallyport" {
			in.say(Fail, "plugins.disabled lists sallyport: the plugin is not loaded; remove it")
		}
	}
	if in.pluginEnabled() {
		in.say(OK, "plugins.enabled lists sallyport; check the plugin itself with: hermes plugins doctor sallyport")
	}
	shell := false
	for _, e := range in.entries {
		shell = shell || in.ours(e)
	}
	if v, _ := in.root.Member("hooks_auto_accept"); shell && v.Text != "true" {
		in.say(Warn, "hooks_auto_accept is not true: a hook that was not approved on a terminal is skipped without a word. Check with: hermes hooks doctor")
	}
}

// pluginEnabled reports whether Hermes is told to load the native plugin, which needs no hooks in the file.
func (in *inspection) pluginEnabled() bool {
	if in.target.Harness != "hermes" {
		return false
	}
	plugins, _ := in.root.Member("plugins")
	on, _ := plugins.Member("enabled")
	for _, o := range on.Elems {
		if o.Text == "sallyport" {
			return true
		}
	}
	return false
}
