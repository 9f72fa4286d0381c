package market

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// write replaces the file and sets its time of change back, so that it counts as settled.
func write(t *testing.T, path, text string, changed time.Time) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, changed, changed); err != nil {
		t.Fatal(err)
	}
}

func bid(t *testing.T, f *File) string {
	t.Helper()
	q, ok, err := f.Quote(symbol(t, "AAPL"))
	if err != nil || !ok {
		t.Fatalf("Quote = %v, %t, %v", q, ok, err)
	}
	return q.Bid.Money()
}

func TestFileIsReadAgainWhenItChanged(t *testing.T) {
	f := &File{Path: filepath.Join(t.TempDir(), "quotes.jsonl")}
	old := time.Now().Add(-time.Hour)
	write(t, f.Path, good+"\n", old)
	if got := bid(t, f); got != "149.90" {
		t.Fatalf("bid = %s", got)
	}
	write(t, f.Path, strings.Replace(good, "149.90", "149.10", 1)+"\n", old.Add(time.Second))
	if got := bid(t, f); got != "149.10" {
		t.Fatalf("after a change of the same size: bid = %s", got)
	}
	write(t, f.Path, strings.Replace(good, "149.90", "1.5", 1)+"\n", old.Add(time.Second))
	if got := bid(t, f); got != "1.50" {
		t.Fatalf("after a change of size at the same time: bid = %s", got)
	}
	other := f.Path + ".new"
	write(t, other, strings.Replace(good, "149.90", "1.6", 1)+"\n", old.Add(time.Second))
	if err := os.Rename(other, f.Path); err != nil {
		t.Fatal(err)
	}
	if got := bid(t, f); got != "1.60" {
		t.Fatalf("after another file of the same size and time took its place: bid = %s", got)
	}
}

func TestFileIsNotReadAgainWhileItIsTheSame(t *testing.T) {
	f := &File{Path: filepath.Join(t.TempDir(), "quotes.jsonl")}
	write(t, f.Path, good+"\n", time.Now().Add(-time.Hour))
	first, err := f.Book()
	if err != nil {
		t.Fatal(err)
	}
	if second, err := f.Book(); err != nil || second != first {
		t.Fatalf("the second look made another book, %v", err)
	}
	if n := testing.AllocsPerRun(20, func() { _, _ = f.Book() }); n > 8 {
		t.Errorf("a look at an unchanged file allocates %v times", n)
	}
}

func TestFileThatHasJustChangedIsReadAgain(t *testing.T) {
	f := &File{Path: filepath.Join(t.TempDir(), "quotes.jsonl")}
	changed := time.Now().Add(time.Hour) // from a clock that runs ahead: never settled
	write(t, f.Path, good+"\n", changed)
	bid(t, f)
	write(t, f.Path, strings.Replace(good, "149.90", "149.10", 1)+"\n", changed)
	if got := bid(t, f); got != "149.10" {
		t.Fatalf("a change within the grain of the clock went unseen: bid = %s", got)
	}
}

func TestFileThatBecameBadHasNoQuotes(t *testing.T) {
	f := &File{Path: filepath.Join(t.TempDir(), "quotes.jsonl")}
	old := time.Now().Add(-time.Hour)
	write(t, f.Path, good+"\n", old)
	bid(t, f)
	write(t, f.Path, good+"\nrubbish\n", old)
	for range 2 { // read, and kept
		q, ok, err := f.Quote(symbol(t, "AAPL"))
		var e *Error
		if ok || !errors.As(err, &e) || e.Line != 2 || e.Path != f.Path {
			t.Fatalf("Quote = %v, %t, %v; want an error of line 2", q, ok, err)
		}
	}
	if err := os.Remove(f.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Book(); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("without a file: %v", err)
	}
	write(t, f.Path, good+"\n", old)
	if got := bid(t, f); got != "149.90" {
		t.Fatalf("once repaired: bid = %s", got)
	}
}

func TestFileGrowsLineByLine(t *testing.T) {
	f := &File{Path: filepath.Join(t.TempDir(), "quotes.jsonl")}
	text := good + "\n" + strings.Replace(strings.Replace(good, "149.90", "149.91", 1), "30:00Z", "30:01Z", 1)
	write(t, f.Path, "", time.Now())
	for n := len(good); n <= len(text); n++ {
		if err := os.WriteFile(f.Path, []byte(text[:n]), 0o600); err != nil {
			t.Fatal(err)
		}
		want := "149.90"
		if n == len(text) {
			want = "149.91"
		}
		if got := bid(t, f); got != want {
			t.Fatalf("after %d of %d bytes: bid = %s, want %s", n, len(text), got, want)
		}
	}
}

//attack:market-file
func TestFileOverTheLimitIsNotRead(t *testing.T) {
	f := &File{Path: filepath.Join(t.TempDir(), "quotes.jsonl")}
	write(t, f.Path, good+"\n", time.Now())
	if err := os.Truncate(f.Path, MaxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Book(); err == nil || !strings.Contains(err.Error(), "over 67108864 bytes") {
		t.Fatalf("Book: %v", err)
	}
}

func TestFileRefusesWhatIsNoRegularFile(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, pipe, filepath.Join(dir, "absent"), "", "\x00"} {
		b, err := (&File{Path: path}).Book()
		var e *Error
		if b != nil || !errors.As(err, &e) || e.Code != QuotesUnreadable {
			t.Errorf("%q: %v, %v", path, b, err)
		}
	}
}

func TestFileIsSafeForConcurrentUse(t *testing.T) {
	f := &File{Path: filepath.Join(t.TempDir(), "quotes.jsonl")}
	write(t, f.Path, good+"\n", time.Now())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if q, ok, err := f.Quote(symbol(t, "AAPL")); err != nil || !ok || q.Ask.Money() != "149.95" {
					t.Errorf("Quote = %v, %t, %v", q, ok, err)
					return
				}
			}
		})
	}
	for range 20 { // in place of the old file, as a writer should
		next := f.Path + ".new"
		write(t, next, good+"\n", time.Now())
		if err := os.Rename(next, f.Path); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}
