package gate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"sallyport/journal"
	"sallyport/ledger"
)

// ErrDaemonRequired says that a daemon has owned the data directory, so that nobody else decides in it.
var ErrDaemonRequired = errors.New("this data directory belongs to a daemon; connect to it, or start it with sallyport serve")

// ErrDaemonRuns says that another daemon has the data directory.
var ErrDaemonRuns = errors.New("another daemon has this data directory")

// own takes the data directory for the daemon, for ever: other processes may read and stop, and no more.
//
//limit:gate-one-daemon A data directory has one daemon at a time, and after the first nobody else decides in it: DAEMON_REQUIRED.
func (g *Gate) own(ctx context.Context) error {
	owned := false
	err := g.journal.Read(ctx, func() error {
		owned = g.follow.state.Owned()
		return nil
	})
	switch {
	case err != nil:
		return err
	case !g.cfg.Daemon && owned && g.cfg.Broker != nil:
		return ErrDaemonRequired
	case !g.cfg.Daemon:
		return nil
	}
	if err := g.lockDaemon(); err != nil || owned {
		return err
	}
	return g.update(ctx, func(tx *journal.Tx) error {
		at, _ := g.moment(tx)
		g.recordIn(tx, streamPeople, at, ledger.DaemonOwned{By: "sallyport serve"})
		return nil
	})
}

func (g *Gate) lockDaemon() error {
	if err := os.MkdirAll(g.lease.dir, homeMode); err != nil {
		return err
	}
	//limit:gate-daemon-lock The daemon's lock is a file of mode 0600.
	f, err := os.OpenFile(filepath.Join(g.cfg.Home, "daemon.lock"), os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return errors.Join(ErrDaemonRuns, f.Close())
	}
	g.owner = f
	return nil
}

func (g *Gate) disown() error {
	if g.owner == nil {
		return nil
	}
	f := g.owner
	g.owner = nil
	return f.Close()
}

// The streams beside those of the accounts.
const (
	streamKill   = "kill"
	streamPeople = "people"
)

// news tells those who wait that something was recorded.
type news struct {
	mu sync.Mutex
	ch chan struct{}
}

// Watch returns a channel that is closed when this process records something after the call.
func (g *Gate) Watch() <-chan struct{} {
	g.news.mu.Lock()
	defer g.news.mu.Unlock()
	if g.news.ch == nil {
		g.news.ch = make(chan struct{})
	}
	return g.news.ch
}

func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ch != nil {
		close(n.ch)
		n.ch = nil
	}
}

// errUnreadable marks that a record could not be read in the middle of a decision.
var errUnreadable = errors.New("a record cannot be read")

// update is journal.Update for everything that the gate records. A journal that cannot be written trips the gate.
func (g *Gate) update(ctx context.Context, decide func(*journal.Tx) error) error {
	var own error
	var halted []ledger.Stop
	tripped := g.tripped.Load()
	err := g.journal.Update(ctx, func(tx *journal.Tx) error {
		g.halted = nil
		latched := g.latch(tx)
		own = decide(tx)
		if halted = g.halted; latched {
			return nil // what was latched is recorded, and a decide that fails has recorded nothing
		}
		return own
	})
	if errors.Is(own, errUnreadable) {
		g.trip(own)
	}
	switch {
	case err == nil:
		g.tripped.CompareAndSwap(tripped, nil) // it is on record now, and a person can reset it
		g.news.tell()
		g.cancelHalted(ctx, halted)
		return own
	case own == nil && !errors.Is(err, journal.ErrBusy) && !errors.Is(err, journal.ErrClosed) && ctx.Err() == nil:
		g.trip(err)
	}
	return err
}
