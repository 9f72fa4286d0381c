package journal

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// task says what a child process is to do.
type task struct {
	Path    string
	Name    string // of the child; begins its bodies
	Callers int
	Count   int           // updates of each caller; 0 means for ever
	For     time.Duration // how long; 0 means for ever
	Wait    time.Duration
	Room    uint64 // the largest file that it may write
}

// child is this test binary, started again to be another process.
func child(mode string) int {
	var t task
	if err := json.Unmarshal([]byte(os.Getenv("JOURNAL_TEST_TASK")), &t); err != nil {
		return complain(err)
	}
	switch mode {
	case "append":
		return complain(t.append())
	case "create":
		return complain(t.create())
	case "hold":
		return complain(t.hold())
	}
	return complain(errors.New("unknown mode"))
}

func complain(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// append makes many updates and says of each that it is durable, in one write.
func (t task) append() error {
	if t.Room > 0 {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: t.Room, Max: t.Room}); err != nil {
			return err
		}
	}
	f := &sums{every: 5000}
	j, err := Open(context.Background(), Config{Path: t.Path, LockWait: t.Wait, Follower: f})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, t.Callers)
	started := time.Now()
	for c := range t.Callers {
		wg.Go(func() {
			for i := 0; (t.Count == 0 || i < t.Count) && (t.For == 0 || time.Since(started) < t.For); i++ {
				id := fmt.Sprintf("%s-%d-%d", t.Name, c, i)
				begin := time.Now()
				errs[c] = j.Update(context.Background(), f.once(id))
				if errs[c] != nil {
					return
				}
				fmt.Fprintf(os.Stdout, "%s %d\n", id, time.Since(begin).Microseconds())
			}
		})
	}
	wg.Wait()
	return errors.Join(append(errs, j.Close())...)
}

// once appends a record that must not be there yet.
func (s *sums) once(id string) func(*Tx) error {
	k := Key{"id", id}
	return func(tx *Tx) error {
		if found, err := tx.Find(k); err != nil || len(found) > 0 {
			return errors.Join(err, fmt.Errorf("%s is there already", id))
		}
		if int(tx.Head().Seq) != s.Count {
			return fmt.Errorf("state has %d records, the journal %d", s.Count, tx.Head().Seq)
		}
		return s.put("a", id+strings.Repeat(".", 900), k)(tx)
	}
}

// create makes the journal, unless another one did.
func (t task) create() error {
	j, err := Create(context.Background(), Config{Path: t.Path, LockWait: t.Wait, Follower: &sums{}}, func(tx *Tx) error {
		for i := range 20 {
			tx.Append("first", noon, fmt.Appendf(nil, "%s-%d", t.Name, i))
		}
		return nil
	})
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Println("made")
	return j.Close()
}

// hold takes SQLite's write lock, past the turnstile, as another program would, until its input ends.
func (t task) hold() error {
	db, err := sql.Open("sqlite", "file:"+t.Path)
	if err != nil {
		return err
	}
	conn, err := db.Conn(context.Background())
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(context.Background(), "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// start runs a child. What it writes is read from out.
func start(t testing.TB, mode string, job task) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Reader) {
	t.Helper()
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(exe)
	cmd.Env = append(os.Environ(), "JOURNAL_TEST_CHILD="+mode, "JOURNAL_TEST_TASK="+string(text))
	if job.Room == 0 { // with it the child fails, as it should
		cmd.Stderr = os.Stderr
	}
	if in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _, _ = io.Copy(io.Discard, pipe); _ = cmd.Wait() })
	return cmd, in, bufio.NewReader(pipe)
}

// acknowledged parses a child's line.
func acknowledged(t testing.TB, line string) (id string, took time.Duration) {
	t.Helper()
	var us int64
	if _, err := fmt.Sscanf(line, "%s %d", &id, &us); err != nil {
		t.Fatalf("line %q: %v", line, err)
	}
	return id, time.Duration(us) * time.Microsecond
}

// present checks that every acknowledged id is in the journal once, and all that the journal promises.
func present(t *testing.T, cfg Config, ids []string) {
	t.Helper()
	f := &sums{}
	cfg.Follower = f
	j := reopen(t, cfg)
	have := map[string]int{}
	for _, b := range bodies(t, j) {
		have[strings.TrimRight(b, ".")]++
	}
	for id, n := range have {
		if n != 1 {
			t.Errorf("%s is there %d times", id, n)
		}
	}
	for _, id := range ids {
		if have[id] != 1 {
			t.Errorf("%s was acknowledged and is there %d times", id, have[id])
		}
	}
	verified(t, j, Verification{Follower: &sums{}, Keys: idOf})
	folded(t, j, f)
	closed(t, j)
}

func idOf(r Record) ([]Key, error) {
	return []Key{{"id", strings.TrimRight(string(r.Body), ".")}}, nil
}

func TestWhatWasAcknowledgedSurvivesSIGKILL(t *testing.T) {
	cfg := newConfig(t, &sums{})
	closed(t, create(t, cfg))
	var ids []string
	for round := range 8 {
		cmd, _, out := start(t, "append", task{
			Path: cfg.Path, Name: fmt.Sprint("round", round), Callers: 1 + rand.IntN(12), Wait: 10 * time.Second,
		})
		for range rand.IntN(300) {
			line, err := out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			id, _ := acknowledged(t, line)
			ids = append(ids, id)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for { // what it had said before it died
			line, err := out.ReadString('\n')
			if err != nil {
				break
			}
			id, _ := acknowledged(t, line)
			ids = append(ids, id)
		}
		present(t, cfg, ids)
	}
}

func TestCreateKilledAtAnyMomentLeavesAllOrNothing(t *testing.T) {
	for range 12 {
		cfg := newConfig(t, &sums{})
		var kids []*exec.Cmd
		for i := range 2 {
			cmd, _, _ := start(t, "create", task{Path: cfg.Path, Name: fmt.Sprint(i), Wait: 10 * time.Second})
			kids = append(kids, cmd)
		}
		time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
		for _, k := range kids {
			if err := k.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			_ = k.Wait()
		}
		j, err := Open(t.Context(), cfg)
		if errors.Is(err, fs.ErrNotExist) {
			j, err = Create(t.Context(), cfg, func(tx *Tx) error {
				for i := range 20 {
					tx.Append("first", noon, fmt.Appendf(nil, "me-%d", i))
				}
				return nil
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		got := bodies(t, j)
		if len(got) != 20 {
			t.Fatalf("%d first records", len(got))
		}
		who, _, _ := strings.Cut(got[0], "-")
		for i, b := range got {
			if b != fmt.Sprintf("%s-%d", who, i) {
				t.Fatalf("first records %q", got)
			}
		}
		verified(t, j, Verification{})
		closed(t, j)
	}
}

func TestProcessesThatCreateAtOnceMakeOneJournal(t *testing.T) {
	cfg := newConfig(t, &sums{})
	made := 0
	var outs []*bufio.Reader
	for i := range 4 {
		_, _, out := start(t, "create", task{Path: cfg.Path, Name: fmt.Sprint(i), Wait: 10 * time.Second})
		outs = append(outs, out)
	}
	for _, out := range outs {
		text, err := io.ReadAll(out)
		if err != nil {
			t.Fatal(err)
		}
		made += strings.Count(string(text), "made")
	}
	if made != 1 {
		t.Fatalf("%d made it", made)
	}
	if got := bodies(t, reopen(t, cfg)); len(got) != 20 {
		t.Fatalf("%q", got)
	}
}

func TestFourProcessesAppendEverythingOnce(t *testing.T) {
	cfg := newConfig(t, &sums{})
	closed(t, create(t, cfg))
	const processes, callers, count = 4, 16, 12
	var outs []*bufio.Reader
	for p := range processes {
		_, _, out := start(t, "append", task{
			Path: cfg.Path, Name: fmt.Sprint("p", p), Callers: callers, Count: count, Wait: 30 * time.Second,
		})
		outs = append(outs, out)
	}
	var ids []string
	var took []time.Duration
	for _, out := range outs {
		for {
			line, err := out.ReadString('\n')
			if err != nil {
				break
			}
			id, d := acknowledged(t, line)
			ids, took = append(ids, id), append(took, d)
		}
	}
	if len(ids) != processes*callers*count {
		t.Errorf("%d updates were acknowledged", len(ids))
	}
	present(t, cfg, ids)
	t.Logf("longest wait %v", slices.Max(took))
}

//attack:journal-lock-wait
func TestUpdateIsRefusedInTimeWhenAnotherHoldsTheLock(t *testing.T) {
	f := &sums{}
	cfg := newConfig(t, f)
	cfg.LockWait = 100 * time.Millisecond
	j := create(t, cfg)
	update(t, j, f.put("a", "one"))
	_, in, out := start(t, "hold", task{Path: cfg.Path})
	if line, err := out.ReadString('\n'); err != nil || line != "held\n" {
		t.Fatal(line, err)
	}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if err := j.Update(context.Background(), f.put("a", "never")); !errors.Is(err, ErrBusy) {
				t.Errorf("error %v, want ErrBusy", err)
			}
		})
	}
	wg.Wait()
	if err := j.Read(t.Context(), func() error { return nil }); err != nil {
		t.Errorf("reading needs no lock: %v", err)
	}
	if f.restores != 1 {
		t.Errorf("%d restores: a busy lock put the state in doubt", f.restores-1)
	}
	in.Close()
	for errors.Is(j.Update(t.Context(), nothing), ErrBusy) { // until the other one is gone
	}
	update(t, j, f.put("a", "two"))
	if got := bodies(t, j); !slices.Equal(got, []string{"one", "two"}) {
		t.Fatalf("%q", got)
	}
	folded(t, j, f)
}

//attack:journal-lock-wait
func TestUpdateIsRefusedInTimeWhenAnotherHoldsTheTurn(t *testing.T) {
	f, g := &sums{}, &sums{}
	cfg := newConfig(t, g)
	other := create(t, cfg)
	cfg.LockWait, cfg.Follower = 30*time.Millisecond, f
	j := reopen(t, cfg)
	inside, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- other.Update(context.Background(), func(tx *Tx) error { close(inside); <-goOn; return g.put("a", "slow")(tx) })
	}()
	<-inside
	for range 3 {
		if err := j.Update(t.Context(), f.put("a", "never")); !errors.Is(err, ErrBusy) {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan error, 1)
	cfg.LockWait, cfg.Follower = time.Hour, &sums{}
	patient := reopen(t, cfg)
	go func() { results <- patient.Update(ctx, f.put("a", "never")) }()
	waiting(t, patient, 1)
	cancel()
	if err := <-results; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	go func() { results <- patient.Update(t.Context(), f.put("a", "never")) }()
	waiting(t, patient, 1)
	closed(t, patient) // ends who waits for the turn
	if err := <-results; !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for {
		err := j.Update(t.Context(), f.put("a", "after"))
		if err == nil {
			break
		}
		if !errors.Is(err, ErrBusy) {
			t.Fatal(err)
		}
	}
	if got := bodies(t, j); !slices.Equal(got, []string{"slow", "after"}) {
		t.Fatalf("%q", got)
	}
	folded(t, j, f)
}

func TestAFullDiskIsNeverAFalseSuccess(t *testing.T) {
	cfg := newConfig(t, &sums{})
	j := create(t, cfg)
	f := j.fold.follower.(*sums)
	update(t, j, f.put("a", "before", Key{"id", "before"}))
	_, _, out := start(t, "append", task{
		Path: cfg.Path, Name: "full", Callers: 8, Wait: 10 * time.Second, Room: 300 << 10, Count: 10_000,
	})
	ids := []string{"before"}
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			break
		}
		id, _ := acknowledged(t, line)
		ids = append(ids, id)
	}
	if len(ids) == 1 || len(ids) > 1000 {
		t.Errorf("%d updates fitted", len(ids)-1)
	}
	present(t, cfg, ids)
	update(t, j, f.put("a", "after", Key{"id", "after"}))
	closed(t, j)
	present(t, cfg, append(ids, "after"))
}
