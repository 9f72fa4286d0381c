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
	since    int // bytes of the bodies after the last snapshot
	buf      []byte
}

// catchUp brings the follower to the last record, inside a transaction of w. After an error it is to be restored.
func (f *fold) catchUp(w *writer) error {
	if !f.sound {
		if err := f.restore(w); err != nil {
			return err
		}
	}
	f.sound = false // until all went well
	seq, hash, err := w.head()
	switch {
	case err != nil:
		return err
	case seq < f.head.Seq || seq == f.head.Seq && hash != f.head.Hash:
		return &Broken{Seq: f.head.Seq, Reason: fmt.Sprintf("record %d was there before and is not any more", f.head.Seq)}
	case seq > f.head.Seq:
		if err := w.records(stAfter, f.follow, int64(f.head.Seq)); err != nil {
			return err
		}
	}
	f.sound = true
	return nil
}

// head returns the last record's number and hash.
func (w *writer) head() (seq Seq, hash Hash, err error) {
	err = w.query(stHead, 3, func(row []driver.Value) error {
		n, ok := row[0].(int64)
		h, isBlob := blob(row[2])
		if !ok || !isBlob || len(h) != len(hash) || n < 1 {
			return &Broken{Seq: Seq(n), Reason: fmt.Sprintf("record %d, the last one, is damaged", n)}
		}
		seq, hash = Seq(n), Hash(h)
		return nil
	})
	return seq, hash, err
}

func (f *fold) follow(r Record) (err error) {
	if f.buf, err = r.follows(f.buf, f.head, f.last); err != nil {
		return err
	}
	if err := guard(func() error { return f.follower.Follow(r) }); err != nil {
		return fmt.Errorf("journal: record %d cannot be applied: %w", r.Seq, err)
	}
	f.head, f.last, f.since = Head{Seq: r.Seq, Hash: r.Hash}, r.At, f.since+len(r.Body)
	return nil
}

// restore begins again at the stored snapshot, or at the empty state.
func (f *fold) restore(w *writer) error {
	f.head, f.last, f.since = Head{}, time.Time{}, 0
	var seq Seq
	var hash Hash
	var state []byte
	err := w.query(stSnapshot, 3, func(row []driver.Value) error {
		n, ok := row[0].(int64)
		h, ok2 := blob(row[1])
		s, ok3 := blob(row[2])
		if !ok || !ok2 || !ok3 || n < 1 || len(h) != len(hash) {
			return &Broken{Seq: Seq(n), Reason: "the snapshot is damaged"}
		}
		seq, hash, state = Seq(n), Hash(h), s
		return nil
	})
	if err != nil {
		return err
	}
	if seq > 0 {
		err := w.records(stOne, func(r Record) error {
			f.head, f.last = Head{Seq: r.Seq, Hash: r.Hash}, r.At
			return nil
		}, int64(seq))
		if err != nil {
			return err
		}
		if f.head.Seq != seq || snapshotHash(f.head.Hash, state) != hash {
			return &Broken{Seq: seq, Reason: fmt.Sprintf("the snapshot does not belong to record %d", seq)}
		}
	}
	if err := guard(func() error { return f.follower.Restore(seq, state) }); err != nil {
		return fmt.Errorf("journal: the state after record %d cannot be restored: %w", seq, err)
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

// refresh folds what is there in a read transaction, so that the write lock need not be held meanwhile.
func (j *Journal) refresh() error {
	return j.w.do(func() error {
		if err := j.w.begin(stBeginRead); err != nil {
			return err
		}
		return j.fold.catchUp(&j.w)
	})
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
