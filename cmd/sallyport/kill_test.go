package main

import (
	"context"
	"io"
	"net"
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
)

// blindFollower reads a journal without understanding it.
type blindFollower struct{}

func (blindFollower) Restore(journal.Seq, []byte) error { return nil }
func (blindFollower) Follow(journal.Record) error       { return nil }
func (blindFollower) Snapshot(int, int) []byte          { return nil }

// quick lets a stop without the journal wait only shortly for what may be on its way.
const quick = `{"deadlines": {"send": "100ms", "lock": "50ms"}}`

// TestAStopDoesNotWaitForTheJournal holds the journal's lock as long as the stop takes, and longer.
//
//attack:cli-kill-open
func TestAStopDoesNotWaitForTheJournal(t *testing.T) {
	d := newDesk(t)
	d.must(exitFine, "init")
	if err := os.WriteFile(filepath.Join(d.home, configName), []byte(quick), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(context.Background(), journal.Config{Path: filepath.Join(d.home, gate.JournalName), LockWait: time.Second, Follower: blindFollower{}})
	if err != nil {
		t.Fatal(err)
	}
	locked, release, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- j.Update(context.Background(), func(*journal.Tx) error {
			close(locked)
			<-release
			return nil
		})
	}()
	<-locked
	r := d.must(exitFine, "kill", "--json", "--scope", "symbol:AAPL", "--reason", "the lock is held")
	if !strings.Contains(r.out, `"recorded":false,"stop_file":"`) || !strings.Contains(r.out, `"scope":"symbol:AAPL"`) {
		t.Errorf("%s%s", r.out, r.errOut)
	}
	again := d.must(exitFine, "kill")
	if !strings.Contains(again.out, "the stop file alone holds it") {
		t.Errorf("%s", again.out)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if r := d.must(exitDenied, "order", "--json", compliant); !strings.Contains(r.out, `"error":"killswitch_active"`) {
		t.Errorf("%s", r.out)
	}
}

// impostor kills the daemon and listens in its place, where people reach it.
func (h *house) impostor() net.Listener {
	h.t.Helper()
	h.stop(os.Kill)
	if err := os.Remove(h.path("run/people.sock")); err != nil {
		h.t.Fatal(err)
	}
	l, err := net.Listen("unix", h.path("run/people.sock"))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { l.Close() })
	return l
}

// TestAStopDoesNotWaitForeverForTheDaemon has something listen that is no daemon and cancels nothing.
//
//attack:cli-kill-await
func TestAStopDoesNotWaitForeverForTheDaemon(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{}`)
	h.serve()
	env := h.agent("hand", "2", "2")
	h.must(exitFine, env, "order", resting)
	h.impostor()
	r := h.must(exitFine, []string{credentialVariable + "="}, "kill", "--json")
	if !strings.Contains(r.out, `"recorded":true`) || !strings.Contains(r.out, `"state":"pending"`) {
		t.Errorf("%s%s", r.out, r.errOut)
	}
}

// TestAStopDoesNotWaitForASilentDaemon has a daemon take the call and say nothing.
//
//attack:cli-kill-silence
//attack:cli-kill-daemon
func TestAStopDoesNotWaitForASilentDaemon(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{}`)
	h.serve()
	l := h.impostor()
	written := make(chan bool, 1)
	go func() {
		for n := int64(0); n == 0; { // whoever only looks whether somebody listens sends nothing
			c, err := l.Accept()
			if err != nil {
				written <- false
				return
			}
			n, _ = io.Copy(io.Discard, c) // until the command gives up
			c.Close()
		}
		_, there := gate.StopFile(h.home)
		written <- there
	}()
	r := h.must(exitFine, nil, "kill", "--json")
	if !strings.Contains(r.out, `"recorded":true`) || !strings.Contains(r.errOut, "does not answer yet") {
		t.Errorf("%s%s", r.out, r.errOut)
	}
	if !<-written {
		t.Error("there was no stop file while the daemon was waited for")
	}
}

// TestAStopSaysWhereItCouldNotBeEngaged takes away the right to write: from the journal, and then from the directory too.
func TestAStopSaysWhereItCouldNotBeEngaged(t *testing.T) {
	dir := shortDir(t)
	home := filepath.Join(dir, "d")
	self := filepath.Join(dir, "sallyport")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := copyFile(program, self); err != nil {
		t.Fatal(err)
	}
	credential := &syscall.Credential{Uid: uint32(os.Geteuid()), Gid: uint32(os.Getegid())}
	if os.Geteuid() == 0 { // whom no permission binds
		credential = &syscall.Credential{Uid: 65533, Gid: 65533}
		if err := os.Chown(dir, 65533, 65533); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (int, string) {
		cmd := &exec.Cmd{Path: self, Args: append([]string{"sallyport"}, args...), Env: []string{"HOME=" + dir, homeVariable + "=" + home, tierVariable + "=2"}}
		if os.Geteuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
		}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	if code, out := run("init"); code != exitFine {
		t.Fatalf("%d: %s", code, out)
	}
	if err := os.WriteFile(filepath.Join(home, configName), []byte(quick), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(home, configName), int(credential.Uid), int(credential.Gid)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(home, gate.JournalName+"*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.Chmod(f, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if code, out := run("kill"); code != exitFine || !strings.Contains(out, "the stop file alone holds it") {
		t.Errorf("a journal that is read-only: %d\n%s", code, out)
	}
	if err := os.Remove(filepath.Join(home, gate.StopName)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o500); err != nil {
		t.Fatal(err)
	}
	code, out := run("kill")
	if code != exitInternal || !strings.Contains(out, "NOTHING WAS STOPPED") || strings.Contains(out, "\nSTOPPED") {
		t.Errorf("a directory that is read-only: %d\n%s", code, out)
	}
	if err := os.Chmod(home, 0o700); err != nil {
		t.Fatal(err)
	}
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}

// TestAStopReportNeverSaysMoreThanIsKnown shows every state of an order.
//
//fault:f10
//fault:f129
func TestAStopReportNeverSaysMoreThanIsKnown(t *testing.T) {
	rep := gate.StopReport{Recorded: true, Repeated: true, Stop: ledger.Stop{Reason: "a\x1b[2Jreason", By: "agent:x"}}
	for _, s := range []gate.StopState{gate.StopGone, gate.StopStillThere, gate.StopUnknown, gate.StopPending, gate.StopKept} {
		rep.Orders = append(rep.Orders, gate.StopOrder{Order: anOrder(t), Agent: "desk", State: s, Message: strings.Repeat("word ", 40)})
	}
	text := describeStopReport(rep, 0, paint{})
	for _, want := range []string{"STOPPED  everything (it was engaged already)", "gone ", "still there ", "unknown ", "pending ", "kept ", "Positions stay as they are"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(strings.ToLower(text), "flat") || strings.Contains(text, "\x1b") {
		t.Errorf("%q", text)
	}
	wantWidth(t, text)
}
