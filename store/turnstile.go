package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// What Enter returns.
var (
	ErrTurnstile       = errors.New("store: another process held the lock for too long")
	ErrTurnstileClosed = errors.New("store: closed")
)

// Turnstile lets processes through one at a time and in turn. SQLite's own lock is not fair: who has just left it takes
// it again while the others sleep. Here everybody first waits at the lock NEXT, holding which he waits for the lock
// MAIN, so who leaves comes behind whoever waited. Both are advisory locks on files beside the database, which the
// kernel releases when a process dies. They only order the writers; that they exclude each other is SQLite's work.
//
// One goroutine at a time may call Enter, and Leave after it. Close may be called at any time.
type Turnstile struct {
	nextPath, mainPath string

	mu      sync.Mutex
	next    *os.File // nil until first used
	main    *os.File
	pending bool       // a goroutine waits in the kernel
	waiter  chan error // who wants what it gets; nil if he gave up
	closed  bool       // a pending goroutine closes the files
	held    bool       // MAIN is ours
}

// NewTurnstile returns the turnstile of the database at path. It touches no file yet.
func NewTurnstile(path string) *Turnstile {
	return &Turnstile{nextPath: path + ".next", mainPath: path + ".main"}
}

// Enter waits until it is this process's turn, at most for the given time, then it returns ErrTurnstile, or until ctx
// ends, then it returns that error. A free lock is taken whatever the time.
func (t *Turnstile) Enter(ctx context.Context, wait time.Duration) error {
	got, err := t.tryOrQueue()
	if got == nil {
		return err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case err := <-got:
		return err
	case <-timer.C:
		return t.giveUp(got, ErrTurnstile)
	case <-ctx.Done():
		return t.giveUp(got, ctx.Err())
	}
}

// giveUp stops waiting, unless the turn came just now.
func (t *Turnstile) giveUp(got <-chan error, why error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case err := <-got:
		return err
	default:
		t.waiter = nil
		return why
	}
}

// tryOrQueue takes the locks if they are free. Otherwise it returns a channel that says when they are ours: a blocked
// system call cannot be interrupted, so it blocks a goroutine that we can stop waiting for.
func (t *Turnstile) tryOrQueue() (<-chan error, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, ErrTurnstileClosed
	}
	if err := t.open(); err != nil {
		return nil, err
	}
	if !t.pending {
		ok, err := t.try()
		if ok || err != nil {
			t.held = ok
			return nil, err
		}
		t.pending = true
		go t.block(t.next, t.main)
	}
	t.waiter = make(chan error, 1)
	return t.waiter, nil
}

// try takes both locks without waiting. It keeps NEXT if only that is free.
func (t *Turnstile) try() (bool, error) {
	if ok, err := tryLock(t.next); !ok {
		return false, err
	}
	ok, err := tryLock(t.main)
	if ok || err != nil {
		return ok, errors.Join(err, unlock(t.next))
	}
	return false, nil
}

// block waits in the kernel and hands the turn to the waiter. If he has given up it is passed on at once.
func (t *Turnstile) block(next, main *os.File) {
	err := lock(next) // a no-op if try got it already
	if err == nil {
		err = errors.Join(lock(main), unlock(next))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending = false
	if t.waiter != nil && !t.closed {
		t.held = err == nil
		t.waiter <- err
		t.waiter = nil
		return
	}
	if t.waiter != nil {
		t.waiter <- ErrTurnstileClosed
		t.waiter = nil
	}
	_ = unlock(main)
	if t.closed {
		_ = errors.Join(next.Close(), main.Close())
	}
}

// Leave lets the next one through.
func (t *Turnstile) Leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.held {
		return
	}
	t.held = false
	_ = unlock(t.main) // fails only on a bad descriptor
	if t.closed {
		_ = errors.Join(t.next.Close(), t.main.Close())
	}
}

// Close gives the locks back; a turn that is being used ends with Leave. A wait in the kernel cannot be broken off; its
// goroutine ends, and passes the turn on, when the other process lets go.
func (t *Turnstile) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	if t.waiter != nil {
		t.waiter <- ErrTurnstileClosed
		t.waiter = nil
	}
	if t.pending || t.held || t.next == nil {
		return nil
	}
	return errors.Join(t.next.Close(), t.main.Close())
}

// open opens the lock files once. They are never removed: two processes could then hold locks on different files.
func (t *Turnstile) open() error {
	if t.next != nil {
		return nil
	}
	next, err := openLock(t.nextPath)
	if err != nil {
		return err
	}
	main, err := openLock(t.mainPath)
	if err != nil {
		return errors.Join(err, next.Close())
	}
	t.next, t.main = next, main
	return nil
}

func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, privateMode)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return f, nil
}

func tryLock(f *os.File) (bool, error) {
	err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func lock(f *os.File) error   { return flock(f, syscall.LOCK_EX) }
func unlock(f *os.File) error { return flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
