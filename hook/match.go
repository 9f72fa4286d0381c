package hook

import "strings"

// Harnesses give a tool of an MCP server several names: mcp__server__tool in Claude Code, Codex and Qwen Code, and
// mcp_server_tool in Gemini CLI and Hermes. Some also write an underscore for what is no letter or digit, and Gemini CLI
// takes the middle out of a long name. A guard means the tool and not the spelling, so names that begin with mcp_ are
// also compared folded. That may guard a tool too many and never one too few: as written comes before folded only where
// it is the stricter.

// isMCP reports whether a harness gives such a name to a tool of an MCP server.
func isMCP(name string) bool { return strings.HasPrefix(name, "mcp_") }

// fold writes one underscore for each run of bytes that are no ASCII letter or digit.
func fold(name string) string {
	b := make([]byte, 0, len(name))
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
			b = append(b, c)
		case len(b) == 0 || b[len(b)-1] != '_':
			b = append(b, '_')
		}
	}
	return string(b)
}

// geminiName is the longest name that Gemini CLI leaves whole, and geminiHead what it leaves at least of both ends of a
// longer one, in bytes.
const (
	geminiName = 63
	geminiHead = 28
)

// shortened returns what is left of a long name around the mark that Gemini CLI puts in place of its middle.
func shortened(name string) (head, tail string, ok bool) {
	switch {
	case len(name) != geminiName:
	case name[28:31] == "___":
		return name[:28], name[31:], true
	case name[30:33] == "...":
		return name[:30], name[33:], true
	}
	return "", "", false
}

// spellings returns the names that a harness may give to the tool, or to the tools whose names begin so, that a guard
// names: one, unless the guard has the name of another kind of harness and does not say where the server's name ends.
func spellings(harness, name string) []string {
	rest, double := strings.CutPrefix(name, "mcp__")
	single := harness == "gemini" || harness == "hermes"
	switch {
	case !isMCP(name) || double != single:
		return []string{name}
	case single:
		return []string{"mcp_" + strings.Replace(rest, "__", "_", 1)}
	}
	rest = strings.TrimPrefix(name, "mcp_")
	all := []string{"mcp__" + rest}
	for i := range len(rest) {
		if rest[i] == '_' {
			all = append(all, "mcp__"+rest[:i]+"__"+rest[i+1:])
		}
	}
	return all
}

// cleaned returns an MCP tool's name as a harness writes it, with an underscore for what it does not take in a name.
func cleaned(harness, name string) string {
	if !isMCP(name) {
		return name
	}
	taken := "_-"
	switch harness {
	case "gemini":
		taken = "_-.:"
	case "hermes":
		taken = "_"
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(taken, r) {
			return r
		}
		return '_'
	}, name)
}

// match is how a guard holds for a tool. The zero match is none.
type match struct {
	guard   *Guard
	exact   bool
	written bool // byte for byte, and not only folded
	length  int  // of what was compared, as written or folded
	folded  int  // of the same, folded
}

// holds compares a guard with a tool's name.
func (g *Guard) holds(tool string) match {
	prefix, isPrefix := strings.CutSuffix(g.Match, "*")
	switch {
	case !isPrefix && g.Match == tool, isPrefix && strings.HasPrefix(tool, prefix):
		return match{g, !isPrefix, true, len(prefix), len(fold(prefix))}
	case !isMCP(tool) || !isMCP(g.Match):
		return match{}
	}
	want, got := fold(prefix), fold(tool)
	head, tail, cut := shortened(tool)
	head, tail = fold(head), fold(tail)
	switch {
	case !isPrefix && want == got, isPrefix && strings.HasPrefix(got, want):
	case cut && !isPrefix && strings.HasPrefix(want, head) && strings.HasSuffix(want, tail):
	case cut && isPrefix && strings.HasPrefix(want, head):
	default:
		return match{}
	}
	return match{g, !isPrefix, false, len(want), len(want)}
}

// over reports whether m is the closer of two matches: the exact one, then the longer, then the one as written. Of two
// that are as close the stricter counts, so that the order of the guards says nothing.
func (m match) over(o match) bool {
	switch {
	case m.guard == nil || o.guard == nil:
		return m.guard != nil
	case m.exact != o.exact:
		return m.exact
	case m.written && o.written && m.length != o.length:
		return m.length > o.length
	case m.folded != o.folded:
		return m.folded > o.folded
	case m.written != o.written:
		return m.written
	case (m.guard.Dialect == "") != (o.guard.Dialect == ""):
		return m.guard.Dialect == ""
	}
	return m.guard.Match < o.guard.Match
}

// lifts reports whether a pass takes a tool out of a guard that also holds for it: only the closer one does, and one
// that holds by folding never takes it out of one that holds as written.
func (m match) lifts(o match) bool {
	if o.guard == nil {
		return m.guard != nil
	}
	if m.guard == nil || o.written && !m.written {
		return false
	}
	if m.exact != o.exact {
		return m.exact
	}
	if m.written && o.written {
		return m.length > o.length
	}
	return m.folded > o.folded
}

// guard returns the guard that holds for a tool. The operator's exact name comes first, then our own order tools, which
// no pass can lift, then the longest prefix.
//
//limit:hook-own-tools A tool that is, or ends after an underscore in, paper_place_order_a or _b is guarded whatever the configuration says.
//limit:hook-mcp-names A guard of an MCP tool holds for each of the names that harnesses give it, mcp__server__tool and mcp_server_tool; a pass under one name does not lift a guard as close under the other.
func (c Config) guard(tool string) (ruled, bool) {
	own := ownTool(tool)
	var guards, passes [2]match // folded, as written
	for i := range c.Guards {
		m := c.Guards[i].holds(tool)
		best := &guards
		if m.guard == nil || own != "" && (m.guard.Pass || !m.exact) {
			continue
		}
		if m.guard.Pass {
			best = &passes
		}
		at := 0
		if m.written {
			at = 1
		}
		if m.over(best[at]) {
			best[at] = m
		}
	}
	for _, p := range passes {
		if p.lifts(guards[0]) && p.lifts(guards[1]) {
			return ruled{}, false
		}
	}
	chosen := guards[1]
	if guards[0].over(chosen) {
		chosen = guards[0]
	}
	switch {
	case chosen.guard != nil:
		return c.rule(*chosen.guard, tool, own), true
	case own != "":
		return c.rule(Guard{Match: own, Dialect: own}, tool, own), true
	}
	return ruled{}, false
}
