package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sallyport/store"
)

// errReading is what Update and Read return from a journal without a follower.
var errReading = errors.New("journal: opened for reading only, without a follower")

// staleAfter is how long a journal may rest before it catches up outside the write lock first.
const staleAfter = time.Second

// firstSnapshot is how many bytes the first batch of a process leaves to be read by the next one. A process that appends
// once and ends never comes to the number at which the follower takes a snapshot, so each of its successors would have
// to read what came after the last one. The first batch asks for one therefore, and stores it if that is less than half
// of what the next process is spared.
const firstSnapshot = 4 << 10

// Update runs decide under the journal's write lock, after the follower has seen every record committed before, by any
// process, and makes what decide appended durable before it returns nil. Callers that wait at the same time share one
// commit; each sees what the ones before it appended. If decide returns an error, nothing that it appended is recorded
// and Update returns that error; decide must then have left the follower's state as it was. ctx bounds the wait for a
// turn only: once decide has begun, Update returns its true result. Any other error means that the result is not
// durable or not known; the follower is then restored from the file before the next decide runs. A panic in decide is
// such an error, for everybody in the batch. decide must not call the journal but through its Tx.
func (j *Journal) Update(ctx context.Context, decide func(*Tx) error) error {
	if j.fold.follower == nil {
		return errReading
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.queue.do(&request{ctx: ctx, decide: decide}, j.lead)
}

// lead commits for everybody who waits. The order of what it gives back: the follower, the turn between processes, the
// results, the lead.
func (j *Journal) lead(r *request) {
	store.Deepen()
	if err := j.freshen(r.ctx); err != nil {
		j.queue.fail(r, err)
		return
	}
	if err := j.db.Turnstile().Enter(r.ctx, j.lockWait-time.Since(r.since)); err != nil {
		j.notEntered(r, err)
		return
	}
	var taken []*request
	defer func() { j.queue.deliver(taken, r) }()
	defer j.db.Turnstile().Leave()
	if err := j.hold(context.Background()); err != nil {
		j.queue.fail(r, err)
		return
	}
	defer j.release()
	done := false
	defer func() {
		if !done { // decide has ended this goroutine
			j.fold.sound = false
			settle(taken, errGone)
		}
	}()
	err := j.w.do(func() error { return j.commit(&taken) })
	if len(taken) == 0 {
		taken = j.queue.gather()
	}
	if err != nil {
		settle(taken, inDoubt(err))
	}
	done = true
}

// freshen folds what others did during a long rest before it holds everybody up.
func (j *Journal) freshen(ctx context.Context) error {
	if err := j.hold(ctx); err != nil {
		return err
	}
	defer j.release()
	if time.Since(j.used) < staleAfter && j.fold.sound {
		return nil
	}
	return j.refresh()
}

// notEntered ends the requests that have waited for long enough, and lets another one lead the rest.
//
//limit:journal-lock-wait An update waits at most LockWait for its turn among the processes, then it is refused.
func (j *Journal) notEntered(r *request, err error) {
	switch {
	case errors.Is(err, store.ErrTurnstile):
		now := time.Now()
		j.queue.failIf(ErrBusy, func(w *request) bool { return w == r || now.Sub(w.since) >= j.lockWait })
	case errors.Is(err, store.ErrTurnstileClosed):
		j.queue.fail(r, ErrClosed)
	case r.ctx.Err() != nil:
		j.queue.fail(r, r.ctx.Err())
	default:
		j.queue.fail(r, fmt.Errorf("journal: %w", err))
	}
}

// settle gives everybody the same error.
func settle(taken []*request, err error) {
	for _, r := range taken {
		r.err = err
	}
}

func inDoubt(err error) error {
	if store.Busy(err) {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return fmt.Errorf("journal: nothing of this is certain to be recorded: %w", err)
}

// commit is one transaction: catch up, take the queue, decide, insert, commit. Any error is everybody's.
func (j *Journal) commit(taken *[]*request) error {
	if err := j.w.begin(stBegin); err != nil {
		return err
	}
	if err := j.fold.catchUp(&j.w); err != nil {
		return err
	}
	*taken = j.queue.gather()
	j.fold.sound = false // until this is durable
	b := j.newBatch()
	if err := decideAll(b, *taken); err != nil {
		return err
	}
	since := j.fold.since
	if len(b.added) > 0 {
		var err error
		if since, err = j.insert(b); err != nil {
			return err
		}
		if err := j.w.commit(); err != nil {
			return err
		}
	}
	if err := j.db.Moved(); err != nil { // what was read or written is not the journal
		return err
	}
	if len(b.added) > 0 {
		j.index.committed(j.fold.head.Seq, b.head.Seq, b.keys)
		j.fold.stored = -1
	}
	j.fold.head, j.fold.last, j.fold.since, j.fold.sound = b.head, b.last, since, true
	j.used = time.Now()
	return nil
}

func (j *Journal) newBatch() *batch {
	return &batch{head: j.fold.head, last: j.fold.last, find: j.find, during: j.during, scratch: j.fold.buf}
}

// decideAll runs the decides one after another. Their own errors are theirs alone; a panic or a breach of a limit is
// everybody's, since the follower's state is then not what the batch holds.
func decideAll(b *batch, taken []*request) error {
	for i, r := range taken {
		b.begin()
		r.err = guard(func() error { return r.decide(&Tx{b: b, later: i > 0}) })
		if p := (*panicked)(nil); errors.As(r.err, &p) {
			return r.err
		}
		if b.fault != nil {
			return b.fault
		}
		if r.err != nil {
			b.undo()
		}
	}
	return nil
}

// insert writes the batch, and a snapshot if the follower gives one. It returns the bytes since the last snapshot.
func (j *Journal) insert(b *batch) (since int, err error) {
	if err := j.w.insert(b, j.fold.head.Seq); err != nil {
		return 0, err
	}
	since = j.fold.since + b.bytes
	first := j.fold.stored >= 0 && since >= firstSnapshot
	asked, most := since, wholeState
	if first {
		asked, most = wholeState, (j.fold.stored+since)/2
	}
	var state []byte
	err = guard(func() error { state = j.fold.follower.Snapshot(asked, most); return nil })
	if err != nil || state == nil || len(state) > most {
		return since, err
	}
	hash := snapshotHash(b.head.Hash, state)
	return 0, j.w.exec(stPutSnapshot, int64(b.head.Seq), hash[:], state)
}

// insert writes the records of a batch after the record before, their keys, and what that adds to the filters.
func (w *writer) insert(b *batch, before Seq) error {
	if err := w.insertRows(b.added); err != nil {
		return err
	}
	if err := w.insertKeys(b.keys); err != nil {
		return err
	}
	return w.extendFilters(filtered(before), filtered(b.head.Seq))
}

// insertRows inserts records, as many as one statement takes at a time.
func (w *writer) insertRows(added []Record) error {
	for len(added) > 0 {
		n, s := share(len(added), stInsert, stInsertSome, stInsertMany)
		values := w.values[:0]
		for i := range added[:n] {
			r := &added[i]
			values = append(values, int64(r.Seq), r.Stream, r.At.UnixMicro(), r.Body, r.Hash[:])
		}
		if err := w.put(s, n, values...); err != nil {
			return err
		}
		added = added[n:]
	}
	return nil
}

// insertKeys does the same with index entries.
func (w *writer) insertKeys(keys []key) error {
	for len(keys) > 0 {
		n, s := share(len(keys), stInsertKey, stInsertSomeKeys, stInsertManyKeys)
		values := w.values[:0]
		for _, k := range keys[:n] {
			values = append(values, bucketOf(k.seq), k.hash, int64(k.seq))
		}
		if err := w.put(s, n, values...); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// share returns how many of the rows that are left the next statement inserts, and which statement that is.
func share(left int, one, few, lot statement) (int, statement) {
	switch {
	case left >= many:
		return many, lot
	case left >= some:
		return some, few
	}
	return 1, one
}
