package main

import (
	"strings"
	"testing"
)

// TestTheOwnerIsMadeWhereSomebodyReadsIt runs init without a terminal and without a place for the credential.
//
//attack:cli-owner-terminal
func TestTheOwnerIsMadeWhereSomebodyReadsIt(t *testing.T) {
	d := newDesk(t)
	d.must(exitFine, "init")
	for _, args := range [][]string{{"people", "init"}, {"people", "init", "kim"}, {"people", "init", "--credential-fd", "1"}, {"people", "init", "--json"}} {
		if r := d.run(strings.NewReader("yes\n"), args...); r.code != exitUsage || strings.Contains(r.out+r.errOut, "sp-person-") {
			t.Errorf("%q: %d\n%s%s", args, r.code, r.out, r.errOut)
		}
	}
	if r := d.must(exitFine, "people", "list"); !strings.Contains(r.out, "Nobody is listed") {
		t.Errorf("somebody was made: %s", r.out)
	}
}
