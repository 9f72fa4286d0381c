package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sallyport/gatetest"
)

// terminal is a pseudo-terminal with a program on one side and a test on the other.
type terminal struct {
	person, program *os.File
	shown           *gatetest.Output
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("this system has no pseudo-terminals: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{person: person, program: program, shown: &gatetest.Output{}}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(x.shown, person) // it ends with an error when the other side is closed
		close(ended)
	}()
	t.Cleanup(func() {
		program.Close()
		<-ended
		person.Close()
	})
	return x
}

// until waits until the terminal shows something.
func (x *terminal) until(t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !strings.Contains(x.shown.String(), want); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q is never shown; only\n%s", want, x.shown)
		}
	}
}

// echoes reports whether the terminal shows what is typed.
func (x *terminal) echoes(t *testing.T) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(x.program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

func (x *terminal) settles(t *testing.T, echo bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); x.echoes(t) != echo; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the echo stays %v", !echo)
		}
	}
}

func (x *terminal) types(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(x.person, text); err != nil {
		t.Fatal(err)
	}
}

// TestAPersonAtATerminal makes the owner, types the credential, and interrupts a question. What is typed is never shown,
// and the terminal is afterwards as it was.
//
//attack:cli-no-echo
//fault:f71
func TestAPersonAtATerminal(t *testing.T) {
	h := &house{t: t, home: filepath.Join(shortDir(t), "d")}
	h.must(exitFine, nil, "init", "--quotes-sample")
	x := newTerminal(t)
	at := func(args ...string) (wait func() int) {
		cmd := sallyport(t, h.home, args...)
		cmd.Env = append(cmd.Env, "NO_COLOR=1")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = x.program, x.program, x.program
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return func() int {
			_ = cmd.Wait() // the exit code says it
			return cmd.ProcessState.ExitCode()
		}
	}
	if code := at("people", "init", "kim")(); code != exitFine {
		t.Fatalf("%d: %s", code, x.shown)
	}
	credential := match(t, x.shown.String(), `(sp-person-[a-z2-7]{32})`)
	if n := strings.Count(x.shown.String(), credential); n != 1 {
		t.Errorf("the credential is shown %d times", n)
	}

	wait := at("agents", "add", "desk", "--tier", "1")
	x.until(t, "Your credential: ")
	x.settles(t, false)
	x.types(t, credential+"\n")
	if code := wait(); code != exitFine {
		t.Fatalf("%d: %s", code, x.shown)
	}
	x.until(t, "sp-agent-")

	h.serve()
	env := []string{daemonVariable + "=unix:" + h.path("run/agents.sock"), tokenVariable + "=" + match(t, x.shown.String(), `(sp-agent-[a-z2-7]{32})`), tierVariable + "=1"}
	r := h.must(exitHeld, env, "propose", "--json", compliant)
	wait = at("approve", match(t, r.out, `"proposal_id":"([^"]+)"`))
	for end := time.Now().Add(30 * time.Second); strings.Count(x.shown.String(), "Your credential: ") < 2 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
	}
	x.settles(t, false)
	x.types(t, credential+"\n")
	x.until(t, "type the 8 characters of its order digest: ")
	x.settles(t, true)
	x.types(t, "00000000\n") // a mistyped one is asked again
	x.until(t, "that is not the digest that is shown")
	x.types(t, match(t, r.out, `"digest":"([0-9a-f]{8})`)+"\n")
	if code := wait(); code != exitFine {
		t.Fatalf("%d: %s", code, x.shown)
	}
	x.until(t, "EXECUTED")

	cmd := sallyport(t, h.home, "kill", "reset", "--reason", "x")
	cmd.Stdin = x.program
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	x.settles(t, false)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code says it
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !x.echoes(t) {
		t.Errorf("interrupted: %d, echo %v\n%s", code, x.echoes(t), out.String())
	}
	if n := strings.Count(x.shown.String(), credential); n != 1 {
		t.Errorf("what was typed is shown: %s", x.shown)
	}
}

// TestAWrongDigestIsAskedThreeTimes types a wrong one until nothing more is asked, and then another time an interruption.
//
//attack:cli-digest-tries
//fault:f71
func TestAWrongDigestIsAskedThreeTimes(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{}`)
	h.serve()
	r := h.must(exitHeld, h.agent("desk", "1", "1"), "propose", "--json", compliant)
	id, digest := match(t, r.out, `"proposal_id":"([^"]+)"`), match(t, r.out, `"digest":"([0-9a-f]{8})`)
	start := func() (*terminal, func() int, func()) {
		x := newTerminal(t)
		cmd := sallyport(t, h.home, "approve", id)
		cmd.Env = append(cmd.Env, "NO_COLOR=1", credentialVariable+"="+h.path("kim"))
		cmd.Stdin, cmd.Stdout, cmd.Stderr = x.program, x.program, x.program
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		x.until(t, "order digest: ")
		return x, func() int {
				_ = cmd.Wait() // the exit code says it
				return cmd.ProcessState.ExitCode()
			}, func() {
				if err := cmd.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
			}
	}
	x, wait, _ := start()
	x.types(t, "00000000\n\n11111111\n"+digest+"\n")
	if code := wait(); code != exitDenied || strings.Contains(x.shown.String(), "EXECUTED") {
		t.Errorf("three wrong ones and a right one: %d\n%s", code, x.shown)
	}
	x, wait, interrupt := start()
	interrupt()
	if code := wait(); code != exitInterrupted {
		t.Errorf("interrupted: %d", code)
	}
	x.until(t, "order digest: \r\nsallyport: it was interrupted")
	if r := h.must(exitFine, nil, "audit", "show", id); strings.Count(r.out, "DIGEST_MISMATCH") != 3 || !strings.HasPrefix(r.out, "HELD") {
		t.Errorf("what is on record is\n%s", r.out)
	}
}
