package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync"
	"time"
)

// Memory is a journal of this process alone, which is gone with it: what is replayed is recorded in one. Update, Read,
// Find, Records, Backward and At mean what those of a Journal do. It keeps the newest
// records and those that are still wanted, so that it needs no more memory the more is recorded. It is safe for
// concurrent use.
type Memory struct {
	cfg MemoryConfig

	mu      sync.Mutex
	head    Head
	last    time.Time
	scratch []byte
	broken  error // a panic or a breach of a limit: the follower's state is not what is recorded

	wanted []*remembered // older than all of newest
	sweep  int           // when wanted is looked through again
	newest []*remembered // a ring, once it is full
	first  int           // the oldest in it
	index  map[int64][]*remembered
}

// MemoryConfig says what a Memory keeps.
type MemoryConfig struct {
	Newest int               // so many records are kept in any case
	Chain  bool              // records have the hashes of a Journal's; without, they and the head have none
	Wanted func(Record) bool // whether an older one is still wanted; asked again now and then. nil: none is
}

// remembered is one record with the hashes of its keys.
type remembered struct {
	Record
	keys []int64
}

// sweepAfter is how many wanted records are looked through at the earliest.
const sweepAfter = 1024

// NewMemory returns an empty journal in memory.
func NewMemory(cfg MemoryConfig) *Memory {
	cfg.Newest = max(cfg.Newest, 1)
	return &Memory{cfg: cfg, sweep: sweepAfter, index: map[int64][]*remembered{}}
}

// Update runs decide and records what it appended. If decide returns an error nothing is recorded, and decide must have
// left its state as it was. After a panic or a breach of a limit there are no more updates.
func (m *Memory) Update(ctx context.Context, decide func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return m.broken
	}
	b := &batch{head: m.head, last: m.last, find: m.find, during: m.during, scratch: m.scratch, loose: !m.cfg.Chain}
	b.begin()
	err := guard(func() error { return decide(&Tx{b: b}) })
	if p := (*panicked)(nil); errors.As(err, &p) {
		m.broken = err
		return err
	}
	if b.fault != nil {
		m.broken = fmt.Errorf("journal: nothing of this is recorded: %w", b.fault)
		return m.broken
	}
	if err != nil {
		return err
	}
	m.commit(b)
	return nil
}

func (m *Memory) commit(b *batch) {
	m.head, m.last, m.scratch = b.head, b.last, b.scratch
	keys := b.keys
	for i := range b.added {
		e := &remembered{Record: b.added[i]}
		for len(keys) > 0 && keys[0].seq == e.Seq {
			e.keys, keys = append(e.keys, keys[0].hash), keys[1:]
		}
		for _, k := range e.keys {
			m.index[k] = append(m.index[k], e)
		}
		m.add(e)
	}
}

// add makes room for a record in the ring.
//
//limit:journal-memory A journal in memory keeps its newest records, as many as it was told, and of the older ones those that are still wanted.
func (m *Memory) add(e *remembered) {
	if len(m.newest) < m.cfg.Newest {
		m.newest = append(m.newest, e)
		return
	}
	old := m.newest[m.first]
	m.newest[m.first] = e
	m.first = (m.first + 1) % len(m.newest)
	if !m.want(old) {
		m.forget(old)
		return
	}
	m.wanted = append(m.wanted, old)
	if len(m.wanted) < m.sweep {
		return
	}
	m.wanted = slices.DeleteFunc(m.wanted, func(e *remembered) bool {
		over := !m.want(e)
		if over {
			m.forget(e)
		}
		return over
	})
	m.sweep = max(sweepAfter, 2*len(m.wanted))
}

func (m *Memory) want(e *remembered) bool { return m.cfg.Wanted != nil && m.cfg.Wanted(e.Record) }

// forget takes a record out of the index.
func (m *Memory) forget(e *remembered) {
	for _, k := range e.keys {
		left := slices.DeleteFunc(m.index[k], func(x *remembered) bool { return x == e })
		if len(left) == 0 {
			delete(m.index, k)
			continue
		}
		m.index[k] = left
	}
}

func (m *Memory) find(hash int64) ([]Record, error) {
	all := m.index[hash]
	if len(all) == 0 {
		return nil, nil
	}
	found := make([]Record, len(all))
	for i, e := range all {
		found[i] = e.Record
	}
	return found, nil
}

// Find returns the records with that key that are kept, oldest first; see Tx.Find.
func (m *Memory) Find(_ context.Context, k Key) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.find(k.hash64())
}

// Read calls view between two updates.
func (m *Memory) Read(ctx context.Context, view func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return m.broken
	}
	return view()
}

// Head returns the last record; the zero Head of an empty journal.
func (m *Memory) Head(context.Context) (Head, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.head, nil
}

// kept returns how many records are kept, and at the one at a place among them, oldest first.
func (m *Memory) kept() int { return len(m.wanted) + len(m.newest) }

func (m *Memory) at(i int) *remembered {
	if i < len(m.wanted) {
		return m.wanted[i]
	}
	return m.newest[(m.first+i-len(m.wanted))%len(m.newest)]
}

// from returns the records that are kept from the first on for which begins is true, up to the one for which ends is.
func (m *Memory) from(begins, ends func(*remembered) bool) []Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.part(begins, ends)
}

func (m *Memory) during(from, to time.Time) ([]Record, error) {
	return m.part(func(e *remembered) bool { return !e.At.Before(from) }, func(e *remembered) bool { return e.At.After(to) }), nil
}

func (m *Memory) part(begins, ends func(*remembered) bool) (all []Record) {
	n := m.kept()
	for i := sort.Search(n, func(i int) bool { return begins(m.at(i)) }); i < n && !ends(m.at(i)); i++ {
		all = append(all, m.at(i).Record)
	}
	return all
}

// Records returns the records that are kept from first on, in order.
func (m *Memory) Records(_ context.Context, first Seq) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		never := func(*remembered) bool { return false }
		for _, r := range m.from(func(e *remembered) bool { return e.Seq >= first }, never) {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// At returns the records that are kept whose time lies in [from, to], in order.
func (m *Memory) At(_ context.Context, from, to time.Time) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		begins := func(e *remembered) bool { return !e.At.Before(from) }
		for _, r := range m.from(begins, func(e *remembered) bool { return e.At.After(to) }) {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Backward returns the records that are kept, from the newest to the oldest.
func (m *Memory) Backward(context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		always := func(*remembered) bool { return true }
		for _, r := range slices.Backward(m.from(always, func(*remembered) bool { return false })) {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Close releases what is kept. There are no updates any more.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken, m.wanted, m.newest, m.first, m.index = ErrClosed, nil, nil, 0, map[int64][]*remembered{}
	return nil
}
