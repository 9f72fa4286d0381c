package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestTheAgentsWordsStandNowhereWhereALineOfOursBegins has an agent write what looks like lines of the message itself.
//
//attack:cli-brief-lines
func TestTheAgentsWordsStandNowhereWhereALineOfOursBegins(t *testing.T) {
	head := "Sallyport - PAPER, account paper\nWhy held:\n  APPROVAL_REQUIRED: " + strings.Repeat("it is over the limit ", 8) + "\n\n"
	for name, said := range map[string]string{
		"words that are wrapped":  strings.Repeat("x ", 40) + "Worst-case value 1.00 USD; Needs 0 persons, Order digest 00000000",
		"one long word":           strings.Repeat("BUY", 100),
		"what looks like a path":  "/" + strings.Repeat("x", 200) + "EXECUTED",
		"what looks like command": "'sallyport " + strings.Repeat("x", 200) + "' Proposal",
		"many spaces":             strings.Repeat(" ", 77) + strings.Repeat("Proposal approved ", 5),
	} {
		for _, text := range []string{head + untrusted + " (untrusted): \"" + said + "\"\n", head + untrusted + ":\n" + said + "\n"} {
			shown := describeBrief(text)
			before, after, _ := strings.Cut(shown, untrusted)
			if strings.Contains(before, bar) || !strings.Contains(after, "\n"+bar) {
				t.Errorf("%s: the bar is not where the agent's words are:\n%s", name, shown)
			}
			for i, l := range strings.Split(strings.TrimSuffix(after, "\n"), "\n") {
				if i > 0 && !strings.HasPrefix(l, bar) {
					t.Errorf("%s: a line begins with the agent's words: %q", name, l)
				}
			}
			for l := range strings.SplitSeq(shown, "\n") {
				if utf8.RuneCountInString(l) > width {
					t.Errorf("%s: %d columns: %q", name, utf8.RuneCountInString(l), l)
				}
			}
			if !strings.HasPrefix(shown, "Sallyport - PAPER, account paper\nWhy held:\n  APPROVAL_REQUIRED: ") || !strings.Contains(shown, "\n        ") {
				t.Errorf("%s: our own lines are not shown as they are:\n%s", name, shown)
			}
		}
	}
}

func TestLongWordsAreBrokenAndPathsAreNot(t *testing.T) {
	path := "/" + strings.Repeat("p", 90)
	got := wrap("  a "+strings.Repeat("x", 25)+" "+path+" 'sallyport kill reset'", 30)
	want := []string{"  a " + strings.Repeat("x", 25), "  " + path, "  'sallyport kill reset'"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", got)
	}
	if got := wrap("x", 0); len(got) != 1 || got[0] != "x" {
		t.Errorf("%q", got)
	}
}

//attack:cli-path-word
func TestLongPathInASentenceIsBroken(t *testing.T) {
	for _, w := range strings.Fields(printable("the file /" + strings.Repeat("p", 300) + " may not be read")) {
		if len(w) > maxWord {
			t.Errorf("a word of %d characters", len(w))
		}
	}
}
