package replay

import (
	"fmt"
	"strings"

	"sallyport/ledger"
	"sallyport/trade"
)

// intent is an intent of the tape: its id there, what the gate made of it, and what becomes of it at the broker.
type intent struct {
	id     string
	number int // of its line among those of intents, from 0
	intent trade.IntentID
	agent  trade.Agent
	reply  reply
	denied bool            // at once: its id is free
	shown  ledger.Decision // as it was last written

	order trade.Order
	venue venue
	fate  *fate  // of one that was never sent, once the tape says something of it
	over  uint64 // the number of the record after which it was over; zero while it is open
}

// venue is where an order is at the broker. The zero venue never had it.
type venue uint8

const (
	never   venue = iota
	flying        // sent, and not answered
	there         // accepted, or nobody knows
	refused       // rejected
	gone          // nothing of it is open
	pulled        // cancelled: nothing can come of it any more
)

// remembered is how long an intent is known after its end, in records of the gate's journal. It is less than what the gate
// remembers, so that the gate can explain what still happens to every intent that is known here.
//
//limit:replay-remembered An intent is known until 16,000 records after its end; a line about one that is forgotten is an error, and its id may be used for another.
const remembered = 16_000

// intents are those that are open, and those that ended not long ago.
type intents struct {
	byID     map[string]*intent
	byIntent map[trade.IntentID]*intent
	ended    []*intent // oldest first
	records  uint64    // of the gate's journal
}

// add makes an intent known under its ids.
func (t *intents) add(in *intent) {
	if t.byID == nil {
		t.byID, t.byIntent = map[string]*intent{}, map[trade.IntentID]*intent{}
	}
	t.byID[in.id], t.byIntent[in.intent] = in, in
}

// refuse makes an intent known that the gate made none of.
func (t *intents) refuse(in *intent) {
	if t.byID == nil {
		t.byID, t.byIntent = map[string]*intent{}, map[trade.IntentID]*intent{}
	}
	t.byID[in.id] = in
	t.end(in)
}

// find returns the intent of that id on the tape.
func (t *intents) find(id string) (*intent, error) {
	if in := t.byID[id]; in != nil {
		return in, nil
	}
	return nil, fmt.Errorf("there is no intent %q before it, or it ended long ago", trade.Printable(id, 64))
}

// exitsMark stands after the id of an order in the id of its exits.
const exitsMark = "/exits"

// findPart returns the intent of an id, or the one whose exits have that id.
func (t *intents) findPart(id string) (in *intent, exits bool, err error) {
	if in, err = t.find(id); err == nil {
		return in, false, nil
	}
	if of, marked := strings.CutSuffix(id, exitsMark); marked && t.byID[of] != nil && t.byID[of].order.HasExits() {
		return t.byID[of], true, nil
	}
	return nil, false, err
}

// end notes that an intent is over, and forgets those that have been for long.
func (t *intents) end(in *intent) {
	if in.over > 0 {
		return
	}
	in.over = t.records
	t.ended = append(t.ended, in)
	n := 0
	for ; n < len(t.ended) && t.records-t.ended[n].over > remembered; n++ {
		old := t.ended[n]
		delete(t.byIntent, old.intent)
		if t.byID[old.id] == old { // another may have its id by now
			delete(t.byID, old.id)
		}
		t.ended[n] = nil
	}
	t.ended = t.ended[n:]
}
