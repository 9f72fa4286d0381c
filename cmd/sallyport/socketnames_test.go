package main

import (
	"testing"

	"sallyport/ledger"
	"sallyport/trade"
)

//attack:cli-socket-names
func TestSocketsHaveNobodyElsesName(t *testing.T) {
	people := []ledger.Person{{Name: "kim"}}
	agents := []ledger.Grant{{Agent: "desk", Tier: trade.TierPropose}}
	for name, c := range map[string]struct {
		sockets []agentSocket
		refused bool
	}{
		"nobody's":             {[]agentSocket{{Path: "a", Agent: "bot", Tier: trade.TierExecute}, {Path: "b", Agent: "bot"}}, false},
		"its token's":          {[]agentSocket{{Path: "a", Agent: "desk", Tier: trade.TierPropose}}, false},
		"more than its token":  {[]agentSocket{{Path: "a", Agent: "desk", Tier: trade.TierExecute}}, true},
		"a token's, in case":   {[]agentSocket{{Path: "a", Agent: "DESK"}}, true},
		"a person's":           {[]agentSocket{{Path: "a", Agent: "kim"}}, true},
		"a person's, in case":  {[]agentSocket{{Path: "a", Agent: "Kim"}}, true},
		"another socket's":     {[]agentSocket{{Path: "a", Agent: "bot"}, {Path: "b", Agent: "BOT"}}, true},
		"another, behind both": {[]agentSocket{{Path: "a", Agent: "x"}, {Path: "b", Agent: "bot"}, {Path: "c", Agent: "Bot"}}, true},
	} {
		if why := socketConflict(c.sockets, people, agents); (why != "") != c.refused {
			t.Errorf("%s: %q", name, why)
		}
	}
}
