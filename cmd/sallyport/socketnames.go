package main

import (
	"fmt"
	"strings"

	"sallyport/ledger"
)

// socketConflict says whose name a socket of one agent would also have; empty if each is told from everybody else.
//
//limit:cli-socket-names A socket's agent has no person's name, no other agent's in another case, and no higher tier than its token.
func socketConflict(sockets []agentSocket, people []ledger.Person, agents []ledger.Grant) string {
	for i, s := range sockets {
		for _, p := range people {
			if strings.EqualFold(p.Name, string(s.Agent)) {
				return fmt.Sprintf("the socket %s is of an agent %s, and there is a person %s", s.Path, s.Agent, p.Name)
			}
		}
		for _, g := range agents {
			switch {
			case g.Agent == s.Agent && s.Tier > g.Tier:
				return fmt.Sprintf("the socket %s gives agent %s tier %s, and its token has tier %s", s.Path, s.Agent, s.Tier, g.Tier)
			case g.Agent != s.Agent && strings.EqualFold(string(g.Agent), string(s.Agent)):
				return fmt.Sprintf("the socket %s is of an agent %s, and there is an agent %s", s.Path, s.Agent, g.Agent)
			}
		}
		for _, other := range sockets[:i] {
			if other.Agent != s.Agent && strings.EqualFold(string(other.Agent), string(s.Agent)) {
				return fmt.Sprintf("the sockets %s and %s are of agents %s and %s, which are one name", other.Path, s.Path, other.Agent, s.Agent)
			}
		}
	}
	return ""
}
