package hook

import (
	"fmt"
	"regexp"
	"strings"

	"sallyport/trade"
)

// watched is one tool that must reach the hook.
type watched struct {
	guard string   // as it is written in sallyport.json; empty for a tool of our own
	names []string // that the harness may give it, of which one must be taken
	// optional says that it is a tool of our own that the operator did not ask for beside guards of their own.
	optional bool
}

// watched returns the tools that must reach the hook, one for each guard, and our own.
func (in *inspection) watched() (all []watched) {
	for _, g := range in.target.Guards {
		if g.Pass {
			continue
		}
		prefix, isPrefix := strings.CutSuffix(g.Match, "*")
		one := watched{guard: g.Match, names: spellings(in.target.Harness, prefix)}
		for i, n := range one.names {
			n = cleaned(in.target.Harness, n)
			one.names[i] = n
			if isPrefix {
				one.names[i] = n + "x"
			} else if in.target.Harness == "gemini" && isMCP(n) && len(n) > geminiName {
				one.names[i] = n[:28] + "___" + n[len(n)-32:]
			}
		}
		all = append(all, one)
	}
	optional := len(all) > 0
	prefix := "mcp__sallyport__"
	switch in.target.Harness {
	case "gemini":
		prefix = "mcp_sallyport_"
	case "hermes":
		prefix = ""
	}
	for _, own := range []string{"paper_place_order_a", "paper_place_order_b"} {
		all = append(all, watched{names: []string{prefix + own}, optional: optional})
	}
	return all
}

// names returns the names of the guarded tools.
func (in *inspection) names() (names []string) {
	for _, g := range in.watched() {
		names = append(names, g.names...)
	}
	return names
}

// coverage checks that each guarded tool is taken by one of our hooks of an event.
func (in *inspection) coverage(event string, mine []entry, severity Severity) {
	for _, g := range in.watched() {
		taken, why := false, ""
		for _, e := range mine {
			for _, name := range g.names {
				ok, problem := e.takes(in.target.Harness, name)
				taken = taken || ok
				if problem != "" && why == "" {
					why = fmt.Sprintf(": the matcher %q of %s %s", trade.Printable(e.matcher, 64), e.at, problem)
				}
			}
		}
		switch name := g.names[0]; {
		case taken:
		case g.optional:
			in.say(Warn, "%s does not take %s%s. Such a call is judged by Sallyport's own server alone", event, name, why)
		default:
			in.say(severity, "%s does not take %s, which is guarded%s. Write the matcher %s", event, name, why, in.target.matcher())
		}
	}
}

// takes reports whether a hook's matcher takes a tool, and what is wrong with it if it does not.
func (e entry) takes(harness, tool string) (ok bool, problem string) {
	if e.all {
		return true, ""
	}
	if harness != "hermes" && strings.IndexFunc(e.matcher, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '|'
	}) < 0 {
		for _, word := range strings.Split(e.matcher, "|") {
			if word == tool {
				return true, ""
			}
		}
		return false, "is a plain word, which is taken as one exact name; write .* behind it"
	}
	m := strings.TrimSpace(e.matcher)
	whole, err := regexp.Compile("^(?:" + m + ")$")
	if err != nil {
		return false, "is not a regular expression that can be read here"
	}
	if whole.MatchString(tool) {
		return true, ""
	}
	part, err := regexp.Compile(m)
	if harness != "hermes" && err == nil && part.MatchString(tool) {
		return true, ""
	}
	return false, "does not match it"
}

// idle points at guards that hold for no tool of this harness, whatever is armed.
func (in *inspection) idle() {
	cfg := Config{Guards: in.target.Guards}
	for _, g := range in.watched() {
		if g.guard == "" {
			continue
		}
		holds := false
		for _, name := range g.names {
			_, ok := cfg.guard(name)
			holds = holds || ok
		}
		rest, double := strings.CutPrefix(g.guard, "mcp__")
		switch {
		case !holds:
			in.say(Fail, "the guard %s takes nothing in %s, which calls such a tool %s. Write that name in sallyport.json", g.guard, in.target.Harness, g.names[0])
		case double && !strings.HasSuffix(rest, "*") && !strings.Contains(strings.Trim(rest, "_"), "__"):
			in.say(Fail, "the guard %s takes nothing: it names a server and no tool. Write %s__* in sallyport.json for all tools of the server", g.guard, strings.TrimRight(g.guard, "_"))
		}
	}
}
