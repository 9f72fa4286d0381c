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

// eachRecord calls each for the records of a query over all columns.
func eachRecord(ctx context.Context, q querier, each func(Record) error, query string, args ...any) (err error) {
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

// At returns the records whose time lies in [from, to], in order. Times never fall along the journal, so the first is
// found by halving.
func (j *Journal) At(ctx context.Context, from, to time.Time) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		end, err := j.Head(ctx)
		if err != nil {
			yield(Record{}, err)
			return
		}
		first, err := j.firstAt(ctx, from, end.Seq)
		if err != nil {
			yield(Record{}, err)
			return
		}
		j.forward(ctx, first, end.Seq, func(r Record, err error) bool {
			return (err != nil || !r.At.After(to)) && yield(r, err)
		})
	}
}

// firstAt returns the first record that is not before the time, or last+1.
func (j *Journal) firstAt(ctx context.Context, from time.Time, last Seq) (Seq, error) {
	low, high := Seq(1), last+1
	for low < high {
		mid := low + (high-low)/2
		var at int64
		err := j.db.QueryRowContext(ctx, `SELECT at FROM records WHERE seq = ?`, int64(mid)).Scan(&at)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, &Broken{Seq: mid, Reason: fmt.Sprintf("record %d is missing", mid)}
		}
		if err != nil {
			return 0, readError(err)
		}
		if time.UnixMicro(at).Before(from) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, nil
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
