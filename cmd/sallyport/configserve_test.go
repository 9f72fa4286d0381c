package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/trade"
)

func TestConfigReadsWhatConcernsPeopleAndTheDaemon(t *testing.T) {
	raw := `{
		"account": "shared",
		"approval": {"expires": "10m", "execute_within": "5s", "hold_above_notional": "2500.00", "two_approvers_above_notional": "25000", "max_open_proposals": 3},
		"daemon": {"address": "unix:run/agents.sock", "token_file": "agent.token"},
		"serve": {
			"agents": "127.0.0.1:0", "people": "none", "agents_socket": "/run/s/agents.sock", "socket_uids": [1000, 4294967295],
			"sockets": [{"path": "run/desk.sock", "agent": "desk", "tier": 1, "uids": [1001]}, {"path": "/x", "agent": "eyes"}],
			"telegram": {"token_file": "telegram.token", "chats": [-1001234567890, 42]},
		},
	}`
	c, err := parseConfig([]byte(raw), home)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Shared || c.Approval.Expires != 10*time.Minute || c.Approval.Within != 5*time.Second || c.Approval.HoldAbove.Money() != "2500.00" ||
		c.Approval.TwoAbove.Money() != "25000.00" || c.Approval.MaxOpen != 3 {
		t.Errorf("approval %+v", c.Approval)
	}
	if want := (daemonConfig{"unix:/data/run/agents.sock", "/data/agent.token"}); c.Daemon != want {
		t.Errorf("daemon %+v", c.Daemon)
	}
	s := c.Serve
	if s.Agents != "127.0.0.1:0" || !s.AgentsGiven || s.People != none || !s.PeopleGiven || s.AgentsSocket != "/run/s/agents.sock" ||
		s.PeopleSocket != "/data/run/people.sock" || !slices.Equal(s.UIDs, []uint32{1000, 4294967295}) {
		t.Errorf("serve %+v", s)
	}
	if len(s.Sockets) != 2 || s.Sockets[0].Path != "/data/run/desk.sock" || s.Sockets[0].Tier != trade.TierPropose ||
		s.Sockets[1].Agent != "eyes" || s.Sockets[1].Tier != trade.TierRead || s.Sockets[1].UIDs != nil {
		t.Errorf("sockets %+v", s.Sockets)
	}
	if s.TelegramTokenFile != "/data/telegram.token" || !slices.Equal(s.TelegramChats, []int64{-1001234567890, 42}) {
		t.Errorf("telegram %+v", s)
	}
}

// TestConfigWithoutAWordOnPeopleHoldsNothingAndServesLocally names what holds by default.
func TestConfigWithoutAWordOnPeopleHoldsNothingAndServesLocally(t *testing.T) {
	c, err := parseConfig([]byte("{}"), home)
	if err != nil {
		t.Fatal(err)
	}
	if c.Shared || c.Approval != (gate.Approval{}) || c.Daemon != (daemonConfig{}) {
		t.Errorf("%+v", c)
	}
	if s := c.Serve; s.Agents != "127.0.0.1:8371" || s.People != "127.0.0.1:8372" || s.AgentsGiven || s.PeopleGiven || s.UIDs != nil ||
		s.AgentsSocket != "/data/run/agents.sock" || s.PeopleSocket != "/data/run/people.sock" || s.Sockets != nil || s.TelegramTokenFile != "" {
		t.Errorf("%+v", s)
	}
}

// TestConfigRefusesWhatWouldLetMoreIn goes past each bound, and tries what could be read as more than was meant.
//
//attack:config-proposal-expires
//attack:config-execute-within
//attack:config-open-proposals
//attack:config-agent-sockets
//attack:config-uids
//attack:config-telegram-chats
//attack:cli-loopback
func TestConfigRefusesWhatWouldLetMoreIn(t *testing.T) {
	many := func(n int, one string) string { return "[" + strings.Repeat(one+",", n-1) + one + "]" }
	sockets := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"path":"s%d","agent":"a"}`, i))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	for _, c := range []struct{ raw, want string }{
		{`{"account":"exclusively"}`, `account "exclusively" is not known; use one of exclusive, shared`},
		{`{"account":true}`, "account is a boolean"},
		{`{"approval":{"expires":"24h1s"}}`, "approval.expires 24h0m1s is not between 1s and 24h"},
		{`{"approval":{"expires":"0s"}}`, "is not between"},
		{`{"approval":{"execute_within":"61s"}}`, "approval.execute_within 1m1s is not between 1s and 1m"},
		{`{"approval":{"execute_within":"0s"}}`, "is not between"},
		{`{"approval":{"max_open_proposals":0}}`, "approval.max_open_proposals 0 is not a whole number from 1 to 100"},
		{`{"approval":{"max_open_proposals":101}}`, "is not a whole number"},
		{`{"approval":{"max_open_proposals":1e1}}`, "is not a whole number"},
		{`{"approval":{"max_open_proposals":"5"}}`, "is text; a whole number is asked"},
		{`{"approval":{"hold_above_notional":2500}}`, "is a number; text is asked"},
		{`{"approval":{"hold_above_notional":"-1"}}`, "is not a plain decimal"},
		{`{"approval":{"two_approvers_above_notional":"1e3"}}`, "is not a plain decimal"},
		{`{"approval":{"auto":true}}`, `the key "approval.auto" is not known`},
		{`{"daemon":{}}`, "daemon has no address"},
		{`{"daemon":{"address":"agents.sock"}}`, "is not unix:/PATH or http://HOST:PORT"},
		{`{"daemon":{"address":"unix:"}}`, "is not unix:/PATH"},
		{`{"daemon":{"address":"http://127.0.0.1:1 x"}}`, "is not unix:/PATH"},
		{`{"daemon":{"address":"unix:a","token":"sp-agent-x"}}`, `the key "daemon.token" is not known`},
		{`{"serve":{"agents":"0.0.0.0:8371"}}`, `serve.agents "0.0.0.0:8371" is not "none" or a loopback address`},
		{`{"serve":{"people":"192.168.1.2:8372"}}`, "is not \"none\" or a loopback address"},
		{`{"serve":{"people":"[::]:8372"}}`, "is not \"none\" or a loopback address"},
		{`{"serve":{"people":":8372"}}`, "is not \"none\" or a loopback address"},
		{`{"serve":{"people":"localhost:8372"}}`, "is not \"none\" or a loopback address"},
		{`{"serve":{"agents":""}}`, "is not \"none\" or a loopback address"},
		{`{"serve":{"socket_uids":[-1]}}`, "serve.socket_uids[0] -1 is not a whole number"},
		{`{"serve":{"socket_uids":[4294967296]}}`, "is not a whole number"},
		{`{"serve":{"socket_uids":["root"]}}`, "is text; a whole number is asked"},
		{`{"serve":{"socket_uids":` + many(65, "1") + `}}`, "serve.socket_uids has 65 elements; at most 64"},
		{`{"serve":{"sockets":` + sockets(65) + `}}`, "serve.sockets has 65 elements; at most 64"},
		{`{"serve":{"sockets":[{"path":"a","agent":"a","tier":3}]}}`, "serve.sockets[0].tier 3 is not a whole number from 0 to 2"},
		{`{"serve":{"sockets":[{"path":"a","agent":"a","tier":258}]}}`, "is not a whole number from 0 to 2"},
		{`{"serve":{"sockets":[{"path":"a","tier":2}]}}`, "needs a path and an agent"},
		{`{"serve":{"sockets":[{"agent":"a"}]}}`, "needs a path and an agent"},
		{`{"serve":{"sockets":[{"path":"run/people.sock","agent":"a"}]}}`, "two listeners have the socket /data/run/people.sock"},
		{`{"serve":{"agents_socket":"run/people.sock"}}`, "agents and people never share one"},
		{`{"serve":{"sockets":[{"path":"a","agent":"a"},{"path":"./a","agent":"b"}]}}`, "two listeners have the socket"},
		{`{"serve":{"telegram":{"token_file":"t","chats":[]}}}`, "at least one of chats"},
		{`{"serve":{"telegram":{"chats":[1]}}}`, "needs a token_file"},
		{`{"serve":{"telegram":{"token":"1:a","chats":[1]}}}`, `the key "serve.telegram.token" is not known`},
		{`{"serve":{"telegram":{"token_file":"t","chats":` + many(17, "1") + `}}}`, "chats has 17 elements; at most 16"},
		{`{"tier":2}`, `the key "tier" is not known`},
	} {
		if got, err := parseConfig([]byte(c.raw), home); err == nil {
			t.Errorf("%.80s was taken as %+v", c.raw, got)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: the error is\n%v\nwant in it\n%s", c.raw, err, c.want)
		}
	}
	for _, a := range []string{none, "127.0.0.1:0", "127.9.9.9:65535", "[::1]:1"} {
		if !isLoopback(a) {
			t.Errorf("%s is not taken", a)
		}
	}
}
