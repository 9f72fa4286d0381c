package bench_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// roleVariable makes this test's own program play another part.
const roleVariable = "SALLYPORT_BENCH_ROLE"

// play runs a part and returns the exit code.
func play(role string) int {
	name, argument, _ := strings.Cut(role, " ")
	var err error
	switch name {
	case "crowd":
		err = playCrowd(argument)
	case "echo":
		err = playEcho(argument)
	default:
		err = fmt.Errorf("there is no part %q", name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// crowdDecisions is how many decisions each of the 16 callers of a process makes.
const crowdDecisions = 150

// playCrowd is one of several processes on one home: it waits for a line, decides, and prints its slowest decision.
func playCrowd(home string) error {
	d, err := openDecider(home)
	if err != nil {
		return err
	}
	defer d.g.Close()
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	_, single, err := d.decisions(16, 160, 16*crowdDecisions)
	if err != nil {
		return err
	}
	fmt.Println(percentile(single, 100).Microseconds())
	return nil
}

// TestRatioOfProcesses lets four processes with 16 callers each decide on one home. What counts is the longest wait.
func TestRatioOfProcesses(t *testing.T) {
	needMeasure(t)
	home := newHome(t, built(t, sallyport))
	fill(t, home, 100_000)
	var worst []time.Duration
	for range *rounds {
		worst = append(worst, crowdRound(t, home))
	}
	fmt.Printf("the longest wait of each round: %v\n", worst)
	atMost(t, "the longest wait in ms, 4 processes of 16 callers", median(worst).Seconds()*1000, 100)
}

func crowdRound(t *testing.T, home string) (worst time.Duration) {
	t.Helper()
	type member struct {
		cmd   *exec.Cmd
		in    interface{ Close() error }
		out   *bufio.Reader
		begin func() error
	}
	var crowd []member
	for range 4 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), roleVariable+"=crowd "+home)
		cmd.Stderr = os.Stderr
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
		crowd = append(crowd, member{cmd, in, bufio.NewReader(out), func() error { _, err := in.Write([]byte("\n")); return err }})
	}
	for _, m := range crowd {
		if line, err := m.out.ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("a process said %q, %v", line, err)
		}
	}
	for _, m := range crowd {
		if err := m.begin(); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range crowd {
		line, err := m.out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		us, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		worst = max(worst, time.Duration(us)*time.Microsecond)
		m.in.Close()
		if err := m.cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	return worst
}
