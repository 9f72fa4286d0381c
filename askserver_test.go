package sallyport_test

import (
	"bufio"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// askServer starts a server of the Model Context Protocol over a data directory, with more of an environment, and makes
// one request of it, such as "method":"tools/list". It returns the answer, and the process, which goes on until end.
func askServer(t *testing.T, home, request string, env ...string) (answer string, pid int, end func() error) {
	t.Helper()
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, "mcp")
	cmd.Env = append(env, "SALLYPORT_HOME="+home, "HOME="+t.TempDir())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},`+
		`"clientInfo":{"name":"test","version":"1"}}}`+"\n"+`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+
		`{"jsonrpc":"2.0","id":2,%s}`+"\n", request)
	answers := bufio.NewScanner(out)
	answers.Buffer(nil, 1<<20)
	for answers.Scan() && !strings.Contains(answers.Text(), `"id":2`) {
	}
	return answers.Text(), cmd.Process.Pid, func() error { return errors.Join(in.Close(), cmd.Wait()) }
}
