package journal

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"sync"

	"sallyport/store"
)

// buildAfter is after how many look-ups a process is taken for a long-lived one and builds its filter. Until then each
// look-up asks every bucket.
const buildAfter = 32

// slice is how many buckets the builder reads in one transaction, so that it holds up no checkpoint.
const slice = 32

// nearEnough is how many records the builder may be behind when it hands its filter over: the rest is read under the
// write lock.
const nearEnough = 2 << bucketShift

// index finds records by key. It belongs to the holder of the journal's token; the builder's goroutine only hands over
// what it built.
type index struct {
	db      *store.DB
	filter  *filter // nil until built
	lookups int

	stopped context.Context // of the builder
	cancel  context.CancelFunc
	builder sync.WaitGroup
	built   chan *filter // nil if it could not be built
}

func (x *index) start(db *store.DB) {
	x.db, x.built = db, make(chan *filter, 1)
	x.stopped, x.cancel = context.WithCancel(context.Background())
}

func (x *index) stop() {
	x.cancel()
	x.builder.Wait()
}

// committed notes the keys that this process has committed. If it does not know the keys before them it leaves both to
// the next catchUp.
func (x *index) committed(before, now Seq, keys []key) {
	if x.filter == nil || x.filter.upTo != before {
		return
	}
	for _, k := range keys {
		x.filter.add(k.hash, k.seq)
	}
	x.filter.upTo = now
}

// find returns the committed records with the hash among their keys, oldest first, inside a transaction of the writer.
func (j *Journal) find(hash int64) ([]Record, error) {
	seqs, err := j.index.find(&j.w, hash, j.fold.head.Seq)
	if err != nil || len(seqs) == 0 {
		return nil, err
	}
	slices.Sort(seqs)
	var found []Record
	for _, seq := range slices.Compact(seqs) { // two chunks may share a bucket
		err := j.w.records(stOne, func(r Record) error { found = append(found, r); return nil }, seq)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (x *index) find(w *writer, hash int64, last Seq) (seqs []int64, err error) {
	if x.lookups++; x.lookups == buildAfter {
		x.builder.Go(x.build)
	}
	select {
	case x.filter = <-x.built:
		if x.filter == nil {
			x.lookups = 0 // try again later
		}
	default:
	}
	if x.filter == nil {
		return w.probe(nil, hash, 0, bucketOf(last))
	}
	if err := x.filter.catchUp(w, last); err != nil {
		return nil, err
	}
	for _, c := range x.filter.chunks {
		if c.has(hash) {
			if seqs, err = w.probe(seqs, hash, bucketOf(c.first), bucketOf(c.last)); err != nil {
				return nil, err
			}
		}
	}
	return seqs, nil
}

// probe appends the numbers of the records with the hash whose buckets lie in the range.
func (w *writer) probe(seqs []int64, hash, from, to int64) ([]int64, error) {
	err := w.query(stProbe, 1, func(row []driver.Value) error {
		seq, ok := row[0].(int64)
		if !ok {
			return fmt.Errorf("journal: the index has an entry of type %T", row[0])
		}
		seqs = append(seqs, seq)
		return nil
	}, from, to, hash)
	return seqs, err
}

// build reads all keys in small transactions while others write, until it has nearly all.
func (x *index) build() {
	f := &filter{}
	for {
		near, err := x.extend(f)
		if err != nil {
			f = nil // the slow way stays right
		}
		if near || err != nil {
			x.built <- f
			return
		}
	}
}

// extend reads the next slice. It is true if what is left is small.
func (x *index) extend(f *filter) (near bool, err error) {
	var last int64
	row := x.db.QueryRowContext(x.stopped, "SELECT coalesce(max(seq), 0) FROM records")
	if err := row.Scan(&last); err != nil || Seq(last) <= f.upTo+nearEnough {
		return true, err
	}
	from := bucketOf(f.upTo + 1)
	to := min(from+slice-1, bucketOf(Seq(last)))
	rows, err := x.db.QueryContext(x.stopped, stKeysAfter.text(), from, to, int64(f.upTo))
	if err != nil {
		return false, err
	}
	defer rows.Close()
	var hash, seq int64
	for rows.Next() {
		if err := rows.Scan(&hash, &seq); err != nil {
			return false, err
		}
		f.add(hash, Seq(seq)) // some may be newer than last and come again
	}
	f.upTo = min(Seq(last), Seq(to+1)<<bucketShift-1)
	return false, rows.Err()
}
