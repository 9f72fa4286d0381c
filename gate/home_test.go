package gate_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/journal"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

func writePolicy(t testing.TB, home, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(home, gate.PolicyName), []byte(text), gate.FileMode); err != nil {
		t.Fatal(err)
	}
}

type noFollower struct{}

func (noFollower) Restore(journal.Seq, []byte) error { return nil }
func (noFollower) Follow(journal.Record) error       { return nil }
func (noFollower) Snapshot(int, int) []byte          { return nil }

// emptyJournal makes a home with a policy and a journal that says nothing of the kill switch.
func emptyJournal(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	writePolicy(t, home, openPolicy)
	j, err := journal.Create(ctx, journal.Config{
		Path: filepath.Join(home, gate.JournalName), LockWait: time.Second, Follower: noFollower{},
	}, func(tx *journal.Tx) error {
		tx.Append("kill", time.Now(), ledger.Encode(ledger.Asked{Intent: "01ARZ3NDEKTSV4RRFFQ69G5FAV"}))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return home
}

//attack:gate-home-mode
//attack:gate-home-new
//attack:gate-file-mode
//attack:gate-create-lock
//attack:gate-lease-dir
//attack:gate-lease-file
func TestHomeIsPrivate(t *testing.T) {
	parent := t.TempDir()
	home := filepath.Join(parent, "a", "home")
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	g, err := gate.Open(ctx, config(home, &venue{}))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	g.Execute(ctx, call(t, "buy", "AAPL", "1", "1.00")) // takes a lease
	if leases, err := os.ReadDir(filepath.Join(home, "run")); err != nil || len(leases) != 1 {
		t.Fatalf("%d leases, %v", len(leases), err)
	}
	err = filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %04o", path, info.Mode().Perm())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o720, 0o702, 0o777} {
		if err := os.Chmod(home, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := gate.Open(ctx, config(home, nil)); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
			t.Errorf("mode %04o: %v, want a refusal that says how to repair it", mode, err)
		}
	}
}

//attack:gate-deadline
func TestDefaultDurations(t *testing.T) {
	now := time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	g := open(t, nil, func(c *gate.Config) { c.Now = func() time.Time { return now } })
	g.Authorize(ctx, call(t, "buy", "AAPL", "1", "1.00"))
	now = now.Add(time.Minute - time.Microsecond)
	wantRows(t, g, ledger.Allowed)
	now = now.Add(time.Microsecond)
	wantRows(t, g, ledger.OutcomeUnknown)
}

func TestOpenMakesNothingUnlessAsked(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	cfg := config(home, nil)
	cfg.Create = false
	if _, err := gate.Open(ctx, cfg); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "sallyport init") {
		t.Fatalf("%v, want fs.ErrNotExist with a repair", err)
	}
	if _, err := os.Stat(home); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("the directory was made")
	}
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := gate.Open(ctx, cfg); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%v, want fs.ErrNotExist", err)
	}
	if files, _ := os.ReadDir(home); len(files) != 0 {
		t.Fatalf("%d files were made", len(files))
	}
}

func TestDefaultPolicyIsWrittenOnlyWithANewJournal(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	path := filepath.Join(home, gate.PolicyName)
	reopen(t, config(home, nil))
	if raw, err := os.ReadFile(path); err != nil || string(raw) != string(policy.Default()) {
		t.Fatalf("%v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	g := reopen(t, config(home, nil))
	wantDecision(t, g.Authorize(ctx, call(t, "buy", "AAPL", "1", "1.00")), policy.Deny, ledger.Blocked, "POLICY_UNREADABLE ")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("the default policy was written beside an old journal")
	}
	own := filepath.Join(t.TempDir(), "own")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	writePolicy(t, own, openPolicy)
	reopen(t, config(own, nil))
	if raw, _ := os.ReadFile(filepath.Join(own, gate.PolicyName)); string(raw) != openPolicy {
		t.Fatal("the operator's policy was replaced by the default one")
	}
}

//attack:gate-journal-lost
//fault:f11
func TestLostJournalIsNotANewBeginning(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	g, err := gate.Open(ctx, config(home, nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	journals, err := filepath.Glob(filepath.Join(home, gate.JournalName+"*"))
	if err != nil || len(journals) == 0 {
		t.Fatalf("%v, %v", journals, err)
	}
	for _, f := range journals {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := gate.Open(ctx, config(home, nil)); !errors.Is(err, gate.ErrJournalLost) {
		t.Fatalf("%v, want ErrJournalLost", err)
	}
	if _, err := os.Stat(filepath.Join(home, gate.JournalName)); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("a new journal was made")
	}
}

// TestEachLinkOfAPathIsLookedAt: a chain of links leads through a directory that others can write, to a file and from a
// directory that nobody else can.
//
//attack:gate-parent-dirs
//attack:gate-links
func TestEachLinkOfAPathIsLookedAt(t *testing.T) {
	root := t.TempDir()
	open, private := filepath.Join(root, "open"), filepath.Join(root, "private")
	for _, dir := range []string{open, private} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	writePolicy(t, private, openPolicy)
	link := func(target, path string) string {
		t.Helper()
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link("../private/"+gate.PolicyName, filepath.Join(open, "l"))
	link("../private", filepath.Join(open, "d"))
	long := filepath.Join(private, gate.PolicyName)
	for i := range 41 {
		long = link(long, filepath.Join(private, fmt.Sprint("chain", i)))
	}
	try := func(path string, good bool) {
		t.Helper()
		cfg := config(filepath.Join(t.TempDir(), "home"), nil)
		cfg.PolicyFile = path
		if v := reopen(t, cfg).Policy(); (v.Reason == nil) != good {
			t.Errorf("%s: %+v", path, v.Reason)
		}
	}
	for _, good := range []bool{true, false} {
		mode := os.FileMode(0o755)
		if !good {
			mode = 0o777
		}
		if err := os.Chmod(open, mode); err != nil {
			t.Fatal(err)
		}
		try(link(filepath.Join(open, "l"), filepath.Join(private, fmt.Sprint("file", good))), good)
		try(filepath.Join(open, "d", gate.PolicyName), good)
	}
	try(filepath.Join(private, "chain39"), true)
	try(long, false)
}

//attack:gate-parent-dirs
func TestDirectoriesAboveMustBePrivateToo(t *testing.T) {
	above := filepath.Join(t.TempDir(), "above")
	home := filepath.Join(above, "home")
	elsewhere := filepath.Join(above, "policies")
	if err := os.MkdirAll(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	writePolicy(t, elsewhere, openPolicy)
	cfg := config(home, nil)
	reopen(t, cfg)
	for mode, ok := range map[os.FileMode]bool{0o755: true, 0o777: false, 0o775: false, 0o777 | os.ModeSticky: true} {
		if err := os.Chmod(above, mode); err != nil {
			t.Fatal(err)
		}
		g, err := gate.Open(ctx, cfg)
		if (err == nil) != ok {
			t.Errorf("home below a directory of mode %v: %v", mode, err)
		}
		if g != nil {
			g.Close()
		}
	}
	outside := cfg
	outside.Home = filepath.Join(t.TempDir(), "home")
	outside.PolicyFile = filepath.Join(elsewhere, gate.PolicyName)
	linked := outside
	linked.Home, linked.PolicyFile = filepath.Join(t.TempDir(), "home"), filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink(outside.PolicyFile, linked.PolicyFile); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]gate.Config{"named": outside, "linked": linked} {
		if err := os.Chmod(above, 0o777); err != nil {
			t.Fatal(err)
		}
		g := reopen(t, c)
		wantDecision(t, g.Authorize(ctx, call(t, "buy", "AAPL", "1", "1.00")), policy.Deny, ledger.Blocked, "POLICY_UNREADABLE ")
		if err := os.Chmod(above, 0o755); err != nil {
			t.Fatal(err)
		}
		if d := g.Authorize(ctx, call(t, "buy", "AAPL", "1", "1.00")); d.Verdict != policy.Allow {
			t.Errorf("%s: %s", name, d.AppendJSON(nil))
		}
	}
}

func TestManyMayMakeOneHome(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			g, err := gate.Open(ctx, config(home, nil))
			if err != nil {
				t.Error(err)
				return
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	n := 0
	g := reopen(t, config(home, nil))
	if err := g.Export(ctx, func(journal.Record) error { n++; return nil }); err != nil || n != 2 { // the switch is off, and the state remembers
		t.Fatalf("%d first records, %v", n, err)
	}
}

//attack:gate-lock-wait
//fault:f125
func TestLockedJournalAnswersUnavailableInTime(t *testing.T) {
	v := &venue{}
	var cfg gate.Config
	g := open(t, v, func(c *gate.Config) { c.LockWait = 50 * time.Millisecond; cfg = *c })
	c := call(t, "buy", "AAPL", "1", "1.00")
	j, err := journal.Open(ctx, journal.Config{Path: filepath.Join(cfg.Home, gate.JournalName), LockWait: time.Second, Follower: noFollower{}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	held, release := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		done <- j.Update(ctx, func(*journal.Tx) error {
			close(held)
			<-release
			return nil
		})
	}()
	<-held
	d := g.Execute(ctx, c)
	wantDecision(t, d, policy.Deny, ledger.Blocked, "JOURNAL_UNAVAILABLE ")
	if d.Error != "journal_unavailable" || d.RetryAfter <= 0 || d.Intent != "" || v.submits() != 0 {
		t.Fatalf("%s, %d submits", d.AppendJSON(nil), v.submits())
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	wantDecision(t, g.Execute(ctx, c), policy.Allow, ledger.Succeeded, "")
}

//attack:gate-send-within
func TestPermitExpiresBeforeALateSend(t *testing.T) {
	v := &venue{}
	g := open(t, v, func(c *gate.Config) {
		c.SendWithin = time.Nanosecond
		*c = gate.WithStep(*c, func(step string) {
			if step == "before send" {
				time.Sleep(time.Millisecond)
			}
		})
	})
	d := g.Execute(ctx, call(t, "buy", "AAPL", "1", "1.00"))
	wantDecision(t, d, policy.Allow, ledger.Failed, "")
	if v.submits() != 0 || !strings.Contains(d.Message, "nothing was sent") {
		t.Fatalf("%d submits, %s", v.submits(), d.Message)
	}
}

// endlessVenue has always one more event.
type endlessVenue struct {
	venue
	asked uint64
	stuck bool // it repeats its first event for ever
}

func (v *endlessVenue) Events(_ context.Context, after uint64) ([]gate.VenueEvent, error) {
	v.asked++
	sym := gatetest.Symbol("AAPL")
	e := gate.VenueEvent{Number: after + 1, Kind: gate.VenueFill, Symbol: sym, Side: trade.Buy, Quantity: trade.Whole(1), Price: trade.Whole(1)}
	if v.stuck {
		e.Number = 1
	}
	return []gate.VenueEvent{e}, nil
}

//attack:gate-venue-pages
func TestVenueWithoutAnEndIsReadInParts(t *testing.T) {
	v := &endlessVenue{}
	g := open(t, v) // takes in the first part
	if v.asked != gate.MaxPages {
		t.Fatalf("%d pages were read, want %d", v.asked, gate.MaxPages)
	}
	if ps, err := g.Positions(ctx); err != nil || ps[0].Quantity.Cmp(trade.Whole(2*gate.MaxPages-1)) != 0 {
		t.Fatalf("%+v, %v", ps, err)
	}
}

func TestVenueThatNumbersItsEventsOutOfOrderIsRefused(t *testing.T) {
	v := &endlessVenue{stuck: true}
	if _, err := gate.Open(ctx, config(filepath.Join(t.TempDir(), "home"), v)); err == nil {
		t.Fatal("a venue that repeats its events for ever was believed")
	}
	if v.asked > 2 {
		t.Fatalf("it was asked %d times", v.asked)
	}
}

// TestAnotherVenueIsRefused: a venue that was made anew, or is another one, beside a journal that knows an older one.
//
//attack:gate-same-venue
func TestAnotherVenueIsRefused(t *testing.T) {
	v := &venue{}
	var cfg gate.Config
	g := open(t, v, func(c *gate.Config) { cfg = *c })
	g.Execute(ctx, call(t, "buy", "AAPL", "10", "1.00"))
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	other := &venue{}
	elsewhere := open(t, other)
	elsewhere.Execute(ctx, call(t, "buy", "AAPL", "10", "1.00"))
	for name, b := range map[string]*venue{"made anew": {}, "another one": other} {
		cfg.Broker = b
		if _, err := gate.Open(ctx, cfg); !errors.Is(err, gate.ErrOtherVenue) {
			t.Errorf("%s: %v, want ErrOtherVenue", name, err)
		}
	}
	cfg.Broker = v
	reopen(t, cfg)
}

//attack:gate-same-venue
func TestVenueWithoutAWorkingOrderIsRefusedBeforeItsFirstEvent(t *testing.T) {
	v := &venue{rests: true}
	var cfg gate.Config
	g := open(t, v, func(c *gate.Config) { cfg = *c })
	g.Execute(ctx, call(t, "buy", "AAPL", "10", "1.00"))
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	v.lookup = func(trade.BrokerOrderID) (gate.Receipt, error) { return gate.Receipt{Outcome: trade.Accepted}, nil }
	reopen(t, cfg)
	cfg.Broker = &venue{lookup: func(trade.BrokerOrderID) (gate.Receipt, error) { return gate.Receipt{Outcome: trade.Rejected}, nil }}
	if _, err := gate.Open(ctx, cfg); !errors.Is(err, gate.ErrOtherVenue) {
		t.Fatalf("%v, want ErrOtherVenue", err)
	}
}

// TestRecoveryAsksTheBrokerForLostOutcomes: each answer of the broker, after the sender has gone.
//
//fault:f36
//fault:f40
func TestRecoveryAsksTheBrokerForLostOutcomes(t *testing.T) {
	for name, tt := range map[string]struct {
		lookup func(trade.BrokerOrderID) (gate.Receipt, error)
		want   ledger.AuditState
	}{
		"has it":      {func(trade.BrokerOrderID) (gate.Receipt, error) { return gate.Receipt{Outcome: trade.Accepted}, nil }, ledger.Succeeded},
		"never had":   {func(trade.BrokerOrderID) (gate.Receipt, error) { return gate.Receipt{Outcome: trade.Rejected}, nil }, ledger.Failed},
		"cannot tell": {func(trade.BrokerOrderID) (gate.Receipt, error) { return gate.Receipt{}, nil }, ledger.OutcomeUnknown},
		"is down":     {func(trade.BrokerOrderID) (gate.Receipt, error) { return gate.Receipt{}, gate.ErrNotSent }, ledger.OutcomeUnknown},
	} {
		v := &venue{answer: func(context.Context, gate.Cleared) (gate.Receipt, error) {
			return gate.Receipt{}, errors.New("cut off")
		}}
		now := time.Now()
		var cfg gate.Config
		g := open(t, v, func(c *gate.Config) { c.Now = func() time.Time { return now }; cfg = *c })
		d := g.Execute(ctx, call(t, "buy", "AAPL", "10", "150.00"))
		wantDecision(t, d, policy.Allow, ledger.OutcomeUnknown, "")
		now = now.Add(time.Hour)
		v.lookup = tt.lookup
		for range 3 {
			if err := g.Recover(ctx); err != nil {
				t.Fatal(err)
			}
		}
		rows := wantRows(t, g, tt.want)
		_, events, err := g.History(ctx, rows[0].Intent)
		if err != nil || len(events) > 3 {
			t.Errorf("%s: %d events, %v", name, len(events), err)
		}
		checkReplay(t, reopen(t, cfg))
	}
}

func TestSenderThatLivesIsNotTakenForDead(t *testing.T) {
	sent, answerIt := make(chan struct{}), make(chan struct{})
	v := &venue{answer: func(context.Context, gate.Cleared) (gate.Receipt, error) {
		close(sent)
		<-answerIt
		return gate.Receipt{Outcome: trade.Accepted}, nil
	}}
	var cfg gate.Config
	g := open(t, v, func(c *gate.Config) { cfg = *c })
	done := make(chan ledger.Decision)
	go func() { done <- g.Execute(ctx, call(t, "buy", "AAPL", "10", "150.00", withOrder("o1"))) }()
	<-sent
	second := reopen(t, cfg) // another process, with a recovery of its own
	wantRows(t, second, ledger.Allowed)
	repeated := make(chan ledger.Decision)
	go func() { repeated <- second.Execute(ctx, call(t, "buy", "AAPL", "10", "150.00", withOrder("o1"))) }()
	close(answerIt)
	first, again := <-done, <-repeated
	wantDecision(t, first, policy.Allow, ledger.Succeeded, "")
	if again.State != ledger.Succeeded || !again.Repeated || again.Intent != first.Intent || v.submits() != 1 {
		t.Fatalf("the repeat waited for %s, %d submits", again.AppendJSON(nil), v.submits())
	}
}

func TestPolicyPipeDoesNotHang(t *testing.T) {
	var home string
	g := open(t, nil, func(c *gate.Config) { home = c.Home })
	path := filepath.Join(home, gate.PolicyName)
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	wantDecision(t, g.Authorize(ctx, call(t, "buy", "AAPL", "1", "1.00")), policy.Deny, ledger.Blocked, "POLICY_UNREADABLE ")
}

//attack:gate-audit-rows
func TestAuditIsNewestFirstAndBounded(t *testing.T) {
	g := open(t, nil)
	for range gate.MaxAudit + 3 {
		g.Authorize(ctx, call(t, "buy", "TSLA", "1", "1.00"))
	}
	last := g.Authorize(ctx, call(t, "buy", "AAPL", "1", "1.00"))
	for limit, want := range map[int]int{-1: 1, 0: 1, 1: 1, 7: 7, 1 << 30: gate.MaxAudit} {
		rows, err := g.Audit(ctx, limit)
		if err != nil || len(rows) != want || rows[0].Intent != last.Intent {
			t.Errorf("limit %d: %d rows, %v", limit, len(rows), err)
		}
	}
}

func TestReadySaysWhyNothingCanBeRecorded(t *testing.T) {
	for name, spoil := range map[string]func(home string) error{
		"lease": func(home string) error {
			return errors.Join(os.RemoveAll(filepath.Join(home, "run")), os.WriteFile(filepath.Join(home, "run"), nil, 0o600))
		},
		"turnstile": func(home string) error {
			next := filepath.Join(home, gate.JournalName+".next")
			return errors.Join(os.RemoveAll(next), os.Mkdir(next, 0o700))
		},
	} {
		var cfg gate.Config
		g := open(t, nil, func(c *gate.Config) { cfg = *c })
		if err := g.Ready(ctx); err != nil {
			t.Fatal(err)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		if err := spoil(cfg.Home); err != nil {
			t.Fatal(err)
		}
		if err := reopen(t, cfg).Ready(ctx); err == nil {
			t.Errorf("%s: ready", name)
		}
	}
}

func TestEmptyJournalIsNotWhatWasRecorded(t *testing.T) {
	home := t.TempDir()
	writePolicy(t, home, openPolicy)
	j, err := journal.Create(ctx, journal.Config{
		Path: filepath.Join(home, gate.JournalName), LockWait: time.Second, Follower: noFollower{},
	}, func(*journal.Tx) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	var broken *journal.Broken
	if _, err := reopen(t, config(home, nil)).Verify(ctx, nil, nil); !errors.As(err, &broken) {
		t.Fatalf("%v, want a broken journal", err)
	}
}
