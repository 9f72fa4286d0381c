package gate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/trade"
	"sallyport/wire"
)

// StopName is the stop file in the data directory. While it is there, and for ever after it was seen, the kill switch of
// its scope is engaged; it works when the journal cannot be written.
const StopName = "STOP"

// maxStopFile bounds what is read of a stop file.
//
//limit:gate-stop-file-bytes Of a stop file at most 4,096 bytes are read; a longer one, or one that cannot be understood, stops everything.
const maxStopFile = 4096

// WriteStopFile stops everything, or one scope, without the journal. A stop file that is there already is replaced by one
// that stops everything, unless it is of the same scope.
func WriteStopFile(home string, stop ledger.Stop) (path string, err error) {
	if home == "" {
		return "", errInMemory
	}
	path = filepath.Join(home, StopName)
	if old, there := readStopFile(home); there {
		same := old.Scope == stop.Scope
		if !same {
			stop.Scope = ledger.Scope{}
		}
		// Exits go where one stop of them says so, and beyond that only where both do.
		stop.All = stop.All && old.All || same && (stop.All || old.All) && !stop.Keep
	}
	text := wire.AppendText([]byte{'{'}, "scope", stop.Scope.String())
	text = wire.AppendText(wire.AppendText(text, "by", stop.By), "reason", stop.Reason)
	if stop.Keep {
		text = append(wire.AppendName(text, "keep"), "true"...)
	}
	if stop.All {
		text = append(wire.AppendName(text, "all"), "true"...)
	}
	f, err := os.CreateTemp(home, ".stop-*") // mode 0600
	if err == nil {
		_, err = f.Write(append(text, '}', '\n'))
		err = errors.Join(err, f.Sync(), f.Close())
		if err == nil {
			err = os.Rename(f.Name(), path)
		}
		if err == nil {
			return path, syncDir(home)
		}
		os.Remove(f.Name())
	}
	// Where there is no room for the words an empty file says enough.
	//limit:gate-stop-file-mode A stop file is made with mode 0600.
	f, bare := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if bare != nil {
		if old, there := readStopFile(home); there && old.Scope.Kind == ledger.Everything {
			return path, nil // whatever it is that is there, it stops everything
		}
		return path, errors.Join(err, bare)
	}
	_ = syncDir(home) // it stands for every process of this machine already
	return path, f.Close()
}

// StopFile returns what the stop file of a data directory says, if there is one.
func StopFile(home string) (stop ledger.Stop, there bool) { return readStopFile(home) }

// readStopFile reads the stop file, if there is one. Whatever cannot be read or understood stops everything.
func readStopFile(home string) (stop ledger.Stop, there bool) {
	if home == "" { // only a gate in memory has none: see PrepareHome
		return stop, false
	}
	path := filepath.Join(home, StopName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return stop, false
	}
	stop = ledger.Stop{By: "stop file", Reason: "there is a stop file in the data directory"}
	raw, err := ReadOwned(path, maxStopFile)
	if err != nil {
		return stop, true
	}
	//limit:gate-stop-file-depth A stop file is one object that is nested over 2 levels nowhere; any other stops everything.
	v, err := wire.Read(raw, wire.Limits{Bytes: maxStopFile, Depth: 2})
	if err != nil || !stopMembers(v) {
		return stop, true
	}
	if m, n := v.Member("scope"); n == 1 && m.Kind == wire.String {
		if scope, ok := ledger.ParseScope(m.Text); ok {
			stop.Scope = scope
		}
	}
	if m, n := v.Member("by"); n == 1 && m.Kind == wire.String {
		stop.By = "stop file of " + trade.Printable(m.Text, 64)
	}
	if m, n := v.Member("reason"); n == 1 && m.Kind == wire.String {
		stop.Reason = trade.Printable(m.Text, maxReasonText)
	}
	if m, n := v.Member("keep"); n == 1 && m.Kind == wire.Bool {
		stop.Keep = m.Text == "true"
	}
	if m, n := v.Member("all"); n == 1 && m.Kind == wire.Bool {
		stop.All = m.Text == "true" && !stop.Keep
	}
	return stop, true
}

// stopMembers reports whether a stop file has our members only, each once.
func stopMembers(v wire.Value) bool {
	for _, m := range v.Members {
		if _, n := v.Member(m.Name); n != 1 || !slices.Contains([]string{"scope", "by", "reason", "keep", "all"}, m.Name) {
			return false
		}
	}
	return v.Kind == wire.Object
}

// latch records a stop file that is there and a trip of this process, before anything else is decided. The file is looked
// for once for all who are decided together: one that was written before any of them called is seen.
//
//limit:gate-stop-file A stop file is recorded as an engaged kill switch by the next decision of any process; removing it resets nothing.
func (g *Gate) latch(tx *journal.Tx) (latched bool) {
	st := g.follow.state
	if tx.First() {
		g.looked = g.now()
		if stop, there := readStopFile(g.cfg.Home); there && (!st.Engaged(stop.Scope) || stop.All && !g.inForce(stop.Scope).All) {
			at, _ := g.moment(tx)
			g.recordIn(tx, streamKill, at, ledger.KillEngaged{Scope: stop.Scope, By: stop.By, Reason: stop.Reason, Keep: stop.Keep, All: stop.All})
			latched = true
		}
	}
	if why := g.tripped.Load(); why != nil && !st.Engaged(ledger.Scope{}) {
		at, _ := g.moment(tx)
		g.recordIn(tx, streamKill, at, ledger.KillEngaged{By: bySallyport, Reason: *why})
		latched = true
	}
	return latched
}

const bySallyport = "sallyport"

// trip engages the kill switch without the journal, because the journal failed: in this process, and by a stop file for
// every other.
//
//limit:gate-trip An I/O error, a full disk or a corruption of the journal engages the kill switch; waiting for its lock does not.
func (g *Gate) trip(cause error) {
	why := "the journal failed: " + trade.Printable(cause.Error(), 200)
	if !g.tripped.CompareAndSwap(nil, &why) {
		return
	}
	_, _ = WriteStopFile(g.cfg.Home, ledger.Stop{By: bySallyport, Reason: why}) // this process is stopped in any case
}

// stoppedOutside returns the switches that stop a call, whatever the journal says: the stop file and a trip.
func (g *Gate) stoppedOutside(now time.Time) []ledger.Stop {
	var all []ledger.Stop
	if stop, there := readStopFile(g.cfg.Home); there {
		stop.Since = now
		all = append(all, stop)
	}
	if why := g.tripped.Load(); why != nil && !engaged(all, ledger.Scope{}) {
		all = append(all, ledger.Stop{By: bySallyport, Reason: *why, Since: now})
	}
	return all
}

// clearStopFile takes the stop file away, after what it says has been recorded.
func (g *Gate) clearStopFile() error {
	if g.memory != nil {
		return nil
	}
	err := os.Remove(filepath.Join(g.cfg.Home, StopName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the stop file cannot be removed: %w", err)
	}
	return nil
}
