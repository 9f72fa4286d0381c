package journal

import (
	"database/sql/driver"
	"fmt"
	"math/bits"
	"slices"
	"time"
)

// warmAfter is after how many look-ups a process is taken for a long-lived one, which keeps the keys of the buckets
// that are in no filter yet in memory. Until then each look-up asks every such bucket.
const warmAfter = 32

// index finds records by key. It belongs to the holder of the journal's token. What it remembers are committed records
// and stored filters only, which never change but for the filters of the last group.
type index struct {
	lookups int
	pages   [filterPages]known
	recent  recent
}

// known is what was read of one page of the filters.
type known struct {
	groups []page
	closed int64 // how many buckets they cover
}

// recent holds the keys of the newest buckets, those that are in no filter.
type recent struct {
	first int64 // the first of these buckets
	upTo  Seq   // the keys of the records up to this one are there
	keys  []chained
	heads map[int64]int32 // by hash: where in keys the newest one is, plus one
}

type chained struct {
	hash int64
	seq  Seq
	next int32 // the one before with the same hash, plus one
}

// find returns the committed records with the hash among their keys, oldest first, inside a transaction of the writer.
func (j *Journal) find(hash int64) ([]Record, error) { return j.findUpTo(hash, j.fold.head.Seq) }

// during returns the committed records of that time, in order, inside a transaction of the writer.
func (j *Journal) during(from, to time.Time) (found []Record, err error) {
	one := func(s Seq) (r Record, err error) {
		err = j.w.records(stOne, func(x Record) error { r = x; return nil }, int64(s))
		if err == nil && r.Seq == 0 {
			err = &Broken{Seq: s, Reason: fmt.Sprintf("record %d is missing", s)}
		}
		return r, err
	}
	end := j.fold.head.Seq + 1
	first, err := search(1, end, true, func(s Seq) (bool, error) {
		r, err := one(s)
		return r.At.Before(from), err
	})
	for s := first; err == nil && s < end; s++ {
		var r Record
		if r, err = one(s); err != nil || r.At.After(to) {
			break
		}
		found = append(found, r)
	}
	return found, err
}

func (j *Journal) findUpTo(hash int64, last Seq) (found []Record, err error) {
	seqs, err := j.index.find(&j.w, hash, last)
	if err != nil {
		return nil, err
	}
	slices.Sort(seqs)
	for _, seq := range seqs {
		err := j.w.records(stOne, func(r Record) error { found = append(found, r); return nil }, seq)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (x *index) find(w *writer, hash int64, last Seq) (seqs []int64, err error) {
	closed := filtered(last)
	if closed > 0 {
		groups, err := x.groups(w, pageOf(hash), closed)
		if err != nil {
			return nil, err
		}
		for g, p := range groups {
			for held := p.holders(hash); held != 0; held &= held - 1 {
				bucket := int64(g)<<groupShift + int64(bits.TrailingZeros64(held))
				if seqs, err = w.probe(seqs, hash, bucket); err != nil {
					return nil, err
				}
			}
		}
	}
	if x.lookups < warmAfter {
		x.lookups++
		for bucket := closed; bucket <= bucketOf(last); bucket++ {
			if seqs, err = w.probe(seqs, hash, bucket); err != nil {
				return nil, err
			}
		}
		return seqs, nil
	}
	if err := x.recent.catchUp(w, closed, last); err != nil {
		return nil, err
	}
	return x.recent.find(seqs, hash), nil
}

// groups returns one page of the filters of all groups, which cover that many buckets. It reads what is new.
func (x *index) groups(w *writer, number, closed int64) ([]page, error) {
	k := &x.pages[number]
	if k.closed == closed {
		return k.groups, nil
	}
	if k.closed > closed {
		*k = known{}
	}
	first := groupOf(k.closed) // its page has changed or is new
	k.groups, k.closed = k.groups[:min(first, int64(len(k.groups)))], 0
	err := w.filter(number, first, groupOf(closed-1), func(p page) error { k.groups = append(k.groups, p); return nil })
	if err != nil {
		k.groups = nil
		return nil, err
	}
	k.closed = closed
	return k.groups, nil
}

// committed notes the keys that this process has committed. If it does not know the keys before them it leaves both to
// the next catchUp.
func (x *index) committed(before, now Seq, keys []key) {
	if x.recent.heads == nil || x.recent.upTo != before {
		return
	}
	for _, k := range keys {
		x.recent.add(k.hash, k.seq)
	}
	x.recent.upTo = now
}

// probe appends the numbers of the records in the bucket with the hash.
func (w *writer) probe(seqs []int64, hash, bucket int64) ([]int64, error) {
	err := w.query(stProbe, 1, func(row []driver.Value) error {
		seq, ok := row[0].(int64)
		if !ok {
			return fmt.Errorf("journal: the index has an entry of type %T", row[0])
		}
		seqs = append(seqs, seq)
		return nil
	}, bucket, hash)
	return seqs, err
}

// catchUp drops the keys that are in the filters now, and reads those of the records after upTo.
func (r *recent) catchUp(w *writer, closed int64, last Seq) error {
	if r.heads == nil || r.first != closed {
		r.restart(closed)
	}
	if last <= r.upTo {
		return nil
	}
	err := w.query(stKeysAfter, 2, func(row []driver.Value) error {
		hash, seq, err := keyOf(row)
		if err == nil {
			r.add(hash, Seq(seq))
		}
		return err
	}, bucketOf(r.upTo+1), bucketOf(last), int64(r.upTo))
	if err != nil {
		r.heads = nil // begin again
		return err
	}
	r.upTo = last
	return nil
}

// restart keeps the keys from the bucket first on, should there be any.
func (r *recent) restart(first int64) {
	old, upTo := r.keys, r.upTo
	if r.heads == nil || first < r.first {
		old, upTo = nil, 0
	}
	r.first, r.upTo = first, max(upTo, Seq(max(first<<bucketShift, 1)-1))
	r.keys, r.heads = r.keys[:0], map[int64]int32{}
	for _, k := range old {
		if bucketOf(k.seq) >= first {
			r.add(k.hash, k.seq) // writes behind what is being read
		}
	}
}

func (r *recent) add(hash int64, seq Seq) {
	r.keys = append(r.keys, chained{hash: hash, seq: seq, next: r.heads[hash]})
	r.heads[hash] = int32(len(r.keys))
}

// find appends the numbers of the records with the hash.
func (r *recent) find(seqs []int64, hash int64) []int64 {
	for i := r.heads[hash]; i > 0; i = r.keys[i-1].next {
		seqs = append(seqs, int64(r.keys[i-1].seq))
	}
	return seqs
}
