package market_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sallyport/market"
)

const oneInstrument = `{"symbol":"AAPL","asset_class":"us_equity","currency":"USD","tick":"0.05","lot":"1","minimum":"1","multiplier":"1"}` + "\n"

func TestListingIsFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "instruments.jsonl")
	l := &market.Listing{Path: path, Optional: true}
	want := func(n int, code string) {
		t.Helper()
		got, err := l.Instruments()
		var e *market.Error
		switch {
		case code == "" && (err != nil || got.Len() != n):
			t.Fatalf("%d instruments, %v; want %d", got.Len(), err, n)
		case code != "" && (!errors.As(err, &e) || string(e.Code) != code || got != nil):
			t.Fatalf("%d instruments, %v", got.Len(), err)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	want(0, "")
	write(oneInstrument)
	want(1, "")
	want(1, "")
	write(oneInstrument + strings.ReplaceAll(oneInstrument, "AAPL", "MSFT"))
	want(2, "")
	write("nonsense")
	want(0, "INSTRUMENTS_INVALID")
	want(0, "INSTRUMENTS_INVALID")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	want(0, "")
	l.Optional = false
	want(0, "INSTRUMENTS_INVALID")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	want(0, "INSTRUMENTS_INVALID")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, market.MaxFile+1); err != nil {
		t.Fatal(err)
	}
	want(0, "INSTRUMENTS_INVALID")
}
