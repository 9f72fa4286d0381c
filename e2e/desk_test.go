package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	ownerName = "kim"
	agentName = "desk"
)

// decision is what these tests look at in a decision object.
type decision struct {
	Verdict      string
	State        string
	Agent        string
	Digest       string
	Proposal     string   `json:"proposal_id"`
	OrderID      string   `json:"order_id"`
	ApprovedBy   []string `json:"approved_by"`
	Error        string
	RequiredTier int  `json:"required_tier"`
	CurrentTier  *int `json:"current_tier"`
	Stops        []struct{ Scope, By, Reason string }
	OrderStatus  string `json:"order_status"`
}

// desk is a data directory with its daemon, its owner and one agent of tier 1.
type desk struct {
	t          *testing.T
	binary     string
	dir        string // of everything, with a short path, because a socket's path is short
	credential string // the file of the owner's credential
	token      string // the file of the agent's token
}

// openDesk starts a daemon and stops it when the test ends.
func openDesk(t *testing.T) *desk {
	t.Helper()
	binary, err := sallyport()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "sp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &desk{t: t, binary: binary, dir: dir, credential: filepath.Join(dir, "owner"), token: filepath.Join(dir, "token")}
	d.must("", "init", "--quotes-sample")
	d.write(d.credential, "")
	d.must(d.credential, "people", "init", ownerName)
	d.serve()
	var made struct{ Token string }
	d.must(d.credential, "agents", "add", agentName, "--tier", "1", "--json").read(t, &made)
	d.write(d.token, made.Token)
	return d
}

func (d *desk) write(path, text string) {
	d.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// environment is that of the operator: it names the data directory.
func (d *desk) environment() []string {
	return []string{"SALLYPORT_HOME=" + filepath.Join(d.dir, "home"), "HOME=" + d.dir, "PATH=" + os.Getenv("PATH")}
}

// agentEnvironment is all that an agent's server is told.
func (d *desk) agentEnvironment(tier string) map[string]string {
	return map[string]string{
		"SALLYPORT_DAEMON":     "unix:" + filepath.Join(d.dir, "home", "run", "agents.sock"),
		"SALLYPORT_TOKEN_FILE": d.token,
		"SALLYPORT_TIER":       tier,
	}
}

// serve starts the daemon and waits until it says that it is ready, as it says it to a service manager.
func (d *desk) serve() {
	d.t.Helper()
	ready, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(d.dir, "ready"), Net: "unixgram"})
	if err != nil {
		d.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, d.binary, "serve", "--listen-agents", "none", "--listen-people", "none", "--log", "json")
	cmd.Env = append(d.environment(), "NOTIFY_SOCKET="+filepath.Join(d.dir, "ready"))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		stop()
		ready.Close()
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		stop()
		defer ready.Close()
		if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 0 || d.t.Failed() {
			d.t.Errorf("the daemon has ended with %v; its log:\n%s", cmd.ProcessState, log.String())
		}
		d.must("", "audit", "verify")
	})
	_ = ready.SetReadDeadline(time.Now().Add(time.Minute))
	said := make([]byte, 64)
	if n, err := ready.Read(said); err != nil || string(said[:n]) != "READY=1" {
		d.t.Fatalf("the daemon says %q: %v", said[:n], err)
	}
}

// output is what a command has printed.
type output struct{ text string }

func (o output) read(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(o.text), v); err != nil {
		t.Fatalf("%v: %s", err, o.text)
	}
}

func (o output) decision(t *testing.T) (d decision) {
	t.Helper()
	o.read(t, &d)
	return d
}

// lines reads one decision object a line.
func (o output) lines(t *testing.T) (all []decision) {
	t.Helper()
	for line := range strings.Lines(o.text) {
		all = append(all, output{line}.decision(t))
	}
	return all
}

// run runs a command of the operator's. A secret's file is open as descriptor 3, as a shell would open it.
func (d *desk) run(secret string, args ...string) (o output, complaint string, exit int) {
	d.t.Helper()
	cmd := exec.Command(d.binary, args...)
	if secret != "" {
		f, err := os.OpenFile(secret, os.O_RDWR, 0)
		if err != nil {
			d.t.Fatal(err)
		}
		defer f.Close()
		cmd.Args = append(cmd.Args, "--credential-fd", "3")
		cmd.ExtraFiles = []*os.File{f}
	}
	cmd.Env = d.environment()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
		d.t.Fatal(err)
	}
	return output{stdout.String()}, stderr.String(), cmd.ProcessState.ExitCode()
}

// must runs a command that has to succeed.
func (d *desk) must(secret string, args ...string) output {
	d.t.Helper()
	out, complaint, exit := d.run(secret, args...)
	if exit != 0 {
		d.t.Fatalf("sallyport %s: exit code %d\n%s%s", strings.Join(args, " "), exit, out.text, complaint)
	}
	return out
}

// refuses runs a command that has to be refused with a code.
func (d *desk) refuses(code, secret string, args ...string) {
	d.t.Helper()
	out, complaint, exit := d.run(secret, append(args, "--json")...)
	var told struct{ Error struct{ Code string } }
	if out.read(d.t, &told); exit != 1 || told.Error.Code != code {
		d.t.Errorf("sallyport %s: exit code %d, want 1 with %s\n%s%s", strings.Join(args, " "), exit, code, out.text, complaint)
	}
}

func (d *desk) proposals() []decision {
	d.t.Helper()
	return d.must("", "proposals", "--json").lines(d.t)
}

// executed makes sure of how many orders have reached the venue, all of which it has filled: by the record, by what is
// open there, and by what it holds. A proposal that waits is on record and reserves, and has not reached it.
func (d *desk) executed(want int) {
	d.t.Helper()
	sent := 0
	for _, x := range d.must("", "audit", "list", "--json").lines(d.t) {
		if x.OrderID != "" {
			sent++
		}
		if strings.HasPrefix(x.State, "EXECUTION_") && x.State != "EXECUTION_BLOCKED" && x.State != "EXECUTION_SUCCEEDED" {
			d.t.Errorf("an order was sent and is not filled: %+v", x)
		}
	}
	if sent != want {
		d.t.Errorf("the record has %d executions, want %d", sent, want)
	}
	for _, x := range d.must("", "orders", "--json").lines(d.t) {
		if x.OrderStatus != "" {
			d.t.Errorf("an order is open: %+v", x)
		}
	}
	var held struct {
		Positions []struct {
			Symbol, Quantity string
			AtVenue          string `json:"venue_quantity"`
		}
	}
	d.must("", "positions", "--json").read(d.t, &held)
	quantity := fmt.Sprint(10 * want)
	for _, p := range held.Positions {
		if p.Symbol != "AAPL" || p.Quantity != quantity || p.AtVenue != quantity {
			d.t.Errorf("the position is %+v, want %s AAPL", p, quantity)
		}
	}
	if want > 0 && len(held.Positions) != 1 {
		d.t.Errorf("there are %d positions, want one", len(held.Positions))
	}
}

// callServer starts the server as a client does, calls tools one after another, and returns what each is answered.
func (d *desk) callServer(tier string, calls [][2]string) (told []decision) {
	d.t.Helper()
	cmd := exec.Command(d.binary, "mcp")
	cmd.Env = []string{"HOME=" + d.t.TempDir()}
	for name, value := range d.agentEnvironment(tier) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var in bytes.Buffer
	in.WriteString(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"test","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	for i, c := range calls {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", i+1, c[0], c[1])
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	_, _ = in.WriteTo(stdin) // a server that has ended answers nothing, which is found below
	told = make([]decision, len(calls))
	answers := bufio.NewScanner(stdout)
	answers.Buffer(nil, 1<<20)
	for left := len(calls) + 1; left > 0 && answers.Scan(); left-- {
		var a struct {
			ID     int
			Result struct{ StructuredContent *decision }
		}
		output{answers.Text()}.read(d.t, &a)
		if a.ID > 0 && a.ID <= len(calls) && a.Result.StructuredContent != nil {
			told[a.ID-1] = *a.Result.StructuredContent
		}
	}
	stdin.Close() // which ends it
	if err := cmd.Wait(); err != nil {
		d.t.Errorf("sallyport mcp: %v\n%s", err, stderr.String())
	}
	return told
}
