package replay

import (
	"sallyport/ledger"
	"sallyport/trade"
)

// told is an intent that an exported tape has.
type told struct {
	side  trade.Side
	call  ledger.Key // that its own id is bound by; without a name if it has none
	lost  bool       // what the tape does not take was filled, so that it knows less of the order
	ended bool

	// On the tape the order itself, or its exits, were cancelled, or a stop has cancelled them: it takes no fill of them.
	over, exitsOver bool
}

// deaf reports whether the tape takes no fill of the order itself, or of its exits.
func (t *told) deaf(own bool) bool { return t.lost || own && t.over || !own && t.exitsOver }

// asked takes in that a stop has asked for a cancel, which on the tape the stop's own line does.
func (t *told) asked(exits bool) {
	if exits {
		t.exitsOver = true
	} else {
		t.over = true
	}
}

// exportRemembers is half of what a replay remembers, whose journal has other records than the one that is exported: so
// no line is about an intent that the replay has forgotten.
//
//limit:replay-exported An exported tape names an intent until 8,000 records after its end; a fill that comes later is on it as the position that it made.
const exportRemembers = remembered / 2

// ending is an intent that has ended, and the number of the record that ended it.
type ending struct {
	id trade.IntentID
	at uint64
}

// forget takes in that one more record was exported, and forgets what ended long ago.
func (x *Exporter) forget(about trade.IntentID) {
	x.records++
	if was := x.known[about]; was != nil && !was.ended && x.state.Open(about) == nil {
		was.ended = true
		x.endings = append(x.endings, ending{about, x.records})
	}
	n := 0
	for ; n < len(x.endings) && x.records-x.endings[n].at > exportRemembers; n++ {
		id := x.endings[n].id
		if call := x.known[id].call; x.ids[call] == id {
			delete(x.ids, call)
		}
		delete(x.known, id)
	}
	x.endings = x.endings[n:]
}
