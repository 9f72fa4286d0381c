package gate_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// wantStopFile makes sure that a stop stands by its file alone, is recorded by the next decision, and outlives the file.
func wantStopFile(t *testing.T, g *gate.Gate, home, reason string) {
	t.Helper()
	d := g.Execute(ctx, buy(t, "1"))
	if d.Error != "killswitch_active" || len(d.Stops) != 1 || !strings.Contains(d.Stops[0].Reason, reason) {
		t.Fatalf("after the stop file: %s", d.AppendJSON(nil))
	}
	if err := os.Remove(filepath.Join(home, gate.StopName)); err != nil {
		t.Fatal(err)
	}
	if d := g.Execute(ctx, buy(t, "1")); d.Error != "killswitch_active" {
		t.Fatalf("the file was removed: %s", d.AppendJSON(nil))
	}
}

//attack:gate-stop-file
//attack:gate-stop-file-bytes
//attack:gate-stop-file-mode
//attack:gate-stop-file-depth
//fault:f11
func TestStopFile(t *testing.T) {
	for name, text := range map[string]string{
		"of ours":      `{"scope":"everything","by":"x","reason":"there is a stop file in the data directory"}`,
		"empty":        "",
		"garbage":      "\x00\xff",
		"no scope":     `{"scope":"nowhere"}`,
		"unknown":      `{"scope":"symbol:MSFT","x":1}`,
		"no text":      `{"scope":7}`,
		"two scopes":   `{"scope":"symbol:MSFT","scope":"symbol:IBM"}`,
		"too long":     `{"scope":"symbol:MSFT","reason":"` + strings.Repeat("x", 4096) + `"}`,
		"not a scope":  `["symbol:MSFT"]`,
		"bad symbol":   `{"scope":"symbol:msft "}`,
		"nested":       `{"scope":"symbol:MSFT","more":[[[]]]}`,
		"more follows": `{"scope":"symbol:MSFT"} {}`,
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t)
			if err := os.WriteFile(filepath.Join(o.cfg.Home, gate.StopName), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if d := o.Check(ctx, buy(t, "1")); d.Error != "killswitch_active" {
				t.Fatalf("a dry run: %s", d.AppendJSON(nil))
			}
			wantStopFile(t, o.Gate, o.cfg.Home, "there is a stop file")
		})
	}
	t.Run("a directory", func(t *testing.T) {
		o := newOffice(t)
		if err := os.Mkdir(filepath.Join(o.cfg.Home, gate.StopName), 0o700); err != nil {
			t.Fatal(err)
		}
		wantStopFile(t, o.Gate, o.cfg.Home, "there is a stop file")
	})
	t.Run("a directory, and a kill that cannot be recorded", func(t *testing.T) {
		home := t.TempDir()
		if err := os.Mkdir(filepath.Join(home, gate.StopName), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := gate.WriteStopFile(home, ledger.Stop{By: "x", Reason: "y"}); err != nil {
			t.Fatalf("what is there stops everything: %v", err)
		}
	})
	t.Run("of one symbol", func(t *testing.T) {
		o := newOffice(t)
		path := must(gate.WriteStopFile(o.cfg.Home, ledger.Stop{Scope: scopeOf(t, "symbol:MSFT"), By: "x", Reason: "y"}))(t)
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%v, %v", info, err)
		}
		wantDecision(t, o.Execute(ctx, buy(t, "1")), policy.Allow, ledger.Succeeded, "")
		if d := o.Execute(ctx, call(t, "buy", "MSFT", "1", "1.00")); d.Error != "killswitch_active" {
			t.Fatalf("%s", d.AppendJSON(nil))
		}
		must(gate.WriteStopFile(o.cfg.Home, ledger.Stop{Scope: scopeOf(t, "symbol:IBM"), By: "x", Reason: "y"}))(t)
		wantStopFile(t, o.Gate, o.cfg.Home, "y") // two scopes do not fit in one file, so it stops everything
	})
	t.Run("that keeps orders", func(t *testing.T) {
		o := newOffice(t)
		o.v.rests = true
		d := o.Execute(ctx, buy(t, "1"))
		must(gate.WriteStopFile(o.cfg.Home, ledger.Stop{By: "x", Reason: "y", Keep: true}))(t)
		must(o.Reconcile(ctx))(t)
		wantStopFile(t, o.Gate, o.cfg.Home, "y")
		must(o.Reconcile(ctx))(t)
		if now, _, err := o.History(ctx, d.Intent); err != nil || now.OrderStatus() != "working" {
			t.Fatalf("%v: %s", err, now.AppendJSON(nil))
		}
	})
	t.Run("and somebody who is gone", func(t *testing.T) {
		o := newOffice(t)
		path := must(gate.WriteStopFile(o.cfg.Home, ledger.Stop{By: "x", Reason: "y"}))(t)
		if err := o.RemovePerson(ctx, o.olga, "anna"); err != nil {
			t.Fatal(err)
		}
		o.wantRefused(t, o.Reset(ctx, o.anna, ledger.Scope{}, "let me"), policy.PersonUnknown)
		if _, err := os.Stat(path); err != nil {
			t.Fatal("a refused reset took the stop file away")
		}
	})
	t.Run("and a reset", func(t *testing.T) {
		o := newOffice(t)
		path := must(gate.WriteStopFile(o.cfg.Home, ledger.Stop{By: "x", Reason: "y"}))(t)
		if err := o.Reset(ctx, o.anna, ledger.Scope{}, "seen"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Fatalf("the stop file is still there: %v", err)
		}
		wantDecision(t, o.Execute(ctx, buy(t, "1")), policy.Allow, ledger.Succeeded, "")
		seen := 0
		for _, e := range events(t, o.Gate) {
			if k, ok := e.(ledger.KillEngaged); ok && strings.HasPrefix(k.By, "stop file") {
				seen++
			}
		}
		if seen != 1 {
			t.Fatalf("the stop file is on record %d times", seen)
		}
	})
}

// TestKillWhileTheJournalIsLocked: another process holds the write lock for longer than a caller waits.
//
//fault:f125
func TestKillWhileTheJournalIsLocked(t *testing.T) {
	o := newOffice(t, func(c *gate.Config) { c.LockWait, c.SendWithin = 50*time.Millisecond, time.Millisecond })
	j := must(journal.Open(ctx, journal.Config{Path: filepath.Join(o.cfg.Home, gate.JournalName), LockWait: time.Second, Follower: deaf{}}))(t)
	defer j.Close()
	locked, release, freed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(freed)
		_ = j.Update(ctx, func(*journal.Tx) error { close(locked); <-release; return nil })
	}()
	<-locked
	go func() { // the clock goes on while the kill waits for what may still leave
		for {
			select {
			case <-freed:
				return
			case <-time.After(time.Millisecond):
				o.clock.pass(time.Millisecond)
			}
		}
	}()
	rep := must(o.Kill(ctx, stop("locked")))(t)
	if rep.Recorded || rep.StopFile == "" {
		t.Fatalf("%+v", rep)
	}
	close(release)
	<-freed
	wantStopFile(t, o.Gate, o.cfg.Home, "locked")
}

// deaf follows nothing.
type deaf struct{}

func (deaf) Restore(journal.Seq, []byte) error { return nil }
func (deaf) Follow(journal.Record) error       { return nil }
func (deaf) Snapshot(int, int) []byte          { return nil }

// TestJournalThatFailsEngages: the journal goes away, is cut or is overwritten under a gate that runs. Nothing passes, the
// stop file is written, and a kill stands.
//
//attack:gate-trip
//fault:f124
func TestJournalThatFailsEngages(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, path string){
		"missing": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"replaced": func(t *testing.T, path string) {
			if err := os.Rename(path, path+".old"); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("no journal"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"cut": func(t *testing.T, path string) {
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := &venue{}
			home := filepath.Join(t.TempDir(), "home")
			cfg := config(home, v)
			cfg.SendWithin = 300 * time.Millisecond
			g := must(gate.Open(ctx, cfg))(t)
			defer g.Close() // its error is that of the harm
			wantDecision(t, g.Execute(ctx, buy(t, "1")), policy.Allow, ledger.Succeeded, "")
			harm(t, filepath.Join(home, gate.JournalName))
			if d := g.Execute(ctx, buy(t, "2")); d.Verdict != policy.Deny || d.Error != "killswitch_active" || codes(d) != "JOURNAL_UNAVAILABLE KILL_SWITCH_ACTIVE " || d.RetryAfter != 0 {
				t.Fatalf("%s", d.AppendJSON(nil))
			}
			if _, err := os.Stat(filepath.Join(home, gate.StopName)); err != nil {
				t.Fatal("no stop file was written")
			}
			if stops, _ := g.Stops(ctx); len(stops) == 0 {
				t.Fatal("no stop is shown")
			}
			rep, err := g.Kill(ctx, stop("by a person"))
			if err != nil || rep.Recorded || rep.StopFile == "" {
				t.Fatalf("%v, %+v", err, rep)
			}
			if d := g.Execute(ctx, buy(t, "3")); d.Verdict != policy.Deny || v.submits() != 1 {
				t.Fatalf("%d submits: %s", v.submits(), d.AppendJSON(nil))
			}
		})
	}
}

// TestJournalThatIsDamagedInPlaceIsNoticed: the running connection may not see it; the next comparison with the broker does.
//
//attack:gate-witness
//fault:f11
func TestJournalThatIsDamagedInPlaceIsNoticed(t *testing.T) {
	v := &venue{}
	home := filepath.Join(t.TempDir(), "home")
	g := must(gate.Open(ctx, config(home, v)))(t)
	defer g.Close() // its error is that of the harm
	if _, err := g.Reconcile(ctx); err != nil {
		t.Fatal(err)
	}
	f := must(os.OpenFile(filepath.Join(home, gate.JournalName), os.O_WRONLY, 0))(t)
	must(f.WriteAt([]byte(strings.Repeat("damage", 4096)), 0))(t)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Reconcile(ctx); err == nil {
		t.Fatal("nobody noticed")
	}
	if _, err := os.Stat(filepath.Join(home, gate.StopName)); err != nil {
		t.Fatal("no stop file was written")
	}
	if d := g.Execute(ctx, buy(t, "1")); d.Error != "killswitch_active" || v.submits() != 0 {
		t.Fatalf("%d submits: %s", v.submits(), d.AppendJSON(nil))
	}
}

// cramped is a process that can write no byte into any file, as on a disk without a block.
func cramped(home string) int {
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{}); err != nil {
		return 3
	}
	if _, err := gate.WriteStopFile(home, ledger.Stop{By: "x", Reason: "y"}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 4
	}
	return 0
}

// TestWiderStopOnAFullDisk: there is a stop file of one symbol, and no room for the words of one of everything.
func TestWiderStopOnAFullDisk(t *testing.T) {
	home := t.TempDir()
	must(gate.WriteStopFile(home, ledger.Stop{Scope: scopeOf(t, "symbol:AAPL"), By: "x", Reason: "y"}))(t)
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childHome+"="+home, childCramped+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if s, there := gate.StopFile(home); !there || s.Scope != (ledger.Scope{}) {
		t.Fatalf("the file stops %s", s.Scope)
	}
}

// full is a process whose files may not grow any more, as on a full disk.
func full(home string) int {
	v := &venue{}
	cfg := config(home, v)
	cfg.SendWithin = 300 * time.Millisecond
	g, err := gate.Open(ctx, cfg)
	if err != nil {
		return 2
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 2048, Max: 2048}); err != nil {
		return 3
	}
	for n := 0; n < 50; n++ {
		c := theOrder()
		c.Tags.ClientOrderID = trade.ClientOrderID(fmt.Sprintf("o-%d", n))
		d := g.Execute(ctx, c)
		if strings.HasPrefix(codes(d), "JOURNAL_UNAVAILABLE") {
			if rep, err := g.Kill(ctx, stop("the disk is full")); err != nil || rep.Recorded {
				fmt.Fprintf(os.Stderr, "%v, %+v\n", err, rep)
				return 4
			}
			if v.submits() > n {
				return 5
			}
			return 0
		}
	}
	return 6
}

//fault:f124
func TestFullDiskEngages(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	if err := must(gate.Open(ctx, config(home, nil)))(t).Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childHome+"="+home, childFull+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	g := reopen(t, config(home, &venue{})) // there is room again, and it stays stopped
	wantStopFile(t, g, home, "")
}
