package main

import (
	"math"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"sallyport/gate"
	"sallyport/trade"
	"sallyport/wire"
)

// daemonConfig says where the daemon is that an agent's commands connect to. Without an address they decide themselves.
type daemonConfig struct {
	Address   string // unix:/PATH, http://HOST:PORT or https://HOST:PORT
	TokenFile string // absolute path
}

// serveConfig says where the daemon itself listens, and whom it lets connect.
type serveConfig struct {
	Agents, People             string // loopback addresses; none listens on sockets alone
	AgentsGiven, PeopleGiven   bool   // then an address that is taken is an error
	AgentsSocket, PeopleSocket string // absolute paths
	UIDs                       []uint32
	Sockets                    []agentSocket
	TelegramTokenFile          string // absolute path; empty for no Telegram
	TelegramChats              []int64
}

// agentSocket lets the processes of some users in as one agent, without a token.
type agentSocket struct {
	Path  string // absolute
	Agent trade.Agent
	Tier  trade.Tier
	UIDs  []uint32 // beside the daemon's own user
}

// none turns a listener off.
const none = "none"

func defaultServe(home string) serveConfig {
	return serveConfig{
		Agents: "127.0.0.1:8371", People: "127.0.0.1:8372",
		AgentsSocket: filepath.Join(home, "run", "agents.sock"), PeopleSocket: filepath.Join(home, "run", "people.sock"),
	}
}

func (r *configReader) approval(name string, v wire.Value, a *gate.Approval) {
	r.object(v, name, map[string]func(string, wire.Value){
		//limit:config-proposal-expires A proposal expires after 1 s to 24 h.
		"expires": func(n string, v wire.Value) { a.Expires = r.duration(n, v, time.Second, 24*time.Hour) },
		//limit:config-execute-within An approved proposal is executed within 1 s to 60 s.
		"execute_within":               func(n string, v wire.Value) { a.Within = r.duration(n, v, time.Second, time.Minute) },
		"hold_above_notional":          func(n string, v wire.Value) { a.HoldAbove = r.money(n, v) },
		"two_approvers_above_notional": func(n string, v wire.Value) { a.TwoAbove = r.money(n, v) },
		//limit:config-open-proposals An agent may have 1 to 100 open proposals.
		"max_open_proposals": func(n string, v wire.Value) { a.MaxOpen = int(r.integer(n, v, 1, 100)) },
	})
}

func (r *configReader) daemon(name string, v wire.Value, d *daemonConfig) {
	r.object(v, name, map[string]func(string, wire.Value){
		"address": func(n string, v wire.Value) {
			s, ok := r.text(n, v)
			if d.Address = s; ok && !isDaemonAddress(s) {
				r.fail(v, "%s %q is not unix:/PATH or http://HOST:PORT", n, show(s))
			}
			if path, unix := strings.CutPrefix(s, "unix:"); unix && !filepath.IsAbs(path) {
				d.Address = "unix:" + filepath.Join(r.home, path)
			}
		},
		"token_file": func(n string, v wire.Value) { d.TokenFile = r.path(n, v) },
	})
	if v.Kind == wire.Object && d.Address == "" {
		r.fail(v, "%s has no address; without one leave %s out", name, name)
	}
}

// isDaemonAddress reports whether a text can be the address of a daemon, as far as its beginning tells.
func isDaemonAddress(s string) bool {
	for _, scheme := range []string{"unix:", "http://", "https://"} {
		if rest, ok := strings.CutPrefix(s, scheme); ok && rest != "" && !strings.ContainsAny(rest, " \t\r\n\x00") {
			return true
		}
	}
	return false
}

func (r *configReader) serve(name string, v wire.Value, s *serveConfig) {
	r.object(v, name, map[string]func(string, wire.Value){
		"agents":        func(n string, v wire.Value) { s.Agents, s.AgentsGiven = r.listen(n, v), true },
		"people":        func(n string, v wire.Value) { s.People, s.PeopleGiven = r.listen(n, v), true },
		"agents_socket": func(n string, v wire.Value) { s.AgentsSocket = r.path(n, v) },
		"people_socket": func(n string, v wire.Value) { s.PeopleSocket = r.path(n, v) },
		"socket_uids":   func(n string, v wire.Value) { s.UIDs = r.uids(n, v) },
		//limit:config-agent-sockets The daemon makes at most 64 sockets of single agents.
		"sockets": func(n string, v wire.Value) {
			r.list(n, v, 64, func(n string, v wire.Value) { s.Sockets = append(s.Sockets, r.agentSocket(n, v)) })
		},
		"telegram": func(n string, v wire.Value) { r.telegram(n, v, s) },
	})
	seen := map[string]bool{s.PeopleSocket: true}
	for _, path := range append([]string{s.AgentsSocket}, socketPaths(s.Sockets)...) {
		if seen[path] && path != "" {
			r.fail(v, "%s: two listeners have the socket %s; agents and people never share one", name, showPath(path))
		}
		seen[path] = true
	}
}

func socketPaths(all []agentSocket) (paths []string) {
	for _, s := range all {
		paths = append(paths, s.Path)
	}
	return paths
}

func (r *configReader) listen(name string, v wire.Value) string {
	s, ok := r.text(name, v)
	if ok && !isLoopback(s) {
		r.fail(v, `%s %q is not "none" or a loopback address with its port such as "127.0.0.1:8371"`, name, show(s))
	}
	return s
}

// isLoopback reports whether the daemon may listen there.
//
//limit:cli-loopback The daemon listens on loopback addresses only, beside its sockets.
func isLoopback(s string) bool {
	a, err := netip.ParseAddrPort(s)
	return s == none || err == nil && a.Addr().IsLoopback() && a.Addr().Zone() == ""
}

// uids takes operating-system users by their numbers.
//
//limit:config-uids A socket admits at most 64 other users.
func (r *configReader) uids(name string, v wire.Value) (ids []uint32) {
	r.list(name, v, 64, func(n string, v wire.Value) { ids = append(ids, uint32(r.integer(n, v, 0, math.MaxUint32))) })
	return ids
}

func (r *configReader) agentSocket(name string, v wire.Value) (s agentSocket) {
	r.object(v, name, map[string]func(string, wire.Value){
		"path":  func(n string, v wire.Value) { s.Path = r.path(n, v) },
		"agent": func(n string, v wire.Value) { s.Agent = trade.Agent(r.name(n, v)) },
		"tier":  func(n string, v wire.Value) { s.Tier = trade.Tier(r.integer(n, v, 0, int64(trade.TierExecute))) },
		"uids":  func(n string, v wire.Value) { s.UIDs = r.uids(n, v) },
	})
	if v.Kind == wire.Object && (s.Path == "" || s.Agent == "") {
		r.fail(v, "%s needs a path and an agent; without a tier that agent may only read", name)
	}
	return s
}

func (r *configReader) telegram(name string, v wire.Value, s *serveConfig) {
	r.object(v, name, map[string]func(string, wire.Value){
		"token_file": func(n string, v wire.Value) { s.TelegramTokenFile = r.path(n, v) },
		//limit:config-telegram-chats Telegram is listened to in at most 16 chats.
		"chats": func(n string, v wire.Value) {
			r.list(n, v, 16, func(n string, v wire.Value) {
				s.TelegramChats = append(s.TelegramChats, r.integer(n, v, math.MinInt64, math.MaxInt64))
			})
		},
	})
	if v.Kind == wire.Object && (s.TelegramTokenFile == "" || len(s.TelegramChats) == 0) {
		r.fail(v, "%s needs a token_file and at least one of chats: without a listed chat nobody is listened to", name)
	}
}
