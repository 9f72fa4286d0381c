package journal

import (
	"fmt"
	"time"
)

// Tx is the inside of one Update. It is valid only during decide.
type Tx struct {
	b     *batch
	later bool // another decide ran in this batch before
}

// First reports whether this is the first decide of its batch. Every call of the batch was waiting by then: what the first
// one looks for outside the journal, those after it need not look for again.
func (tx *Tx) First() bool { return !tx.later }

// batch is what is appended in one transaction, by one decide after another.
type batch struct {
	head    Head
	last    time.Time // of head; never falls
	added   []Record
	keys    []key
	bytes   int // of the bodies added
	mark    mark
	scratch []byte
	loose   bool                                       // records have no hashes
	fault   error                                      // a breach of a limit: the batch cannot be recorded
	find    func(hash int64) ([]Record, error)         // among the committed records
	during  func(from, to time.Time) ([]Record, error) // likewise
}

// key is a row of the index.
type key struct {
	hash int64
	seq  Seq
}

// mark is where a batch stood when a decide began.
type mark struct {
	head        Head
	last        time.Time
	added, keys int
	bytes       int
}

func (b *batch) begin() {
	b.mark = mark{head: b.head, last: b.last, added: len(b.added), keys: len(b.keys), bytes: b.bytes}
}

// undo forgets what was appended since begin.
func (b *batch) undo() {
	m := b.mark
	b.head, b.last, b.added, b.keys, b.bytes = m.head, m.last, b.added[:m.added], b.keys[:m.keys], m.bytes
}

// Append adds a record after all that are committed or were appended before. Its time is at, in UTC and cut to
// microseconds, or the last record's if that is later. The body must not be changed afterwards. The follower is not
// called: whoever appends has the event at hand and applies it. A record that is over a limit (MaxStream, MaxBody,
// MaxKeys, MaxUpdate) makes every Update of the batch fail.
func (tx *Tx) Append(stream string, at time.Time, body []byte, keys ...Key) Head {
	b := tx.b
	at = time.UnixMicro(at.UnixMicro()).UTC()
	if b.head.Seq > 0 && at.Before(b.last) {
		at = b.last
	}
	if body == nil {
		body = []byte{}
	}
	r := Record{Seq: b.head.Seq + 1, Stream: stream, At: at, Body: body}
	if err := r.check(keys); err != nil {
		b.fault = err
	}
	if b.bytes += len(body); b.bytes-b.mark.bytes > MaxUpdate {
		b.fault = fmt.Errorf("journal: one update appended more than %d bytes", MaxUpdate)
	}
	if !b.loose {
		r.Hash, b.scratch = chainHash(b.scratch, b.head.Hash, r)
	}
	b.head, b.last = Head{Seq: r.Seq, Hash: r.Hash}, at
	b.added = append(b.added, r)
	for _, k := range keys {
		b.addKey(key{hash: k.hash64(), seq: r.Seq})
	}
	return b.head
}

// addKey adds an index entry. One record holds the same key only once.
func (b *batch) addKey(k key) {
	for i := len(b.keys) - 1; i >= 0 && b.keys[i].seq == k.seq; i-- {
		if b.keys[i] == k {
			return
		}
	}
	b.keys = append(b.keys, k)
}

// Head returns the last record, this transaction's own included.
func (tx *Tx) Head() Head { return tx.b.head }

// LastAt returns the time of the last record.
func (tx *Tx) LastAt() time.Time { return tx.b.last }

// Find returns the records with that key, oldest first, this transaction's own included; a few others may be among
// them, whose keys have the same hash.
func (tx *Tx) Find(k Key) ([]Record, error) {
	hash := k.hash64()
	found, err := tx.b.find(hash)
	if err != nil {
		return nil, err
	}
	for _, k := range tx.b.keys {
		if k.hash == hash {
			found = append(found, tx.b.added[k.seq-tx.b.added[0].Seq])
		}
	}
	return found, nil
}

// At returns the records whose time lies in [from, to], in order, this transaction's own included; see Journal.At.
func (tx *Tx) At(from, to time.Time) ([]Record, error) {
	found, err := tx.b.during(from, to)
	if err != nil {
		return nil, err
	}
	for _, r := range tx.b.added {
		if !r.At.Before(from) && !r.At.After(to) {
			found = append(found, r)
		}
	}
	return found, nil
}
