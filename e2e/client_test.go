package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program is a client, by its name in the directory of the clients.
type program struct {
	name string
	// configure writes the client's settings into its own home, for a model and a server of the Model Context Protocol,
	// and returns its arguments and what its environment has beside that of every client.
	configure func(c configuration) (args, environment []string, err error)
}

type configuration struct {
	home   string
	model  string // the address of the model
	server string // the command of our server
	env    map[string]string
}

var programs = []program{{"claude", configureClaude}, {"codex", configureCodex}}

// prompt is what the person asks the agent for. The scripted model does not read it.
const prompt = "Buy 10 AAPL at 150."

// configureClaude arms Claude Code with nothing but our server: no tools of its own, no settings of this machine, and
// calls of our tools allowed without a question, which nobody would answer.
func configureClaude(c configuration) (args, environment []string, err error) {
	servers, err := json.Marshal(object{"mcpServers": object{"sallyport": object{
		"type": "stdio", "command": c.server, "args": []string{"mcp"}, "env": c.env,
	}}})
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(c.home, "servers.json")
	args = []string{
		"-p", prompt, "--output-format", "stream-json", "--verbose", "--model", "claude-sonnet-4-5", "--tools", "",
		"--mcp-config", path, "--strict-mcp-config", "--setting-sources", "", "--no-session-persistence",
		"--permission-mode", "dontAsk", "--allowedTools", serverName,
	}
	environment = []string{
		"ANTHROPIC_BASE_URL=" + c.model, "ANTHROPIC_API_KEY=none", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
		"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
	return args, environment, os.WriteFile(path, servers, 0o600)
}

// configureCodex arms Codex with our server and its own defaults for when to ask.
func configureCodex(c configuration) (args, environment []string, err error) {
	var b strings.Builder
	fmt.Fprintf(&b, `model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[analytics]
enabled = false
[feedback]
enabled = false
[otel]
exporter = "none"
[history]
persistence = "none"
[model_providers.scripted]
name = "scripted"
base_url = "%s/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 1
stream_max_retries = 1
[mcp_servers.sallyport]
command = %q
args = ["mcp"]
[mcp_servers.sallyport.env]
`, c.model, c.server)
	for name, value := range c.env {
		fmt.Fprintf(&b, "%s = %q\n", name, value)
	}
	args = []string{"exec", "--json", "--skip-git-repo-check", prompt}
	environment = []string{"CODEX_HOME=" + c.home, "SCRIPTED_KEY=none"}
	return args, environment, os.WriteFile(filepath.Join(c.home, "config.toml"), []byte(b.String()), 0o600)
}

// longest is how long a client may run; nothing is concluded from how fast it is.
const longest = 3 * time.Minute

// session is one run of a client.
type session struct {
	t      *testing.T
	model  *model
	cmd    *exec.Cmd
	ended  chan struct{}
	output *bytes.Buffer // to be read once it has ended
}

// start runs a client in a home of its own. It is ended with all that it has started when the test ends.
func start(t *testing.T, d *desk, p program) *session {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(*clients, "node_modules", ".bin", p.name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("the client is not there; CONTRIBUTING.md says how it is installed: %v", err)
	}
	s := &session{t: t, model: startModel(t), ended: make(chan struct{}), output: &bytes.Buffer{}}
	home, work := t.TempDir(), t.TempDir()
	args, environment, err := p.configure(configuration{home: home, model: s.model.server.URL, server: d.binary, env: d.agentEnvironment("1")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), longest)
	s.cmd = exec.CommandContext(ctx, path, args...)
	s.cmd.Dir = work
	// Whatever a client would ask of another machine goes to a port of this one where nobody listens.
	s.cmd.Env = append(environment,
		"PATH="+os.Getenv("PATH"), "HOME="+home, "TERM=dumb", "LANG=C.UTF-8",
		"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1")
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.cmd.Cancel = func() error { return syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) }
	s.cmd.WaitDelay = 10 * time.Second
	if err := s.cmd.Start(); err != nil {
		stop()
		t.Fatal(err)
	}
	go func() {
		defer close(s.ended)
		_ = s.cmd.Wait() // what it says is in the state
	}()
	t.Cleanup(func() {
		stop()
		<-s.ended
		if t.Failed() {
			t.Logf("%s says:", p.name)
			for line := range strings.Lines(s.output.String()) {
				t.Logf("%.1000s", line)
			}
		}
	})
	return s
}

// turn waits until the client asks its model.
func (s *session) turn() *turn {
	s.t.Helper()
	select {
	case u := <-s.model.turns:
		return u
	case <-s.ended:
		s.t.Fatalf("the client has ended with %v, and its model was to be asked", s.cmd.ProcessState)
		return nil
	}
}

// end waits until the client has ended by itself, and makes sure that it asks nothing more of its model.
func (s *session) end() {
	s.t.Helper()
	select {
	case u := <-s.model.turns:
		s.t.Fatalf("the client asks its model once more, after %q", u.result)
	case <-s.ended:
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		s.t.Errorf("the client has ended with %v", s.cmd.ProcessState)
	}
}

// TestScriptedModelKnowsOurToolsInBothProtocols reads requests as the clients write them.
func TestScriptedModelKnowsOurToolsInBothProtocols(t *testing.T) {
	for _, c := range []struct {
		name, raw, result string
		read              func([]byte) (turn, int, error)
		offered           []string
		tools             int
	}{
		{
			"a first message", `{"stream":true,"tools":[{"name":"mcp__sallyport__trade_check"},{"name":"Bash"}],"messages":[{"content":"hello"}]}`,
			"", readMessages,
			[]string{"trade_check"},
			2,
		},
		{
			"a message with a result", `{"stream":true,"messages":[{"content":[{"type":"tool_result","content":[{"type":"text","text":"a"},{"text":"b"}]},{"type":"text","text":"c"}]}]}`,
			"ab", readMessages, nil, 0,
		},
		{
			"a first response", `{"stream":true,"tools":[{"type":"namespace","name":"mcp__sallyport","tools":[{"name":"trade_check"}]},{"type":"namespace","name":"other","tools":[{"name":"x"}]}],"input":[{"type":"message"}]}`,
			"", readResponses,
			[]string{"trade_check"},
			2,
		},
		{"a response with a result", `{"stream":true,"input":[{"type":"function_call_output","output":"ab"}]}`, "ab", readResponses, nil, 0},
	} {
		u, tools, err := c.read([]byte(c.raw))
		if err != nil || u.result != c.result || !slices.Equal(u.offered, c.offered) || tools != c.tools {
			t.Errorf("%s is read as %+v, %d tools: %v", c.name, u, tools, err)
		}
	}
	for _, raw := range []string{`{}`, `{"stream":false,"messages":[{"content":"a"}],"input":[{}]}`, `[`} {
		if _, _, err := readMessages([]byte(raw)); err == nil {
			t.Errorf("%s is read as a message", raw)
		}
		if _, _, err := readResponses([]byte(raw)); err == nil {
			t.Errorf("%s is read as a response", raw)
		}
	}
}
