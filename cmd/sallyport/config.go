package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/tailscale/hujson"

	"sallyport/gate"
	"sallyport/hook"
	"sallyport/trade"
	"sallyport/wire"
)

// configName is the configuration file's name in the data directory.
const configName = "sallyport.json"

// agentVariable names the environment variable that says which agent is calling.
const agentVariable = "SALLYPORT_AGENT"

// config is what sallyport.json says: JSON with comments and trailing commas. The file is optional, and so is every
// key; unknown and duplicate keys are errors. Flags win over the environment (SALLYPORT_HOME, SALLYPORT_AGENT,
// SALLYPORT_DAEMON and what names a token), which wins over the file, which wins over the defaults. Relative paths start at
// the data directory. What a process may do, SALLYPORT_TIER, is in the environment only.
//
//	{
//	  "agent": "local",                  // who proposes, unless SALLYPORT_AGENT says so
//	  "policy": "policy.json",           // the operator's limits
//	  "quotes": "quotes.jsonl",          // what the paper venue trades at: {symbol, bid, ask, last, at} a line
//	  "sources": {"second": "other.jsonl"},  // more quotes, by the names that a policy of version 2 has for them
//	  "instruments": "instruments.jsonl",  // what orders must fit; without the file US equities
//	  "paper": {"cash": "100000.00"},    // what a new paper venue starts with
//	  "guards": [                        // tools that the hooks guard beside our own order tools
//	    {"match": "mcp__alpaca__place_order", "dialect": "alpaca"},
//	    {"match": "mcp__alpaca__get_*", "pass": true}
//	  ],
//	  "require_hook": false,             // execute only what a hook permitted
//	  "deadlines": {
//	    "outcome": "60s",                // then a missing outcome is unknown
//	    "send": "5s",                    // from the decision to the first byte that leaves
//	    "broker": "10s",                 // for the broker's answer
//	    "lock": "1s"                     // for the journal's lock
//	  },
//	  "account": "exclusive",            // or "shared": what no decision explains there is told, and stops nothing
//	  "approval": {                      // how proposals wait for people
//	    "expires": "30m",                // 1 s to 24 h
//	    "execute_within": "15s",         // from the last approval, 1 s to 60 s
//	    "hold_above_notional": "2500.00",          // none is held for its value without it
//	    "two_approvers_above_notional": "25000.00",
//	    "max_open_proposals": 5          // of one agent, 1 to 100
//	  },
//	  "daemon": {                        // agents' commands go to a daemon instead of deciding themselves
//	    "address": "unix:run/agents.sock",         // or http://127.0.0.1:8371; SALLYPORT_DAEMON wins
//	    "token_file": "agent.token"      // only its owner can read it; SALLYPORT_TOKEN(_FILE) wins
//	  },
//	  "serve": {                         // of the daemon itself
//	    "agents": "127.0.0.1:8371",      // loopback, for agents with a token; "none" for sockets alone
//	    "people": "127.0.0.1:8372",      // loopback, for people with a credential
//	    "agents_socket": "run/agents.sock",
//	    "people_socket": "run/people.sock",
//	    "socket_uids": [1000],           // other users whose processes may connect to the two sockets
//	    "sockets": [                     // each lets one agent in without a token
//	      {"path": "run/desk.sock", "agent": "desk", "tier": 1, "uids": [1001]}
//	    ],
//	    "telegram": {"token_file": "telegram.token", "chats": [-1001234567890]}
//	  }
//	}
type config struct {
	Agent       trade.Agent
	Policy      string            // absolute path
	Quotes      string            // absolute path
	Sources     map[string]string // absolute paths, by name; beside Quotes, which is file
	Instruments string            // absolute path
	Listed      bool              // the file of instruments is named, so that it must be there
	Cash        trade.Decimal
	Guards      []hook.Guard // beside the order tools of our own, which are always guarded
	RequireHook bool
	Deadlines   deadlines
	Shared      bool // the account
	Approval    gate.Approval
	Daemon      daemonConfig
	Serve       serveConfig
}

// deadlines bound the steps of an order; what is zero is the gate's own default.
type deadlines struct{ Outcome, Send, Broker, Lock time.Duration }

// defaultConfig is what holds without a file.
func defaultConfig(home string) config {
	cash, _ := trade.ParseDecimal("100000.00")
	return config{
		Agent: "local", Cash: cash,
		Policy: filepath.Join(home, "policy.json"), Quotes: filepath.Join(home, "quotes.jsonl"),
		Instruments: filepath.Join(home, "instruments.jsonl"),
		Serve:       defaultServe(home),
	}
}

// loadConfig reads sallyport.json of a data directory, if there is one.
func loadConfig(home string) (config, error) {
	path := filepath.Join(home, configName)
	raw, refused, err := readOwned(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return defaultConfig(home), nil
	case refused != "":
		return config{}, usage(ownRepair(path), "the configuration is not used: %s", refused)
	case err != nil:
		return config{}, usage("Make it readable for this user, or remove it.", "the configuration cannot be read: %s", plain(err))
	}
	c, err := parseConfig(raw, home)
	if err != nil {
		return config{}, usage("Correct "+showPath(path)+"; every key is optional.", "the configuration is not valid:\n%s", plain(err))
	}
	return c, nil
}

// maxConfigDepth bounds the nesting of sallyport.json.
//
//limit:config-depth The configuration is nested at most 8 levels.
const maxConfigDepth = 8

// parseConfig reads the bytes of sallyport.json. Every error is reported, each with its line and column.
func parseConfig(raw []byte, home string) (config, error) {
	if err := checkDepth(raw); err != nil {
		return config{}, err
	}
	std, err := hujson.Standardize(bytes.Clone(raw))
	if err != nil {
		return config{}, errors.New(configName + ": " + strings.TrimPrefix(err.Error(), "hujson: "))
	}
	v, err := wire.Read(std, wire.Limits{Bytes: maxConfig, Depth: maxConfigDepth})
	if err != nil {
		return config{}, fmt.Errorf("%s: %w", configName, err)
	}
	c := defaultConfig(home)
	r := configReader{raw: std, home: home}
	r.object(v, "", map[string]func(string, wire.Value){
		"agent":        func(n string, v wire.Value) { c.Agent = trade.Agent(r.name(n, v)) },
		"policy":       func(n string, v wire.Value) { c.Policy = r.path(n, v) },
		"quotes":       func(n string, v wire.Value) { c.Quotes = r.path(n, v) },
		"sources":      func(n string, v wire.Value) { c.Sources = r.sources(n, v) },
		"instruments":  func(n string, v wire.Value) { c.Instruments, c.Listed = r.path(n, v), true },
		"paper":        func(n string, v wire.Value) { r.paper(n, v, &c) },
		"guards":       func(n string, v wire.Value) { c.Guards = r.guards(v) },
		"require_hook": func(n string, v wire.Value) { c.RequireHook = r.boolean(n, v) },
		"deadlines":    func(n string, v wire.Value) { r.deadlines(n, v, &c.Deadlines) },
		"account":      func(n string, v wire.Value) { c.Shared = r.word(n, v, "exclusive", "shared") == "shared" },
		"approval":     func(n string, v wire.Value) { r.approval(n, v, &c.Approval) },
		"daemon":       func(n string, v wire.Value) { r.daemon(n, v, &c.Daemon) },
		"serve":        func(n string, v wire.Value) { r.serve(n, v, &c.Serve) },
	})
	if len(r.errs) > 0 {
		return config{}, errors.Join(r.errs...)
	}
	return c, nil
}

// checkDepth refuses deep nesting before a recursive reader sees it. It also counts brackets in text and comments, of
// which a real configuration has no such run.
func checkDepth(raw []byte) error {
	depth := 0
	for i, c := range raw {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if depth > 100 {
			return fmt.Errorf("%s: %s: nested too deeply", configName, place(raw, i))
		}
	}
	return nil
}

// place says where an offset is, for people.
func place(raw []byte, offset int) string {
	offset = min(max(offset, 0), len(raw))
	line := 1 + bytes.Count(raw[:offset], []byte{'\n'})
	return fmt.Sprintf("line %d, column %d", line, offset-bytes.LastIndexByte(raw[:offset], '\n'))
}
