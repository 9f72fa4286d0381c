package journal

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Verification says what Verify compares beside the chain itself.
type Verification struct {
	Contains *Head                       // an earlier head, kept elsewhere, that must be contained
	Keys     func(Record) ([]Key, error) // what the index must hold for a record; nil leaves it out
	Follower Follower                    // a fresh one: the stored snapshot must equal the state at its record; nil leaves it out
	Progress func(done, total Seq)       // called now and then; may be nil
}

// Broken says which record is the first that is not what was recorded.
type Broken struct {
	Seq    Seq // zero: not a record but the file itself
	Reason string
}

// Error names the record and the reason.
func (b *Broken) Error() string { return "journal: broken: " + b.Reason }

// verifier walks the chain once, a bucket at a time, in one read transaction and constant memory.
type verifier struct {
	Verification
	conn *sql.Conn
	head Head // verified so far
	last time.Time
	end  Head
	snap stored
	buf  []byte
	keys []key // of the present bucket, as they should be

	closed  int64             // how many buckets are in the filters
	filters [filterPages]page // of the present group, as they should be
}

// stored is the snapshot row; seq is 0 if there is none.
type stored struct {
	seq         int64
	hash, state []byte
}

// Verify walks the whole chain from the first record and recomputes hashes, index and snapshot. It returns the head
// that it verified, or a *Broken. Other errors say that the file could not be read.
func (j *Journal) Verify(ctx context.Context, v Verification) (Head, error) {
	if diff, err := j.db.CheckSchema(ctx, migrations()); err != nil {
		return Head{}, readError(err)
	} else if diff != "" {
		return Head{}, &Broken{Reason: diff}
	}
	conn, err := j.db.Conn(ctx)
	if err != nil {
		return Head{}, readError(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN DEFERRED"); err != nil {
		return Head{}, readError(err)
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") //nolint:errcheck // it only read
	run := &verifier{Verification: v, conn: conn}
	if err := run.all(ctx); err != nil {
		return Head{}, err
	}
	return run.head, nil
}

func (v *verifier) all(ctx context.Context) (err error) {
	if v.end, err = readHead(ctx, v.conn); err != nil {
		return err
	}
	v.closed = filtered(v.end.Seq)
	if err := v.start(ctx); err != nil {
		return err
	}
	for bucket := int64(0); bucket <= bucketOf(v.end.Seq); bucket++ {
		if err := v.bucket(ctx, bucket); err != nil {
			return err
		}
		if v.Progress != nil {
			v.Progress(v.head.Seq, v.end.Seq)
		}
	}
	return v.finish(ctx)
}

// start reads the snapshot and looks for records before the first.
func (v *verifier) start(ctx context.Context) error {
	err := v.conn.QueryRowContext(ctx, stSnapshot.text()).Scan(&v.snap.seq, &v.snap.hash, &v.snap.state)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return readError(err)
	}
	if err == nil && v.snap.seq < 1 {
		return &Broken{Reason: "the snapshot is of no record"}
	}
	var below int
	if err := v.conn.QueryRowContext(ctx, `SELECT count(*) FROM records WHERE seq < 1`).Scan(&below); err != nil {
		return readError(err)
	}
	if below > 0 {
		return &Broken{Reason: "there are records before the first"}
	}
	if v.Follower == nil {
		return nil
	}
	return guard(func() error { return v.Follower.Restore(0, nil) })
}

// bucket verifies the records of one bucket, and then that the index holds exactly their keys.
func (v *verifier) bucket(ctx context.Context, bucket int64) error {
	v.keys = v.keys[:0]
	err := eachRecord(ctx, v.conn, v.record,
		`SELECT `+columns+` FROM records WHERE seq BETWEEN ? AND ? ORDER BY seq`,
		bucket<<bucketShift, (bucket+1)<<bucketShift-1)
	if err != nil {
		return err
	}
	if last := min(Seq(bucket+1)<<bucketShift-1, v.end.Seq); v.head.Seq != last {
		return &Broken{Seq: v.head.Seq + 1, Reason: fmt.Sprintf("record %d is missing", v.head.Seq+1)}
	}
	if v.Keys == nil {
		return nil
	}
	if err := v.compareKeys(ctx, bucket); err != nil || bucket >= v.closed {
		return err
	}
	return v.filter(ctx, bucket)
}

// filter makes the filter of the bucket's group as it should be, and after the last bucket compares it with the stored
// one.
func (v *verifier) filter(ctx context.Context, bucket int64) error {
	group := groupOf(bucket)
	if bucket == group<<groupShift {
		for n := range v.filters {
			v.filters[n] = newPage()
		}
	}
	for _, k := range v.keys {
		v.filters[pageOf(k.hash)].add(k.hash, bucket)
	}
	if bucket+1 < min(v.closed, (group+1)<<groupShift) {
		return nil
	}
	for n, want := range v.filters {
		var have []byte
		err := v.conn.QueryRowContext(ctx, `SELECT bits FROM filters WHERE id = ?`, rowOf(int64(n), group)).Scan(&have)
		if errors.Is(err, sql.ErrNoRows) || err == nil && !bytes.Equal(have, want) {
			return damagedFilter(group)
		}
		if err != nil {
			return readError(err)
		}
	}
	return nil
}

func (v *verifier) record(r Record) (err error) {
	if v.buf, err = r.follows(v.buf, v.head, v.last); err != nil {
		return err
	}
	v.head, v.last = Head{Seq: r.Seq, Hash: r.Hash}, r.At
	if c := v.Contains; c != nil && c.Seq == r.Seq && c.Hash != r.Hash {
		return &Broken{Seq: r.Seq, Reason: fmt.Sprintf("record %d is not the one whose hash was kept elsewhere", r.Seq)}
	}
	if v.Keys != nil {
		keys, err := v.Keys(r)
		if err != nil {
			return &Broken{Seq: r.Seq, Reason: fmt.Sprintf("record %d has unreadable keys: %v", r.Seq, err)}
		}
		for _, k := range keys {
			v.keys = append(v.keys, key{hash: k.hash64(), seq: r.Seq})
		}
	}
	return v.fold(r)
}

// fold applies the record, and where the snapshot was taken compares.
func (v *verifier) fold(r Record) error {
	if v.Follower != nil {
		if err := guard(func() error { return v.Follower.Follow(r) }); err != nil {
			return &Broken{Seq: r.Seq, Reason: fmt.Sprintf("record %d cannot be applied: %v", r.Seq, err)}
		}
	}
	if int64(r.Seq) != v.snap.seq {
		return nil
	}
	state := v.snap.state
	if v.Follower != nil {
		if err := guard(func() error { state = v.Follower.Snapshot(wholeState, wholeState); return nil }); err != nil {
			return err
		}
	}
	hash := snapshotHash(r.Hash, state)
	if !bytes.Equal(state, v.snap.state) || !bytes.Equal(hash[:], v.snap.hash) {
		return &Broken{Seq: r.Seq, Reason: fmt.Sprintf("the snapshot is not the state after record %d", r.Seq)}
	}
	return nil
}

// compareKeys walks the bucket's index entries beside those that it should have.
func (v *verifier) compareKeys(ctx context.Context, bucket int64) (err error) {
	order := func(a, b key) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.seq, b.seq)) }
	slices.SortFunc(v.keys, order)
	want := slices.Compact(v.keys)
	rows, err := v.conn.QueryContext(ctx, `SELECT hash, seq FROM keys WHERE bucket = ? ORDER BY hash, seq`, bucket)
	if err != nil {
		return readError(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var hash, seq int64
		if err := rows.Scan(&hash, &seq); err != nil {
			return readError(err)
		}
		have := key{hash: hash, seq: Seq(seq)}
		if len(want) > 0 && order(want[0], have) < 0 {
			break // the wanted one is missing
		}
		if have.seq > v.end.Seq {
			return v.orphans()
		}
		if len(want) == 0 || want[0] != have {
			return &Broken{Seq: have.seq, Reason: fmt.Sprintf("the index holds a key that record %d does not have", seq)}
		}
		want = want[1:]
	}
	if err := rows.Err(); err != nil {
		return readError(err)
	}
	if len(want) > 0 {
		return &Broken{Seq: want[0].seq, Reason: fmt.Sprintf("the index lacks a key of record %d", want[0].seq)}
	}
	return nil
}

// finish looks at what lies outside the buckets walked.
func (v *verifier) finish(ctx context.Context) error {
	if v.head != v.end {
		return &Broken{Seq: v.head.Seq + 1, Reason: fmt.Sprintf("record %d is missing", v.head.Seq+1)}
	}
	if c := v.Contains; c != nil && c.Seq > v.end.Seq {
		return &Broken{Seq: v.end.Seq + 1, Reason: fmt.Sprintf("the journal ends at record %d; record %d was there", v.end.Seq, c.Seq)}
	}
	if c := v.Contains; c != nil && c.Seq == 0 && c.Hash != (Hash{}) {
		return &Broken{Reason: "the head kept elsewhere has a hash but no record"}
	}
	if v.snap.seq > int64(v.end.Seq) {
		return &Broken{Seq: v.end.Seq + 1, Reason: fmt.Sprintf("the snapshot is of record %d, which does not exist", v.snap.seq)}
	}
	var outside int64
	err := v.conn.QueryRowContext(ctx, `SELECT count(*) FROM keys WHERE bucket < 0 OR bucket > ?`,
		bucketOf(v.end.Seq)).Scan(&outside)
	if err != nil {
		return readError(err)
	}
	if outside > 0 {
		return v.orphans()
	}
	var filters int64
	if err := v.conn.QueryRowContext(ctx, `SELECT count(*) FROM filters`).Scan(&filters); err != nil {
		return readError(err)
	}
	if filters != (groupOf(v.closed-1)+1)*filterPages {
		return &Broken{Reason: "the index holds filters of records that do not exist"}
	}
	return nil
}

func (v *verifier) orphans() error {
	return &Broken{Seq: v.end.Seq + 1, Reason: fmt.Sprintf("the index holds keys of records after %d, the last one", v.end.Seq)}
}
