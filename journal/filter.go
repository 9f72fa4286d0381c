package journal

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"
)

// The filters tell which buckets of the index may hold a key, so that a look-up need not ask each one. Groups of 64
// buckets share a filter of 64 pages; a key's hash says in which page it is. A page is a row of words; each bucket of
// the group has one bit in every word, and a key sets its bucket's bit in 16 of them. One page a group thus answers for
// 32,768 records. A bucket is put in once it is full, eight of them at a time, in the transaction that fills the last,
// so what is in the filters follows from the number of the last record. The stored filters depend on these constants.
const (
	groupShift   = 6   // buckets a group, as a power of two
	foldShift    = 3   // buckets that are put in at once, as a power of two
	filterPages  = 64  // a group
	filterWords  = 504 // a page, whose row then fills a page of SQLite
	filterHashes = 16  // bits that a key sets
	wordBytes    = 64 / 8
)

// page is one page of a group's filter, as stored: its words, least significant byte first.
type page []byte

func newPage() page { return make(page, filterWords*wordBytes) }

// filtered returns how many buckets, from the first on, are in the filters after the record last.
func filtered(last Seq) int64 { return bucketOf(last+1) >> foldShift << foldShift }

func groupOf(bucket int64) int64 { return bucket >> groupShift }

// pageOf returns which page of every filter a hash belongs to. It is a part of a SHA-256 and so uniform.
func pageOf(hash int64) int64 { return int64(uint64(hash) % filterPages) }

// rowOf returns the row of a page. The same page of all groups lies together, as a look-up reads them.
func rowOf(page, group int64) int64 { return page<<32 | group }

// next returns the next of the words that a hash sets, and what gives the one after: the steps of a linear congruential
// generator, whose upper bits depend on the whole hash.
func next(state uint64) (word, after uint64) {
	after = state*6364136223846793005 + 1442695040888963407
	return (after >> 32) * filterWords >> 32, after
}

// add sets the bucket's bit in the words of a hash.
func (p page) add(hash, bucket int64) {
	in, bit := uint64(bucket)&(1<<groupShift-1)>>3, byte(1)<<(bucket&7)
	state := uint64(hash)
	for range filterHashes {
		var word uint64
		word, state = next(state)
		p[word*wordBytes+in] |= bit
	}
}

// holders returns a bit for each bucket of the group that may hold the hash. None that does is missing.
func (p page) holders(hash int64) uint64 {
	all, state := ^uint64(0), uint64(hash)
	for range filterHashes {
		var word uint64
		word, state = next(state)
		if all &= binary.LittleEndian.Uint64(p[word*wordBytes:]); all == 0 {
			break
		}
	}
	return all
}

// filter calls each for the page of every group from first to last, in this order. One that is missing or damaged is an
// error: without it a key could be overlooked.
func (w *writer) filter(number, first, last int64, each func(page) error) error {
	group := first
	err := w.query(stFilter, 2, func(row []driver.Value) error {
		id, ok := row[0].(int64)
		p, ok2 := blob(row[1])
		if !ok || !ok2 || id != rowOf(number, group) || len(p) != filterWords*wordBytes {
			return damagedFilter(group)
		}
		group++
		return each(p)
	}, rowOf(number, first), rowOf(number, last))
	if err == nil && group <= last {
		err = damagedFilter(group)
	}
	return err
}

func damagedFilter(group int64) error {
	first := max(group<<(groupShift+bucketShift), 1)
	return &Broken{Seq: Seq(first), Reason: fmt.Sprintf("the filter of the index is damaged for the records from %d on", first)}
}

// extendFilters puts the keys of the buckets from first to before end into the filters, inside the transaction that
// wrote them.
func (w *writer) extendFilters(first, end int64) error {
	for first < end {
		group := groupOf(first)
		before := min(end, (group+1)<<groupShift)
		if err := w.extendGroup(group, first, before); err != nil {
			return err
		}
		first = before
	}
	return nil
}

func (w *writer) extendGroup(group, first, end int64) error {
	var pages [filterPages]page
	for n := range pages {
		if first == group<<groupShift {
			pages[n] = newPage()
			continue
		}
		err := w.filter(int64(n), group, group, func(p page) error { pages[n] = p; return nil })
		if err != nil {
			return err
		}
	}
	err := w.query(stKeysIn, 2, func(row []driver.Value) error {
		hash, bucket, err := keyOf(row)
		if err == nil {
			pages[pageOf(hash)].add(hash, bucket)
		}
		return err
	}, first, end-1)
	if err != nil {
		return err
	}
	for n, p := range pages {
		if err := w.exec(stPutFilter, rowOf(int64(n), group), []byte(p)); err != nil {
			return err
		}
	}
	return nil
}

// keyOf takes two columns of an index entry.
func keyOf(row []driver.Value) (hash, of int64, err error) {
	hash, ok := row[0].(int64)
	of, ok2 := row[1].(int64)
	if !ok || !ok2 || of < 0 {
		return 0, 0, &Broken{Reason: "the index has a damaged entry"}
	}
	return hash, of, nil
}
