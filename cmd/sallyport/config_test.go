package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const home = "/data"

func TestConfigOfAnEmptyObjectIsTheDefault(t *testing.T) {
	for _, raw := range []string{"{}", " {\n} ", "// nothing\n{/* at all */}\n"} {
		got, err := parseConfig([]byte(raw), home)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		want := defaultConfig(home)
		if got.Agent != want.Agent || got.Policy != want.Policy || got.Quotes != want.Quotes || got.Deadlines != want.Deadlines ||
			got.Deadlines != (deadlines{}) || got.Cash.Cmp(want.Cash) != 0 || got.RequireHook || got.Guards != nil {
			t.Errorf("%q gave %+v, want %+v", raw, got, want)
		}
	}
}

func TestConfigReadsEveryKey(t *testing.T) {
	raw := `{
		// who proposes
		"agent": "desk.1", "policy": "limits/policy.json", "quotes": "/srv/quotes.jsonl",
		"paper": {"cash": "2500.50"}, /* small */
		"guards": [{"match": "mcp__alpaca__place_order", "dialect": "alpaca"}, {"match": "mcp__alpaca__get_*", "pass": true},],
		"require_hook": true,
		"deadlines": {"outcome": "2m", "send": "1s", "broker": "3s", "lock": "250ms"},
	}`
	c, err := parseConfig([]byte(raw), home)
	if err != nil {
		t.Fatal(err)
	}
	if c.Agent != "desk.1" || c.Policy != "/data/limits/policy.json" || c.Quotes != "/srv/quotes.jsonl" ||
		c.Cash.Money() != "2500.50" || !c.RequireHook || len(c.Guards) != 2 || !c.Guards[1].Pass {
		t.Errorf("got %+v", c)
	}
	if want := (deadlines{2 * time.Minute, time.Second, 3 * time.Second, 250 * time.Millisecond}); c.Deadlines != want {
		t.Errorf("deadlines %+v, want %+v", c.Deadlines, want)
	}
}

// TestConfigRefuses names for each broken file what the error must say, and where.
//
//attack:config-depth
//attack:config-name
//attack:config-deadline-outcome
//attack:config-deadline-send
//attack:config-deadline-broker
//attack:config-deadline-lock
func TestConfigRefuses(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{``, "line 1"},
		{`null`, "the file is null; an object is asked"},
		{`[]`, "the file is an array"},
		{`{} {}`, "line 1, column 4"},
		{`{"agent":"a"`, "line 1"},
		{"{\n  \"agnet\": true}", `line 2, column 3: the key "agnet" is not known; the keys are account, agent, approval, daemon, deadlines`},
		{"{\"agent\":\"a\",\n\"agent\":\"a\"}", `line 2, column 1: the key "agent" is given twice`},
		{"{\n\"Agent\":\"a\"}", `line 2, column 1: the key "Agent" is not known`},
		{`{"agent":1}`, "agent is a number; text is asked"},
		{`{"agent":null}`, "agent is null"},
		{`{"agent":""}`, `agent "" is not 1 to 64`},
		{`{"agent":"` + strings.Repeat("a", 65) + `"}`, "is not 1 to 64"},
		{`{"agent":"two words"}`, "is not 1 to 64"},
		{"{\"agent\":\"\u202egnp\"}", `"\\u202egnp"`},
		{`{"policy":""}`, "policy is not a path"},
		{`{"policy":"a\u0000b"}`, "policy is not a path"},
		{`{"quotes":["q"]}`, "quotes is an array"},
		{`{"paper":"cash"}`, "paper is text; an object is asked"},
		{`{"paper":{"cash":100}}`, "paper.cash is a number; text is asked"},
		{`{"paper":{"cash":"-1"}}`, `paper.cash "-1" is not a plain decimal`},
		{`{"paper":{"cash":"1e6"}}`, "is not a plain decimal"},
		{`{"paper":{"money":"1"}}`, `the key "paper.money" is not known; the keys are cash`},
		{`{"require_hook":"true"}`, "require_hook is text; true or false is asked"},
		{`{"require_hook":1}`, "require_hook is a number"},
		{`{"guards":{}}`, "guards is an object"},
		{`{"guards":[{"match":"x","dialect":"no such"}]}`, "guards[0]"},
		{`{"guards":[{"match":"x","dialect":"alpaca","why":"?"}]}`, "guards[0]"},
		{`{"deadlines":{"outcome":"999ms"}}`, "deadlines.outcome 999ms is not between 1s and 1h"},
		{`{"deadlines":{"outcome":"1h1s"}}`, "is not between"},
		{`{"deadlines":{"send":"99ms"}}`, "deadlines.send 99ms is not between 100ms and 1m"},
		{`{"deadlines":{"send":"61s"}}`, "is not between"},
		{`{"deadlines":{"broker":"1ms"}}`, "deadlines.broker 1ms is not between"},
		{`{"deadlines":{"broker":"61s"}}`, "is not between"},
		{`{"deadlines":{"lock":"9ms"}}`, "deadlines.lock 9ms is not between 10ms and 10s"},
		{`{"deadlines":{"lock":"11s"}}`, "is not between"},
		{`{"deadlines":{"lock":"-1s"}}`, "is not between"},
		{`{"deadlines":{"lock":5}}`, "deadlines.lock is a number"},
		{`{"deadlines":{"lock":"5"}}`, `deadlines.lock "5" is not a duration`},
		{`{"deadlines":{"lock":"9223372036854775807h"}}`, "is not a duration"},
		{`{"paper":` + strings.Repeat("[", 9) + strings.Repeat("]", 9) + `}`, "nested too deeply"},
		{strings.Repeat("[", 1<<20), "nested too deeply"},
		{strings.Repeat(`{"a":`, 1<<17), "nested too deeply"},
		{"{\"agent\":\"\xff\"}", "line 1"},
	} {
		got, err := parseConfig([]byte(c.raw), home)
		if err == nil {
			t.Errorf("%.60q was taken as %+v", c.raw, got)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: the error is\n%v\nwant in it\n%s", c.raw, err, c.want)
		}
		if !strings.HasPrefix(err.Error(), configName+": ") {
			t.Errorf("%.60q: the error does not begin with the file's name: %v", c.raw, err)
		}
	}
}

func TestConfigReportsEveryError(t *testing.T) {
	_, err := parseConfig([]byte("{\"agent\":1,\n\"nope\":2,\n\"paper\":{\"cash\":\"x\"}}"), home)
	if err == nil {
		t.Fatal("it was taken")
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 3 {
		t.Errorf("%d errors, want 3:\n%v", len(lines), err)
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, s := range []string{
		"{}", `{"agent":"a","guards":[{"match":"x*","dialect":"alpaca"}]}`, "// c\n{\"policy\":\"p\",}", `{"deadlines":{"lock":"1s"}}`,
		`{"paper":{"cash":"1"}}`, "[[[[", `{"a":{"b":{"c":[1,2,{"d":null}]}}}`, "/*", "{\"agent\":\"\x00\"}",
		`{"approval":{"expires":"24h","execute_within":"60s","max_open_proposals":100,"hold_above_notional":"0"}}`,
		`{"serve":{"agents":"[::1]:1","sockets":[{"path":"s","agent":"a","tier":2,"uids":[0]}],"telegram":{"token_file":"t","chats":[-1]}}}`,
		`{"daemon":{"address":"unix:x"},"account":"shared"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := string(raw)
		c, err := parseConfig(raw, home)
		if string(raw) != before {
			t.Fatal("the input was changed")
		}
		if err != nil {
			if !strings.HasPrefix(err.Error(), configName) {
				t.Errorf("an error without its file: %v", err)
			}
			return
		}
		d := c.Deadlines
		if !isName(string(c.Agent)) || !filepath.IsAbs(c.Policy) || !filepath.IsAbs(c.Quotes) || c.Cash.Sign() < 0 ||
			d.Outcome < 0 || d.Outcome > time.Hour || d.Send < 0 || d.Send > time.Minute || d.Broker < 0 || d.Broker > time.Minute || d.Lock < 0 || d.Lock > 10*time.Second {
			t.Errorf("a configuration out of its bounds was taken: %+v", c)
		}
		if a, s := c.Approval, c.Serve; a.Expires < 0 || a.Expires > 24*time.Hour || a.Within < 0 || a.Within > time.Minute || a.MaxOpen < 0 || a.MaxOpen > 100 ||
			!isLoopback(s.Agents) || !isLoopback(s.People) || !filepath.IsAbs(s.AgentsSocket) || !filepath.IsAbs(s.PeopleSocket) || s.AgentsSocket == s.PeopleSocket ||
			c.Daemon.Address != "" && !isDaemonAddress(c.Daemon.Address) || s.TelegramTokenFile != "" && len(s.TelegramChats) == 0 {
			t.Errorf("a configuration out of its bounds was taken: %+v", c)
		}
		for _, x := range c.Serve.Sockets {
			if !filepath.IsAbs(x.Path) || x.Path == c.Serve.PeopleSocket || !isName(string(x.Agent)) || x.Tier > 2 {
				t.Errorf("a socket out of its bounds was taken: %+v", x)
			}
		}
	})
}

// TestReadTrustedRefuses tries every file that somebody else could have changed.
//
//attack:config-owner
//attack:config-bytes
func TestReadTrustedRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, size int, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Repeat(" ", size)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	files := map[string]string{
		write("group", 2, 0o620):          "can be written by group or others (mode 0620)",
		write("others", 2, 0o602):         "can be written by group or others (mode 0602)",
		write("long", maxConfig+1, 0o600): "is over 1048576 bytes",
		dir:                               "is not a regular file",
		os.DevNull:                        "is not a regular file",
	}
	if os.Geteuid() == 0 {
		foreign := write("foreign", 2, 0o600)
		if err := os.Chown(foreign, 4711, 0); err != nil {
			t.Fatal(err)
		}
		files[foreign] = "belongs to another user (uid 4711)"
	}
	for path, want := range files {
		if raw, refused, err := readOwned(path); err == nil || !strings.HasPrefix(refused, path+" ") || !strings.Contains(refused, want) || raw != nil {
			t.Errorf("%s: refused as %q, %v, want %q in it", path, refused, err, want)
		}
	}
	if raw, refused, err := readOwned(write("whole", maxConfig, 0o644)); err != nil || refused != "" || len(raw) != maxConfig {
		t.Errorf("a readable file of 1 MiB: %d bytes, %q, %v", len(raw), refused, err)
	}
	if _, refused, err := readOwned(filepath.Join(dir, "nowhere")); !errors.Is(err, fs.ErrNotExist) || refused != "" {
		t.Errorf("no file: %q, %v", refused, err)
	}
}

// TestReadOwnedDoesNotWaitForAFifo would hang if opening did.
func TestReadOwnedDoesNotWaitForAFifo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	mkfifo(t, path)
	if _, refused, err := readOwned(path); err == nil || !strings.Contains(refused, "not a regular file") {
		t.Errorf("%q, %v", refused, err)
	}
}

func TestResolveHomePrefersFlagThenEnvironmentThenDefault(t *testing.T) {
	env := map[string]string{"SALLYPORT_HOME": "/env", "HOME": "/home/u"}
	getenv := func(name string) string { return env[name] }
	for _, c := range []struct {
		flag       given
		drop, want string
	}{
		{given{"/flag", true}, "", "/flag"}, {given{}, "", "/env"}, {given{}, "SALLYPORT_HOME", "/home/u/.sallyport"},
	} {
		delete(env, c.drop)
		if got, err := resolveHome(c.flag, getenv); err != nil || got != c.want {
			t.Errorf("flag %+v without %q: %q, %v; want %q", c.flag, c.drop, got, err, c.want)
		}
	}
	if _, err := resolveHome(given{"", true}, getenv); err == nil || problemOf(err).exit != exitUsage {
		t.Errorf("an empty flag: %v", err)
	}
	delete(env, "HOME")
	if _, err := resolveHome(given{}, getenv); err == nil || problemOf(err).exit != exitUsage {
		t.Errorf("without any home: %v", err)
	}
}
