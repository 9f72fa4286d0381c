package journal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"time"
)

// A reader takes at most so much at a time, and hands it out between two transactions: a long export neither holds all
// in memory nor keeps the write-ahead log from being folded in.
const (
	pageRecords = 256
	pageBytes   = 1 << 20
)

// Head returns the last committed record; the zero Head of an empty journal.
func (j *Journal) Head(ctx context.Context) (Head, error) {
	return readHead(ctx, j.db.DB)
}

// querier is a pool or one connection of it.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func readHead(ctx context.Context, q querier) (h Head, err error) {
	err = eachRecord(ctx, q, func(r Record) error {
		h = Head{Seq: r.Seq, Hash: r.Hash}
		return nil
	}, `SELECT `+columns+` FROM records ORDER BY seq DESC LIMIT 1`)
	return h, err
}

// errEnough ends eachRecord early, without an error.
var errEnough = errors.New("enough")

// swift returns what a query is run under that is over at once: nothing ends it halfway. A context that can end is
// watched by the library and by the driver, each with a goroutine of its own for every query, and that costs more than to
// read a few records.
func swift(ctx context.Context) (context.Context, error) {
	return context.WithoutCancel(ctx), ctx.Err()
}

// eachRecord calls each for the records of a query over all columns, which are few enough that ctx is only looked at
// before.
func eachRecord(ctx context.Context, q querier, each func(Record) error, query string, args ...any) (err error) {
	ctx, err = swift(ctx)
	if err != nil {
		return readError(err)
	}
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return readError(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var seq, at int64
		var stream string
		var body, hash []byte
		if err := rows.Scan(&seq, &stream, &at, &body, &hash); err != nil {
			return readError(err)
		}
		r, err := makeRecord(seq, stream, at, body, hash)
		if err != nil {
			return err
		}
		if err := each(r); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return readError(rows.Err())
}

func readError(err error) error {
	if err == nil {
		return nil
	}
	return outward(fmt.Errorf("journal: %w", err))
}

// page reads some records of a query.
func (j *Journal) page(ctx context.Context, query string, args ...any) (page []Record, err error) {
	size := 0
	err = eachRecord(ctx, j.db, func(r Record) error {
		page, size = append(page, r), size+len(r.Body)
		if size >= pageBytes {
			return errEnough
		}
		return nil
	}, query, append(args, pageRecords)...)
	return page, err
}

// Records returns the records from first on, in order, to the one that was the last when the iteration began. It ends
// after an error.
func (j *Journal) Records(ctx context.Context, first Seq) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		end, err := j.Head(ctx)
		if err != nil {
			yield(Record{}, err)
			return
		}
		j.forward(ctx, first, end.Seq, yield)
	}
}

// forward yields the records from first to last.
func (j *Journal) forward(ctx context.Context, first, last Seq, yield func(Record, error) bool) {
	for next := max(first, 1); next <= last; {
		page, err := j.page(ctx, `SELECT `+columns+` FROM records WHERE seq BETWEEN ? AND ? ORDER BY seq LIMIT ?`,
			int64(next), int64(last))
		if err == nil && len(page) == 0 {
			err = &Broken{Seq: next, Reason: fmt.Sprintf("record %d is missing", next)}
		}
		for _, r := range page {
			if !yield(r, nil) {
				return
			}
			next = r.Seq + 1
		}
		if err != nil {
			yield(Record{}, err)
			return
		}
	}
}

// Backward returns the records from the newest to the oldest. It ends after an error.
func (j *Journal) Backward(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		before := int64(^uint64(0) >> 1)
		for {
			page, err := j.page(ctx, `SELECT `+columns+` FROM records WHERE seq < ? ORDER BY seq DESC LIMIT ?`, before)
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
				before = int64(r.Seq)
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			if len(page) == 0 {
				return
			}
		}
	}
}

// Find is Tx.Find outside a transaction. It takes turns with this process's Updates; ctx bounds the wait for the turn.
func (j *Journal) Find(ctx context.Context, k Key) (found []Record, err error) {
	if err := j.hold(ctx); err != nil {
		return nil, err
	}
	defer j.release()
	err = j.w.do(func() error {
		var last Seq
		err := j.w.query(stHead, 1, func(row []driver.Value) error {
			n, ok := row[0].(int64)
			if !ok || n < 1 {
				return &Broken{Seq: Seq(n), Reason: fmt.Sprintf("record %d, the last one, is damaged", n)}
			}
			last = Seq(n)
			return nil
		})
		if err == nil {
			found, err = j.findUpTo(k.hash64(), last)
		}
		return err
	})
	return found, outward(err)
}

// At returns the records whose time lies in [from, to], in order. Times never fall along the journal, so both ends are
// found without reading what lies between.
func (j *Journal) At(ctx context.Context, from, to time.Time) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		end, err := j.Head(ctx)
		if err != nil {
			yield(Record{}, err)
			return
		}
		first, err := search(1, end.Seq+1, true, func(s Seq) (bool, error) {
			at, err := j.timeOf(ctx, s)
			return at.Before(from), err
		})
		if err != nil {
			yield(Record{}, err)
			return
		}
		beyond, err := search(first, end.Seq+1, false, func(s Seq) (bool, error) {
			at, err := j.timeOf(ctx, s)
			return !at.After(to), err
		})
		if err != nil {
			yield(Record{}, err)
			return
		}
		j.forward(ctx, first, beyond-1, yield)
	}
}

// search returns the first number from low on that is not below what is looked for, at most high. It begins at an end,
// since what is looked for is mostly near it: in steps that double, and by halving once it has gone too far.
func search(low, high Seq, fromEnd bool, below func(Seq) (bool, error)) (Seq, error) {
	for step := Seq(1); low < high; {
		at := low + (high-low)/2
		switch {
		case step == 0: // gone too far
		case fromEnd:
			at = high - min(step, high-low)
		default:
			at = low + min(step, high-low) - 1
		}
		is, err := below(at)
		if err != nil {
			return 0, err
		}
		if is {
			low = at + 1
		} else {
			high = at
		}
		if step *= 2; is == fromEnd {
			step = 0
		}
	}
	return low, nil
}

func (j *Journal) timeOf(ctx context.Context, s Seq) (time.Time, error) {
	ctx, err := swift(ctx)
	if err != nil {
		return time.Time{}, readError(err)
	}
	var at int64
	err = j.db.QueryRowContext(ctx, `SELECT at FROM records WHERE seq = ?`, int64(s)).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, &Broken{Seq: s, Reason: fmt.Sprintf("record %d is missing", s)}
	}
	return time.UnixMicro(at), readError(err)
}

// Read folds every committed record into the follower and calls view, without the write lock of other processes and
// without recording anything. It takes turns with this process's Updates, so view should be quick, and must not call
// Update or Read. ctx bounds the wait for the turn. The error is view's, or says why the follower is not up to date.
func (j *Journal) Read(ctx context.Context, view func() error) error {
	if j.fold.follower == nil {
		return errReading
	}
	if err := j.hold(ctx); err != nil {
		return err
	}
	defer j.release()
	if err := j.refresh(); err != nil {
		return outward(err)
	}
	j.used = time.Now()
	return view()
}

// Backup copies the journal into a new file, safely while others write. It fails with fs.ErrExist.
func (j *Journal) Backup(ctx context.Context, path string) error {
	return outward(j.db.Backup(ctx, path))
}
