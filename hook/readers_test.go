package hook

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"sallyport/wire"
)

// plainTree writes a tree of settings in one line.
func plainTree(v wire.Value) string {
	var parts []string
	switch v.Kind {
	case wire.Object:
		for _, m := range v.Members {
			parts = append(parts, m.Name+"="+plainTree(m.Value))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case wire.Array:
		for _, e := range v.Elems {
			parts = append(parts, plainTree(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case wire.Null:
		return "null"
	}
	return v.Text
}

func TestYAMLReaderReadsWhatHermesConfigurationsAreMadeOf(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "null",
		"# only\n\n":                             "null",
		"---\na: 1\n":                            "{a=1}",
		"a: 1\nb: two words # c\n":               "{a=1,b=two words}",
		"a:\nb:\n":                               "{a=null,b=null}",
		"a:\n  b:\n    c: 1\n  d: 2\ne: 3":       "{a={b={c=1},d=2},e=3}",
		"a:\n  - 1\n  - b: 2\n    c: 3\n":        "{a=[1,{b=2,c=3}]}",
		"a:\n- 1\n- 2\nb: 3\n":                   "{a=[1,2],b=3}",
		"a:\n- b:\n  - 1\n- c: 2\n":              "{a=[{b=[1]},{c=2}]}",
		"a:\n  -\n    b: 1\n":                    "{a=[{b=1}]}",
		"a:\n  - - 1\n    - 2\n":                 "{a=[[1,2]]}",
		"a: [x, 'y z', \"q\", 1]  # c\n":         "{a=[x,y z,q,1]}",
		"a: []\nb: {}\n":                         "{a=[],b={}}",
		"a: 'it''s: #no'\n":                      "{a=it's: #no}",
		"a: \"x\\\"\\\\\\n\"\n":                  "{a=x\"\\\n}",
		"'a b': 1\n\"c:d\": 2\n":                 "{a b=1,c:d=2}",
		"a: http://x:80/y\n":                     "{a=http://x:80/y}",
		"a: yes\nb: Off\nc: ~\n":                 "{a=true,b=false,c=null}",
		"a: |\n  hooks:\n   x: y\n\n  z\nb: 1\n": "{a=|,b=1}",
		"a: >-\n  folded\nb: 1":                  "{a=>-,b=1}",
		"a: -5\nb: 1.5\nc: 5s\n":                 "{a=-5,b=1.5,c=5s}",
		"a: 1\r\nb: 2\r\n":                       "{a=1,b=2}",
	} {
		v, err := readYAML([]byte(text))
		if err != nil || plainTree(v) != want {
			t.Errorf("%q: %s, %v; want %s", text, plainTree(v), err, want)
		}
	}
}

func TestYAMLReaderRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, text := range []string{
		"a: &x 1\n", "a: *x\n", "a: !!str 1\n", "a: {b: 1}\n", "? a\n: b\n", "<<: *x\n", "a: 1\n---\nb: 2\n", "a: 1\n...\n",
		"a: one\n  two\n", "a: 'one\n  two'\n", "\ta: 1\n", "a:\n\tb: 1\n", "a:\n    b: 1\n  c: 2\n", "a: 1\n b: 2\n", "a: 1\na: 2\n",
		"a: \"\\x41\"\n", "a: 'x' y\n", "a: [1, [2]]\n", "a: [1\n", "a: [1,,2]\n", "a: [a: b]\n", "a\n", "- a\nb: 1\n", "a: b: c\n", "%TAG\n", "a: @x\n",
		"- - a\n b: 1\n", "a: [\"x\" y]\n", "a: \"x\n",
	} {
		if v, err := readYAML([]byte(text)); err == nil {
			t.Errorf("%q was read as %s", text, plainTree(v))
		} else if !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTOMLReaderRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, text := range []string{
		"a = \"\"\"x\"\"\"\n", "a = '''x'''\n", "a = \"x\n\"\n", "a = \"\\u0041\"\n", "a = \n", "a\n", "= 1\n", "a = 1 b = 2\n", "[a\n", "[[a]\n", "[a]]\n",
		"[a]\n[a]\n", "a = 1\na = 2\n", "a = 1\n[a]\n", "a = [1\n", "a = [1 2]\n", "a = {b = 1\n", "a = {b = {c = 1}}\n", "a = {b = 1}\n[a.c]\n", "a = []\n[[a]]\n",
		"[a]\n[[a]]\n", "[[a]]\n[a]\n", "a.b = 1\na.b = 2\n", "[]\n", "[a.]\n", "a = {b = 1, b = 2}\n", "a = [,]\n", "\x00 = 1\n", "a b = 1\n",
	} {
		if v, err := readTOML([]byte(text)); err == nil {
			t.Errorf("%q was read as %s", text, plainTree(v))
		}
	}
}

func TestCommentsAreBlankedOutsideOfStringsOnly(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"//x"} // y`:    `{"a":"//x"}     `,
		"{/* a\nb */\"c\":1}": "{    \n    \"c\":1}",
		`{"a":"\"// x"}`:      `{"a":"\"// x"}`,
		`{"a":"/*"}/*`:        `{"a":"/*"}  `,
		`"unended //`:         `"unended //`,
		"1 // a\n// b\n2":     "1     \n    \n2",
		`/`:                   `/`,
	} {
		if got := string(blankComments([]byte(text))); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestSplitWordsFollowsTheShell(t *testing.T) {
	for text, want := range map[string]string{
		"/a/b hook claude":        "/a/b|hook|claude",
		"  '/a b/c'  hook ":       "/a b/c|hook",
		`'/it'"'"'s' x`:           "/it's|x",
		`"/a b" ''`:               "/a b|",
		"a;b":                     "<nil>",
		"a $HOME":                 "<nil>",
		"a `b`":                   "<nil>",
		`"$x"`:                    "<nil>",
		"a 'b":                    "<nil>",
		`a\ b`:                    "<nil>",
		"~/sallyport hook claude": "<nil>",
		"":                        "<nil>",
	} {
		got := "<nil>"
		if words := splitWords(text, true); words != nil {
			got = strings.Join(words, "|")
		}
		if got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func FuzzEventReader(f *testing.F) {
	for run, harness := range recordedRuns() {
		for _, event := range recorded(f, run) {
			f.Add(harness, []byte(event))
		}
	}
	for harness, events := range preEvents(orderArgs) {
		for _, event := range events {
			f.Add(harness, []byte(event))
		}
	}
	f.Add("codex", []byte(preEvents("{\n\"symbol\": \"AAPL\",\n\"side\": \"buy\", \"quantity\": 1\t, \"limit_price\": \"1.50\"}")["codex"][0]))
	f.Add("hermes", []byte(`{"tool_name":"x","args":{},"extra":{"extra":1}}`))
	f.Add("claude", []byte(`{"hook_event_name":"PreToolUse","hook_event_name":"PostToolUse"}`))
	f.Fuzz(func(t *testing.T, harness string, event []byte) {
		cfg := benchConfig(harness, &fakeGate{})
		cfg.Deadline = 10 * time.Second
		var stdout, stderr bytes.Buffer
		code := Run(context.Background(), cfg, bytes.NewReader(event), &stdout, &stderr)
		s := said{code, stdout.String(), stderr.String()}
		s.check(t)
		h, known := findHarness(harness)
		if !known && code != 2 {
			t.Fatalf("an unknown harness passed: %+v", s)
		}
		if !known {
			return
		}
		ev, bad := h.read(event)
		if bad != nil && !ev.kind.isAfter() && code != 2 {
			t.Fatalf("a bad event passed: %+v", s)
		}
		if ev.args != nil && !bytes.Contains(event, ev.args) {
			t.Fatalf("the arguments are not those received: %q", ev.args)
		}
		if own := ownTool(ev.tool); bad == nil && own != "" && !ev.kind.isAfter() && s == (said{}) {
			t.Fatalf("%s passed", ev.tool)
		}
	})
}

func FuzzInspect(f *testing.F) {
	for _, harness := range harnesses() {
		s, err := Print(Target{Harness: harness, Binary: "/usr/local/bin/sallyport", Guards: benchGuards()})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(harness, []byte(s.Text))
	}
	f.Add("hermes", []byte("a:\n- b:\n  - |\n   c\n"))
	f.Add("codex", []byte("[[a]]\n[a.b]\nc = [{d = 1}]\n"))
	f.Add("gemini", []byte("{/*"))
	f.Fuzz(func(t *testing.T, harness string, settings []byte) {
		to := target(harness)
		to.Guards = benchGuards()
		found := Inspect(to, settings)
		if len(found) == 0 {
			t.Fatal("nothing is said")
		}
		severity, _ := worst(found)
		if severity != Fail && !bytes.Contains(settings, []byte("sallyport")) && !bytes.ContainsRune(settings, '\\') {
			t.Fatalf("armed without sallyport: %+v", found)
		}
	})
}
