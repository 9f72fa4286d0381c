package main

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

//attack:cli-replay-depth
func TestReelShowsOnlyWhatAReplayPrints(t *testing.T) {
	var out bytes.Buffer
	r := &reel{out: bufio.NewWriter(&out)}
	deep := `{"intent":` + strings.Repeat("[", reelDepth) + strings.Repeat("]", reelDepth) + "}\n"
	for _, bad := range []string{deep, "{\n", "\x00\n", "\n"} {
		if _, err := (&reel{out: r.out}).Write([]byte(bad)); err == nil {
			t.Errorf("%q is shown", bad)
		}
	}
	line := `{"at":"2026-11-30T15:00:00.000000Z","intent":"a\u001b[31m` + strings.Repeat("x", 100) + `","from":"EXECUTION_ALLOWED","to":"EXECUTION_SUCCEEDED","reason":"it \u202e turns"}` + "\n"
	for i := range line { // it comes in parts
		if _, err := r.Write([]byte(line[i : i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.out.Flush(); err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(out.String()) {
		if len([]rune(l)) > width+1 || strings.ContainsAny(l, "\x1b\u202e") {
			t.Errorf("%q", l)
		}
	}
	if !strings.Contains(out.String(), "accepted: ") {
		t.Error(out.String())
	}
}
