package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
)

// house is a data directory with a daemon of its own process, and what people and agents hold.
type house struct {
	t      *testing.T
	home   string
	env    []string // of the daemon, beside what every process has
	daemon *exec.Cmd
	log    *gatetest.Output
	ended  chan struct{}
	err    error // of the daemon, once it has ended
}

// newHouse makes a data directory with the owner kim, quotes, and a configuration.
func newHouse(t *testing.T, configuration string) *house {
	t.Helper()
	h := &house{t: t, home: filepath.Join(shortDir(t), "d")}
	h.must(exitFine, nil, "init", "--quotes-sample")
	h.write(configName, configuration)
	h.must(exitFine, nil, "people", "init", "kim", "--credential-fd", "3")
	return h
}

func (h *house) path(name string) string { return filepath.Join(h.home, name) }

func (h *house) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(h.path(name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// run runs a command as a process of its own, as the owner unless env says otherwise. Descriptor 3 is the owner's
// credential where people init wants one.
func (h *house) run(env []string, args ...string) ran {
	h.t.Helper()
	cmd := sallyport(h.t, h.home, args...)
	if slices.Contains(args, "init") && args[0] == "people" {
		f, err := os.OpenFile(h.path("kim"), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
		if err != nil {
			h.t.Fatal(err)
		}
		defer f.Close()
		cmd.ExtraFiles = []*os.File{f}
	}
	cmd.Env = append(append(cmd.Env, credentialVariable+"="+h.path("kim")), env...)
	if raceEnabled {
		cmd.Env = append(cmd.Env, "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0") // else each takes a second to end
	}
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	_ = cmd.Run() // the exit code says it
	return ran{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

func (h *house) must(code int, env []string, args ...string) ran {
	h.t.Helper()
	r := h.run(env, args...)
	if r.code != code {
		h.t.Fatalf("%q ended with %d, want %d\n%s%s", args, r.code, code, r.out, r.errOut)
	}
	return r
}

// until waits until a command's output has something in it.
func (h *house) until(want string, env []string, args ...string) ran {
	h.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		r := h.run(env, args...)
		if strings.Contains(r.out, want) {
			return r
		}
		if time.Now().After(end) {
			h.t.Fatalf("%q never says %q\n%s%s\nthe daemon says\n%s", args, want, r.out, r.errOut, h.log)
		}
	}
}

// serve starts the daemon and waits until it listens.
func (h *house) serve(args ...string) {
	h.t.Helper()
	h.log, h.ended = &gatetest.Output{}, make(chan struct{})
	all := append([]string{"serve", "--listen-agents", "none", "--listen-people", "none", "--log", "text"}, args...)
	h.daemon = sallyport(h.t, h.home, all...)
	h.daemon.Stderr, h.daemon.Env = h.log, append(h.daemon.Env, h.env...)
	if err := h.daemon.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func(cmd *exec.Cmd, ended chan struct{}) {
		h.err = cmd.Wait()
		close(ended)
	}(h.daemon, h.ended)
	h.t.Cleanup(func() {
		_ = h.daemon.Process.Kill() // it may have ended
		<-h.ended
	})
	for end := time.Now().Add(30 * time.Second); !answers(h.path("run/people.sock")); time.Sleep(10 * time.Millisecond) {
		select {
		case <-h.ended:
			h.t.Fatalf("the daemon ended: %v\n%s", h.err, h.log)
		default:
		}
		if time.Now().After(end) {
			h.t.Fatalf("the daemon does not listen\n%s", h.log)
		}
	}
}

// stop ends the daemon with a signal and returns its exit code.
func (h *house) stop(sig os.Signal) int {
	h.t.Helper()
	if err := h.daemon.Process.Signal(sig); err != nil {
		h.t.Fatal(err)
	}
	<-h.ended
	return h.daemon.ProcessState.ExitCode()
}

// agent adds an agent and returns the environment of its processes.
func (h *house) agent(name, tier, own string) []string {
	h.t.Helper()
	r := h.must(exitFine, nil, "agents", "add", name, "--tier", tier, "--json")
	token := match(h.t, r.out, `"token":"([^"]+)"`)
	return []string{daemonVariable + "=unix:" + h.path("run/agents.sock"), tokenVariable + "=" + token, tierVariable + "=" + own, credentialVariable + "="}
}

func match(t *testing.T, text, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("%s is not in\n%s", pattern, text)
	}
	return m[1]
}

const resting = `{"symbol":"AAPL","side":"buy","quantity":"10","order_type":"limit","limit_price":"100.00"}`

// TestTheLowerTierHolds asks with every pair of a token's tier and a process's.
//
//attack:cli-tier-lower
func TestTheLowerTierHolds(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{}`)
	h.serve()
	for highest := range 3 {
		for own := range 3 {
			env := h.agent(fmt.Sprintf("a%d%d", highest, own), fmt.Sprint(highest), fmt.Sprint(own))
			lower := min(highest, own)
			want := map[bool]int{true: exitFine, false: exitDenied}
			if r := h.run(env, "order", "--json", resting); r.code != want[lower == 2] ||
				lower < 2 && !strings.Contains(r.out, fmt.Sprintf(`"required_tier":2,"current_tier":%d`, lower)) {
				t.Errorf("token %d, process %d: an order ends with %d: %s%s", highest, own, r.code, r.out, r.errOut)
			}
			want[true] = exitHeld
			if r := h.run(env, "propose", "--json", compliant); r.code != want[lower >= 1] {
				t.Errorf("token %d, process %d: a proposal ends with %d: %s%s", highest, own, r.code, r.out, r.errOut)
			}
		}
	}
	if h.stop(syscall.SIGTERM) != exitFine {
		t.Errorf("the daemon ended badly: %s", h.log)
	}
}

// TestAnApprovalIsTypedByAPersonWhoWasShownIt leaves out one thing after the other; nothing of it is an approval.
//
//attack:cli-approval-typed
func TestAnApprovalIsTypedByAPersonWhoWasShownIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{}`)
	h.serve()
	env := h.agent("desk", "2", "2")
	r := h.must(exitHeld, env, "propose", "--json", compliant)
	id, digest := match(t, r.out, `"proposal_id":"([^"]+)"`), match(t, r.out, `"digest":"([^"]+)"`)
	token := strings.TrimPrefix(env[1], tokenVariable+"=")
	h.write("token", token)
	nobody := []string{credentialVariable + "="}
	for name, c := range map[string]struct {
		env  []string
		args []string
		code int
	}{
		"without a credential":           {nobody, []string{"approve", id, "--digest", digest}, exitUsage},
		"with an agent's token":          {[]string{credentialVariable + "=" + h.path("token")}, []string{"approve", id, "--digest", digest}, exitDenied},
		"without a digest":               {nil, []string{"approve", id}, exitUsage},
		"with an empty digest":           {nil, []string{"approve", id, "--digest", ""}, exitUsage},
		"with too few characters":        {nil, []string{"approve", id, "--digest", digest[:7]}, exitDenied},
		"with another digest":            {nil, []string{"approve", id, "--digest", "00000000"}, exitDenied},
		"with its digest and more":       {nil, []string{"approve", id, "--digest", digest + "0"}, exitDenied},
		"in capitals":                    {nil, []string{"approve", id, "--digest", strings.ToUpper(digest[:7]) + "F"}, exitDenied},
		"for a proposal that is not":     {nil, []string{"approve", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "--digest", digest}, exitDenied},
		"with a credential as argument":  {nobody, []string{"approve", id, "--digest", digest, "--credential", "x"}, exitUsage},
		"a no without a credential":      {nobody, []string{"decline", id, "--digest", digest}, exitUsage},
		"a no with another digest":       {nil, []string{"decline", id, "--digest", "00000000"}, exitDenied},
		"by the agent's own environment": {env, []string{"approve", id, "--digest", digest}, exitUsage},
	} {
		if r := h.run(c.env, c.args...); r.code != c.code || strings.Contains(r.out+r.errOut, token) {
			t.Errorf("%s: %d, want %d\n%s%s", name, r.code, c.code, r.out, r.errOut)
		}
	}
	if r := h.must(exitFine, nil, "audit", "list", "--json"); !strings.Contains(r.out, `"state":"APPROVAL_PENDING"`) || strings.Contains(r.out, "EXECUTION_SUCC") {
		t.Errorf("it did not stay as it was: %s", r.out)
	}
	h.must(exitFine, nil, "approve", id, "--digest", digest[:8], "--json")
}

// TestTheDaemonEndsWhatIsOverByTime lets a proposal wait longer than it may, and asks nothing of the daemon meanwhile.
//
//attack:cli-serve-settle
func TestTheDaemonEndsWhatIsOverByTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{"approval": {"expires": "1s"}}`)
	h.serve()
	r := h.must(exitHeld, h.agent("desk", "1", "1"), "propose", "--json", compliant)
	id := match(t, r.out, `"proposal_id":"([^"]+)"`)
	h.until("lapsed by sallyport", nil, "audit", "show", id) // an event of its own, which only the daemon writes here
	h.must(exitFine, nil, "positions")
}

// TestTheDaemonComparesWithTheBrokerFirst gives it a venue on which somebody else has traded.
//
//attack:cli-serve-reconcile
func TestTheDaemonComparesWithTheBrokerFirst(t *testing.T) {
	t.Parallel()
	other := newHouse(t, `{}`)
	other.must(exitFine, nil, "order", compliant)
	for _, account := range []string{"exclusive", "shared"} {
		h := newHouse(t, `{"account": "`+account+`"}`)
		for _, name := range []string{paperName, paperName + "-wal"} {
			raw, err := os.ReadFile(other.path(name))
			if err == nil {
				err = os.WriteFile(h.path(name), raw, 0o600)
			}
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
		h.serve()
		r := h.run(nil, "kill", "status")
		stopped := strings.Contains(r.out, "STOPPED  account:paper")
		if stopped != (account == "exclusive") || stopped && !strings.Contains(r.out, "no decision explains") {
			t.Errorf("%s: %s\n%s", account, r.out, h.log)
		}
	}
}

// TestTheDaemonEndsWithItsSignals starts and stops it twice, and listens to what it tells its service manager.
func TestTheDaemonEndsWithItsSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		h := newHouse(t, `{}`)
		notify := filepath.Join(filepath.Dir(h.home), "notify")
		l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		h.env = []string{notifyVariable + "=" + notify}
		h.serve()
		if code := h.stop(sig); code != exitFine || !strings.Contains(h.log.String(), "msg=stopped") {
			t.Errorf("%v: %d\n%s", sig, code, h.log)
		}
		for _, want := range []string{"READY=1", "STOPPING=1"} {
			told := make([]byte, 64)
			if n, err := l.Read(told); err != nil || string(told[:n]) != want {
				t.Errorf("%v: the service manager was told %q, %v; want %s", sig, told[:n], err, want)
			}
		}
		if _, err := os.Lstat(h.path("run/people.sock")); err == nil {
			t.Errorf("%v: the socket is left behind", sig)
		}
		h.serve() // the directory is free again
		if code := h.stop(sig); code != exitFine {
			t.Errorf("%v: the second daemon ends with %d", sig, code)
		}
	}
}

// TestASecondSignalEndsTheDaemonAtOnce holds a call open that the daemon waits for after the first.
func TestASecondSignalEndsTheDaemonAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{}`)
	h.serve()
	token := strings.TrimPrefix(h.agent("desk", "2", "2")[1], tokenVariable+"=")
	c, err := net.Dial("unix", h.path("run/agents.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "POST /v1/checks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+token+
		"\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	// The daemon says so when a call begins to read its body. This one never comes, and the call waits for it.
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("the call is not in flight: %q, %v", line, err)
	}
	if err := h.daemon.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(h.log.String(), "finishing what is in flight") {
		select {
		case <-h.ended:
			t.Fatalf("it did not wait for the call: %v\n%s", h.err, h.log)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if code := h.stop(syscall.SIGTERM); code != -1 {
		t.Errorf("it ends with %d, not by the signal\n%s", code, h.log)
	}
}

// TestADaemonThatWasKilledLeavesNothingInTheWay starts again after a SIGKILL.
func TestADaemonThatWasKilledLeavesNothingInTheWay(t *testing.T) {
	t.Parallel()
	h := newHouse(t, `{}`)
	h.serve()
	env := h.agent("hand", "2", "2")
	h.must(exitFine, env, "order", resting)
	if code := h.stop(os.Kill); code == exitFine {
		t.Fatal("it ended by itself")
	}
	h.serve()
	h.must(exitFine, env, "order", compliant)
	r := h.must(exitFine, nil, "orders")
	if !strings.Contains(r.out, "working") {
		t.Errorf("the resting order is gone: %s", r.out)
	}
}

// TestADefaultPortThatIsTakenIsLeftOut and one that was asked for is not.
func TestADefaultPortThatIsTakenIsLeftOut(t *testing.T) {
	d := &daemon{cfg: defaultConfig(home)}
	s := d.cfg.Serve
	want := [][2]string{{s.Agents, s.People}, {s.Agents, ""}, {"", s.People}, {"", ""}}
	if got := d.addresses(); !slices.Equal(got, want) {
		t.Errorf("by default %q", got)
	}
	d.cfg.Serve.AgentsGiven = true
	if got := d.addresses(); !slices.Equal(got, want[:2]) {
		t.Errorf("asked for: %q", got)
	}
	d.cfg.Serve.Agents, d.cfg.Serve.People, d.cfg.Serve.PeopleGiven = none, none, true
	if got := d.addresses(); !slices.Equal(got, [][2]string{{"", ""}}) {
		t.Errorf("none: %q", got)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	h := newHouse(t, `{}`)
	r := h.must(exitUsage, nil, "serve", "--listen-agents", taken.Addr().String(), "--listen-people", "none")
	if !strings.Contains(r.errOut, "an address to listen on is taken") {
		t.Errorf("%s", r.errOut)
	}
	for _, bad := range []string{"0.0.0.0:1", "localhost:1", "", "nowhere"} {
		h.must(exitUsage, nil, "serve", "--listen-people", bad)
	}
}

// TestTheDaemonRefusesATelegramTokenOthersCanRead and one that is none; neither is ever shown.
func TestTheDaemonRefusesATelegramTokenOthersCanRead(t *testing.T) {
	h := newHouse(t, `{"serve": {"telegram": {"token_file": "telegram.token", "chats": [1]}}}`)
	h.must(exitUsage, nil, "serve")
	const token = "123456:ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	h.write("telegram.token", token)
	if err := os.Chmod(h.path("telegram.token"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := h.must(exitUsage, nil, "serve"); !strings.Contains(r.errOut, "others can read") || strings.Contains(r.errOut, token) {
		t.Errorf("%s", r.errOut)
	}
	if err := os.Chmod(h.path("telegram.token"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.write("telegram.token", "not a token of theirs")
	if r := h.must(exitUsage, nil, "serve"); strings.Contains(r.errOut, "theirs") {
		t.Errorf("%s", r.errOut)
	}
	if _, err := os.Lstat(h.path(gate.StopName)); err == nil {
		t.Error("a daemon that does not start has stopped everything")
	}
}
