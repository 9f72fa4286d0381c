package journal

import (
	"database/sql/driver"
	"fmt"
)

// filter tells which keys are certainly not in the index, for 2.5 bytes a key. It is a row of Bloom filters, each for
// the keys of a stretch of records, so that a hit says where to look.
type filter struct {
	chunks []*chunk
	upTo   Seq // the keys of all records up to this one are in it
}

const (
	filterBits   = 20      // a key: one hit in about 15,000 is false
	filterHashes = 14      // bits set for a key: filterBits × ln 2
	firstChunk   = 1 << 14 // keys; each next one has room for twice as many
	largestChunk = 1 << 19 // keys
)

// chunk is a Bloom filter for keys of the records first to last.
type chunk struct {
	first, last Seq
	keys, room  int
	bits        []uint64
}

func newChunk(room int) *chunk {
	return &chunk{first: ^Seq(0), room: room, bits: make([]uint64, room*filterBits/64)}
}

// add puts a key in; a second time does no harm. The caller keeps upTo.
func (f *filter) add(hash int64, seq Seq) {
	n := len(f.chunks)
	switch {
	case n == 0:
		f.chunks = append(f.chunks, newChunk(firstChunk))
	case f.chunks[n-1].keys == f.chunks[n-1].room:
		f.chunks = append(f.chunks, newChunk(min(2*f.chunks[n-1].room, largestChunk)))
	}
	c := f.chunks[len(f.chunks)-1]
	c.keys++
	c.first, c.last = min(c.first, seq), max(c.last, seq)
	bit, step := c.start(hash)
	for range filterHashes {
		i := c.index(bit)
		c.bits[i>>6] |= 1 << (i & 63)
		bit += step
	}
}

func (c *chunk) has(hash int64) bool {
	bit, step := c.start(hash)
	for range filterHashes {
		i := c.index(bit)
		if c.bits[i>>6]&(1<<(i&63)) == 0 {
			return false
		}
		bit += step
	}
	return true
}

// start returns two values for double hashing. The hash is a part of a SHA-256 and so uniform already.
func (c *chunk) start(hash int64) (bit, step uint64) {
	return uint64(hash), uint64(hash)*0x9e3779b97f4a7c15 | 1
}

// index scales the upper half of x to the number of bits.
func (c *chunk) index(x uint64) uint64 { return (x >> 32) * uint64(len(c.bits)*64) >> 32 }

// catchUp puts in the keys of the records after upTo, inside a transaction of the writer.
func (f *filter) catchUp(w *writer, last Seq) error {
	if last <= f.upTo {
		return nil
	}
	err := w.query(stKeysAfter, 2, func(row []driver.Value) error {
		hash, ok := row[0].(int64)
		seq, ok2 := row[1].(int64)
		if !ok || !ok2 || seq < 1 {
			return &Broken{Seq: Seq(seq), Reason: fmt.Sprintf("record %d has a damaged index entry", seq)}
		}
		f.add(hash, Seq(seq))
		return nil
	}, bucketOf(f.upTo+1), bucketOf(last), int64(f.upTo))
	if err != nil {
		return err
	}
	f.upTo = last
	return nil
}
