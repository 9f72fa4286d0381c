package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// ran is what a command left behind.
type ran struct {
	code        int
	out, errOut string
}

// desk is a place to run commands in, within this process.
type desk struct {
	t    *testing.T
	home string
	now  func() time.Time
}

func newDesk(t *testing.T) *desk {
	return &desk{t: t, home: filepath.Join(t.TempDir(), "data"), now: time.Now}
}

func (b *desk) run(stdin io.Reader, args ...string) ran {
	b.t.Helper()
	var out, errOut bytes.Buffer
	a := &app{stdin: stdin, stdout: &out, stderr: &errOut, now: b.now, random: fillRandom}
	a.getenv = func(name string) string {
		return map[string]string{homeVariable: b.home, tierVariable: "2"}[name]
	}
	code := run(a, args)
	return ran{code, out.String(), errOut.String()}
}

// must runs a command that has to end with a code.
func (b *desk) must(code int, args ...string) ran {
	b.t.Helper()
	r := b.run(strings.NewReader(""), args...)
	if r.code != code {
		b.t.Fatalf("%q ended with %d, want %d\n%s%s", args, r.code, code, r.out, r.errOut)
	}
	return r
}

// TestOrderReadsOneByteMoreThanADialectTakes sends bodies at the limit, above it, and without an end.
//
//attack:cli-body-bytes
func TestOrderReadsOneByteMoreThanADialectTakes(t *testing.T) {
	b := newDesk(t)
	pad := func(n int) io.Reader { return strings.NewReader(compliant + strings.Repeat(" ", n-len(compliant))) }
	if r := b.run(pad(64<<10), "order", "-"); r.code != exitFine {
		t.Errorf("64 KiB: %d\n%s%s", r.code, r.out, r.errOut)
	}
	for name, in := range map[string]io.Reader{
		"one byte more": pad(64<<10 + 1), "without an end": &endless{block: []byte(compliant), left: 1 << 40},
	} {
		if r := b.run(in, "order", "--json", "-"); r.code != exitDenied || !strings.Contains(r.out, `"BODY_TOO_LARGE"`) {
			t.Errorf("%s: %d\n%s%s", name, r.code, r.out, r.errOut)
		}
		if r := b.run(in, "tool", toolA); r.code != exitDenied {
			t.Errorf("%s, as a tool: %d\n%s%s", name, r.code, r.out, r.errOut)
		}
	}
}

// TestFilesAreMadePrivateUnderAnyUmask lets the umask forbid nothing.
//
//attack:cli-file-mode
func TestFilesAreMadePrivateUnderAnyUmask(t *testing.T) {
	d := newDesk(t)
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	d.must(exitFine, "init", "--quotes-sample")
	d.must(exitFine, "order", compliant)
	entries, err := os.ReadDir(d.home)
	if err != nil || len(entries) < 4 {
		t.Fatal(entries, err)
	}
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil || fi.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", e.Name(), fi.Mode(), err)
		}
	}
}

// TestAnAnswerThatCannotBeReadIsAFailure takes nothing for granted of what a tool answers.
//
//attack:cli-answer-depth
func TestAnAnswerThatCannotBeReadIsAFailure(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		answer  string
		isError bool
		want    int
	}{
		{`{"verdict":"allow"}`, false, exitFine},
		{`{"verdict":"allow"}`, true, exitDenied},
		{`{"verdict":"deny"}`, false, exitDenied},
		{`{"verdict":"hold"}`, false, exitHeld},
		{`{"rows":[]}`, false, exitFine},
		{`{"error":"x"}`, true, exitDenied},
		{nested(maxAnswerDepth), false, exitFine},
		{nested(maxAnswerDepth + 1), false, exitInternal},
		{"", false, exitInternal},
		{"x", false, exitInternal},
	} {
		if got := codeOfAnswer([]byte(c.answer), c.isError); got != c.want {
			t.Errorf("%.40s, %v: %d, want %d", c.answer, c.isError, got, c.want)
		}
	}
}

// TestResolveWantsAReason tries none, one of spaces, one at the limit and one above it.
//
//attack:cli-resolve-reason
func TestResolveWantsAReason(t *testing.T) {
	b := newDesk(t)
	b.must(exitFine, "init")
	resolve := func(reason string) ran {
		return b.run(nil, "audit", "resolve", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "accepted", "--reason", reason)
	}
	for _, reason := range []string{"", "  \t", strings.Repeat("é", 501)} {
		if r := resolve(reason); r.code != exitUsage || !strings.Contains(r.errOut, "1 to 500") {
			t.Errorf("a reason of %d bytes: %d, %s", len(reason), r.code, r.errOut)
		}
	}
	if r := resolve(strings.Repeat("é", 500)); r.code != exitDenied || !strings.Contains(r.errOut, "no intent") {
		t.Errorf("a reason of 500 characters: %d, %s", r.code, r.errOut)
	}
}

// TestDoctorFindsAClockThatIsBehind sets the clock back by just as much as is allowed, and by more.
//
//attack:doctor-clock
func TestDoctorFindsAClockThatIsBehind(t *testing.T) {
	b := newDesk(t)
	at := time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	b.now = func() time.Time { return at }
	b.must(exitFine, "init")
	b.must(exitDenied, "order", "nonsense")
	at = at.Add(-clockTolerance)
	b.must(exitFine, "doctor")
	at = at.Add(-time.Millisecond)
	if r := b.must(exitDenied, "doctor", "--json"); !strings.Contains(r.out, `"name":"clock","status":"finding"`) {
		t.Error(r.out)
	}
	fresh := newDesk(t) // without any decision the first record counts
	fresh.now = b.now
	fresh.must(exitFine, "init")
	at = at.Add(-time.Minute)
	fresh.must(exitDenied, "doctor")
}

// TestAPanicIsAnInternalErrorWithoutAStack breaks the process's own clock.
func TestAPanicIsAnInternalErrorWithoutAStack(t *testing.T) {
	b := newDesk(t)
	b.now = func() time.Time { panic("no clock") }
	r := b.run(nil, "demo")
	if r.code != exitInternal || !strings.Contains(r.errOut, "internal error: no clock") || strings.Contains(r.errOut, "goroutine") {
		t.Errorf("%d: %s", r.code, r.errOut)
	}
}

// TestAHookThatCannotEvenReadItsConfigurationDenies breaks the environment under a hook.
func TestAHookThatCannotEvenReadItsConfigurationDenies(t *testing.T) {
	var out, errOut bytes.Buffer
	a := &app{stdin: strings.NewReader(`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}`), stdout: &out, stderr: &errOut}
	a.getenv = func(string) string { panic("no environment") }
	if code := run(a, []string{"hook", "claude"}); code != exitUsage || !strings.Contains(out.String(), `"permissionDecision":"deny"`) || errOut.Len() == 0 {
		t.Errorf("%d: %s%s", code, out.String(), errOut.String())
	}
}

// sallyport starts this test binary as the program.
func sallyport(t *testing.T, home string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &exec.Cmd{Path: self, Args: append([]string{"sallyport"}, args...), Env: append(os.Environ(), homeVariable+"="+home, tierVariable+"=2")}
}

// TestMCPEndsCleanlyOnASignal interrupts a session that has answered and waits for more.
func TestMCPEndsCleanlyOnASignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		c := sallyport(t, filepath.Join(t.TempDir(), "data"), "mcp")
		in, errIn := c.StdinPipe()
		out, errOut := c.StdoutPipe()
		if errIn != nil || errOut != nil {
			t.Fatal(errIn, errOut)
		}
		var log bytes.Buffer
		c.Stderr = &log
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
		if _, err := io.WriteString(in, hello+"\n"); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(out)
		if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, `"id":1`) {
			t.Fatalf("%q, %v, %s", line, err, log.String())
		}
		if err := c.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(r)
		if err := c.Wait(); err != nil || len(rest) > 0 {
			t.Errorf("%v: %v, then %q on standard output and %q on standard error", sig, err, rest, log.String())
		}
	}
}

// TestCheckStopsWhenItsReaderIsGone would never end if writing went on.
func TestCheckStopsWhenItsReaderIsGone(t *testing.T) {
	draft := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(draft, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := sallyport(t, filepath.Join(t.TempDir(), "data"), "check", "--json", "--policy", draft)
	c.Stdin = &endless{block: []byte(compliant + "\n"), left: 1 << 40}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	out.Close()
	if err := c.Wait(); err == nil {
		t.Error("it ended as if all were well")
	}
}

// TestProgressShowsOnlyOnATerminalAndNotAtOnce plays long work with a clock of its own.
func TestProgressShowsOnlyOnATerminalAndNotAtOnce(t *testing.T) {
	at := time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	p := &progress{w: &out, what: "records verified", now: func() time.Time { return at }, next: at.Add(time.Second)}
	p.at(10, 1000)
	p.end()
	if out.Len() > 0 {
		t.Errorf("it showed at once: %q", out.String())
	}
	at = at.Add(time.Second)
	p.at(500, 1000)
	p.at(501, 1000) // too soon after the last
	at = at.Add(time.Second)
	p.at(1234567, 0)
	p.end()
	if want := "\r\x1b[Krecords verified: 500 of 1,000 (50%)\r\x1b[Krecords verified: 1,234,567\r\x1b[K"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	a := &app{stderr: &out, getenv: func(string) string { return "" }, now: time.Now}
	var none *progress
	none.at(1, 1)
	none.end()
	if q := a.startProgress("x"); q.w != nil {
		t.Error("a buffer is taken for a terminal")
	}
}

// TestExitCodesOfDecisions holds R10's table.
func TestExitCodesOfDecisions(t *testing.T) {
	reason := func(c trade.Code) []policy.Reason { return []policy.Reason{{Code: c}} }
	for _, c := range []struct {
		d    ledger.Decision
		want int
	}{
		{ledger.Decision{}, exitDenied},
		{ledger.Decision{Verdict: policy.Deny, Reasons: reason("JOURNAL_UNAVAILABLE")}, exitDenied},
		{ledger.Decision{Verdict: policy.Deny, Reasons: reason("INTERNAL_ERROR")}, exitInternal},
		{ledger.Decision{Verdict: policy.Hold}, exitHeld},
		{ledger.Decision{Verdict: policy.Hold, State: ledger.ApprovalPending}, exitHeld},
		{ledger.Decision{Verdict: policy.Hold, State: ledger.ApprovalGranted}, exitHeld},
		{ledger.Decision{Verdict: policy.Hold, State: ledger.ApprovalDeclined}, exitDenied},
		{ledger.Decision{Verdict: policy.Hold, State: ledger.ApprovalWithdrawn}, exitDenied},
		{ledger.Decision{Verdict: policy.Hold, State: ledger.ApprovalExpired}, exitDenied},
		{ledger.Decision{Verdict: policy.Allow, State: ledger.Allowed}, exitFine},
		{ledger.Decision{Verdict: policy.Allow, State: ledger.Succeeded}, exitFine},
		{ledger.Decision{Verdict: policy.Allow, State: ledger.Failed}, exitDenied},
		{ledger.Decision{Verdict: policy.Allow, State: ledger.OutcomeUnknown}, exitDenied},
	} {
		if got := codeOfDecision(c.d); got != c.want {
			t.Errorf("%v %s: %d, want %d", c.d.Verdict, c.d.State, got, c.want)
		}
	}
}

func TestWrapKeepsEveryWord(t *testing.T) {
	text := "a bb ccc dddd " + strings.Repeat("e", 30) + " f\ng"
	lines := wrap(text, 8)
	if strings.Join(strings.Fields(strings.Join(lines, " ")), "") != strings.Join(strings.Fields(text), "") {
		t.Errorf("words were lost: %q", lines)
	}
	for _, l := range lines {
		if len(l) > 8 {
			t.Errorf("%q is too long", l)
		}
	}
}

func TestCountSeparatesThousands(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("%d is shown as %s, want %s", n, got, want)
		}
	}
}

func FuzzParseHead(f *testing.F) {
	f.Add("1:" + strings.Repeat("0f", 32))
	f.Add("18446744073709551616:00")
	f.Add(":")
	f.Fuzz(func(t *testing.T, s string) {
		h, ok := parseHead(s)
		if !ok {
			return
		}
		if again, ok := parseHead(headText(h)); !ok || again != h {
			t.Errorf("%q is not read back", headText(h))
		}
	})
}
