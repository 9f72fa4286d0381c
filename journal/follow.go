package journal

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// fold is what the follower has seen. Who owns the journal's token uses it.
type fold struct {
	follower Follower
	sound    bool // false: the follower must be restored before it is used
	head     Head
	last     time.Time
	since    int // bytes of the bodies after the last snapshot, whoever took it
	taken    Seq // the last snapshot's record, when records were last read
	stored   int // bytes of the snapshot that the follower was restored from; -1 once this process has appended
	buf      []byte
}

// snapshot is the stored state; seq is 0 if there is none.
type snapshot struct {
	seq   Seq
	hash  Hash
	state []byte
}

// catchUp brings the follower to the last record. After an error it is to be restored. While nobody else has committed
// there is nothing to read: what this process has appended is folded already. The version is read before the records, so
// that what is committed in between, outside a transaction, is read again at most.
func (f *fold) catchUp(w *writer) error {
	version, err := w.version()
	if err != nil {
		f.sound = false
		return err
	}
	if f.sound && version == w.folded {
		return nil
	}
	if err := f.readUp(w); err != nil {
		return err
	}
	w.folded = version
	return nil
}

// readUp folds the records after the head. Outside a transaction the snapshot may be older than what is read then, which
// does no harm: records stay.
func (f *fold) readUp(w *writer) error {
	var from snapshot
	restoring := !f.sound
	f.sound = false // until all went well
	if restoring {
		var err error
		if from, err = w.snapshot(); err != nil {
			return err
		}
		f.head, f.last, f.since, f.stored, f.taken = Head{Seq: from.seq}, time.Time{}, 0, len(from.state), from.seq
		if from.seq == 0 {
			if err := f.restore(from); err != nil {
				return err
			}
		}
	} else {
		var err error
		if f.taken, err = w.snapshotSeq(); err != nil {
			return err
		}
	}
	begun, start := false, f.head.Seq
	err := w.records(stFrom, func(r Record) error {
		if start == 0 || begun {
			return f.follow(r)
		}
		begun = true
		if restoring && r.Seq == start {
			f.head.Hash, f.last = r.Hash, r.At
			return f.restore(from)
		}
		if r.Seq != start || r.Hash != f.head.Hash {
			return gone(start)
		}
		return nil
	}, int64(start))
	if err != nil {
		return err
	}
	if start > 0 && !begun {
		return gone(start)
	}
	f.sound = true
	return nil
}

func gone(s Seq) error {
	return &Broken{Seq: s, Reason: fmt.Sprintf("record %d was there before and is not any more", s)}
}

func (f *fold) follow(r Record) (err error) {
	if f.buf, err = r.follows(f.buf, f.head, f.last); err != nil {
		return err
	}
	if err := guard(func() error { return f.follower.Follow(r) }); err != nil {
		return fmt.Errorf("journal: record %d cannot be applied: %w", r.Seq, err)
	}
	f.head, f.last, f.since = Head{Seq: r.Seq, Hash: r.Hash}, r.At, f.since+len(r.Body)
	if r.Seq == f.taken { // another process has taken a snapshot here: ours need not follow
		f.since = 0
	}
	return nil
}

// snapshotSeq returns which record the stored state was taken after; 0 if there is none.
func (w *writer) snapshotSeq() (seq Seq, err error) {
	err = w.query(stSnapshotSeq, 1, func(row []driver.Value) error {
		n, ok := row[0].(int64)
		if !ok || n < 1 {
			return &Broken{Seq: Seq(n), Reason: "the snapshot is damaged"}
		}
		seq = Seq(n)
		return nil
	})
	return seq, err
}

// snapshot reads the stored state.
func (w *writer) snapshot() (s snapshot, err error) {
	err = w.query(stSnapshot, 3, func(row []driver.Value) error {
		n, ok := row[0].(int64)
		h, ok2 := blob(row[1])
		state, ok3 := blob(row[2])
		if !ok || !ok2 || !ok3 || n < 1 || len(h) != len(s.hash) {
			return &Broken{Seq: Seq(n), Reason: "the snapshot is damaged"}
		}
		s = snapshot{seq: Seq(n), hash: Hash(h), state: state}
		return nil
	})
	return s, err
}

// restore begins again at the stored snapshot, whose record is the head, or at the empty state.
func (f *fold) restore(from snapshot) error {
	if from.seq > 0 && snapshotHash(f.head.Hash, from.state) != from.hash {
		return &Broken{Seq: from.seq, Reason: fmt.Sprintf("the snapshot does not belong to record %d", from.seq)}
	}
	if err := guard(func() error { return f.follower.Restore(from.seq, from.state) }); err != nil {
		return fmt.Errorf("journal: the state after record %d cannot be restored: %w", from.seq, err)
	}
	return nil
}

// panicked is a panic of somebody else's code, made an error.
type panicked struct{ value any }

func (p *panicked) Error() string { return fmt.Sprintf("journal: panic: %v", p.value) }

// errGone is the error of a decide that ended its goroutine.
var errGone = errors.New("journal: the goroutine ended inside the call")

// guard makes a panic of f an error. If f ends the goroutine, nothing is returned to anybody: the callers' deferred
// functions run.
func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{v}
		}
	}()
	return f()
}

// refresh folds what is there without a transaction, so that the write lock need not be held meanwhile.
func (j *Journal) refresh() error {
	return j.w.do(func() error { return j.fold.catchUp(&j.w) })
}

// hold takes the token that goes with the follower and the writer.
func (j *Journal) hold(ctx context.Context) error {
	select {
	case <-j.token:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-j.closing:
		return ErrClosed
	}
}

func (j *Journal) release() { j.token <- struct{}{} }
