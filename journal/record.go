package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// What one record may hold. Append refuses more, and with it the whole batch fails.
const (
	//limit:journal-stream A stream's name has 1 to 128 bytes.
	MaxStream = 128
	//limit:journal-body A record's body has at most 1 MiB.
	MaxBody = 1 << 20
	//limit:journal-keys A record has at most 16 keys.
	MaxKeys = 16
	//limit:journal-update-bytes One Update appends at most 16 MiB.
	MaxUpdate = 16 << 20
)

// bucketShift is by how much a sequence number is shifted to give its bucket in the index: 512 records share one, whose
// keys fill a few pages. The stored index depends on it.
const bucketShift = 9

// wholeState is what Verify passes to Follower.Snapshot to be given the state whatever was appended.
const wholeState = int(^uint(0) >> 1)

func bucketOf(s Seq) int64 { return int64(s >> bucketShift) }

// chainHash returns the hash of a record whose predecessor has the hash prev: SHA-256 over prev, the sequence number
// and the time as eight bytes each, most significant first, the stream and the body each after its length in eight
// bytes. So no two records have the same input. buf is scratch space, returned for the next call.
func chainHash(buf []byte, prev Hash, r Record) (Hash, []byte) {
	buf = append(buf[:0], prev[:]...)
	buf = binary.BigEndian.AppendUint64(buf, uint64(r.Seq))
	buf = binary.BigEndian.AppendUint64(buf, uint64(len(r.Stream)))
	buf = append(buf, r.Stream...)
	buf = binary.BigEndian.AppendUint64(buf, uint64(r.At.UnixMicro()))
	buf = binary.BigEndian.AppendUint64(buf, uint64(len(r.Body)))
	buf = append(buf, r.Body...)
	return sha256.Sum256(buf), buf
}

// snapshotHash ties a state to the record after which it was taken.
func snapshotHash(at Hash, state []byte) Hash {
	h := sha256.New()
	h.Write(at[:])
	h.Write(state)
	return Hash(h.Sum(nil))
}

// hash64 returns what the index holds of a key: the first eight bytes of the SHA-256 over name, a zero byte and value.
func (k Key) hash64() int64 {
	var space [128]byte
	buf := append(space[:0], k.Name...)
	buf = append(buf, 0)
	buf = append(buf, k.Value...)
	sum := sha256.Sum256(buf)
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// check refuses what may not be stored.
func (r Record) check(keys []Key) error {
	switch {
	case r.Stream == "" || len(r.Stream) > MaxStream:
		return fmt.Errorf("journal: a stream's name of %d bytes; 1 to %d are allowed", len(r.Stream), MaxStream)
	case len(r.Body) > MaxBody:
		return fmt.Errorf("journal: a body of %d bytes; at most %d are allowed", len(r.Body), MaxBody)
	case len(keys) > MaxKeys:
		return fmt.Errorf("journal: %d keys; at most %d are allowed", len(keys), MaxKeys)
	}
	return nil
}

// follows checks that r comes directly after a record with the head prev and the time last.
func (r Record) follows(buf []byte, prev Head, last time.Time) ([]byte, error) {
	if r.Seq != prev.Seq+1 {
		return buf, &Broken{Seq: prev.Seq + 1, Reason: fmt.Sprintf("record %d is missing; record %d comes next", prev.Seq+1, r.Seq)}
	}
	hash, buf := chainHash(buf, prev.Hash, r)
	if hash != r.Hash {
		return buf, &Broken{Seq: r.Seq, Reason: fmt.Sprintf("record %d does not have the hash that was recorded", r.Seq)}
	}
	if prev.Seq > 0 && r.At.Before(last) {
		return buf, &Broken{Seq: r.Seq, Reason: fmt.Sprintf("record %d is older than its predecessor", r.Seq)}
	}
	return buf, nil
}

// columns of a record as stored.
func makeRecord(seq int64, stream string, at int64, body, hash []byte) (Record, error) {
	if len(hash) != len(Hash{}) {
		return Record{}, &Broken{Seq: Seq(seq), Reason: fmt.Sprintf("record %d has a hash of %d bytes", seq, len(hash))}
	}
	if body == nil {
		body = []byte{}
	}
	return Record{Seq: Seq(seq), Stream: stream, At: time.UnixMicro(at).UTC(), Body: body, Hash: Hash(hash)}, nil
}
