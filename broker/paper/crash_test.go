package paper

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sallyport/gate"
	"sallyport/gatetest"
	"sallyport/market"
	"sallyport/trade"
)

// crashDir is set in the processes that these tests start: the directory of the venue that they trade on.
const crashDir = "PAPER_TEST_DIR"

// crashOrder is the order number i of the process that is killed, some of which fill, rest or are rejected.
func crashOrder(t testing.TB, i int) gate.Cleared {
	side := "buy"
	if i%3 == 2 {
		side = "sell"
	}
	limit := []string{"150", "140", "149.90", "151"}[i%4]
	o := gatetest.Order(t, side, "AAPL", fmt.Sprint(1+i%5), limit)
	if n := i / 2 % len(crashWider); i%2 == 1 {
		o = gatetest.Line(t, fmt.Sprintf(crashWider[n], 1+i%5))
	}
	return gate.Cleared{Order: o, ID: trade.BrokerOrderID(fmt.Sprintf("sp-%d", i)), NotAfter: time.Now().Add(time.Hour)}
}

// crashWider are wider orders of that process. At the quotes that it has the exits of the first and the second leave at
// the next matching, those of the third stay.
var crashWider = []string{
	"buy %d AAPL market sl=149.90 tp=160", "buy %d AAPL stop 149 tp=149.50 sl=100", "buy %d AAPL market sl=100 tp=200",
	"buy $%d00 AAPL market", "sell %d AAPL stop 149.90", "buy %d AAPL at 149 ioc", "buy %d AAPL stop 150 limit 151 gtc",
	"buy %d AAPL at 1 gtc sl=0.50",
}

// TestTradeUntilKilled is the program of the processes below; run by itself it does nothing. It prints each answer once
// it has it.
func TestTradeUntilKilled(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("it is a program for the other tests")
	}
	b, err := Open(context.Background(), Config{Path: filepath.Join(dir, "paper.db"), Quotes: &market.File{Path: filepath.Join(dir, "quotes.jsonl")}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 400 {
		r, err := b.submit(context.Background(), crashOrder(t, i))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range r.Events {
			fmt.Printf("told %d %s\n", e.Number, e.ID)
		}
		fmt.Printf("answer %d %s\n", i, line(r))
	}
	fmt.Println("answer done")
}

// trader is such a process.
type trader struct {
	cmd  *exec.Cmd
	out  *bufio.Scanner
	told []string // what its receipts told of events: number and id
	says []string // whatever else it printed
}

func startTrader(t *testing.T, dir string) *trader {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestTradeUntilKilled$", "-test.v")
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // an error says that it has ended
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait() // its error is that we killed it
	})
	return &trader{cmd: cmd, out: bufio.NewScanner(out)}
}

// next returns the next answer; false at the end.
func (tr *trader) next() (string, bool) {
	for tr.out.Scan() {
		if told, ok := strings.CutPrefix(tr.out.Text(), "told "); ok {
			tr.told = append(tr.told, told)
		}
		if answer, ok := strings.CutPrefix(tr.out.Text(), "answer "); ok {
			return answer, answer != "done"
		}
		tr.says = append(tr.says, tr.out.Text())
	}
	return "", false
}

func TestKilledProcessLeavesWholeOrders(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "quotes.jsonl"), market.Sample(), 0o600); err != nil {
		t.Fatal(err)
	}
	known := map[string]string{} // the first answer by number, over all processes
	var told []string
	for round, n := range []int{1, 2, 3, 5, 8, 13} {
		tr := startTrader(t, dir)
		for range n + 10*round { // earlier orders are answered from the ledger
			answer, ok := tr.next()
			if !ok {
				t.Fatal("the process ended by itself")
			}
			check(t, known, answer)
		}
		if err := tr.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for answer, ok := tr.next(); ok; answer, ok = tr.next() { // what it had printed before it died counts
			check(t, known, answer)
		}
		b, err := Open(context.Background(), Config{Path: filepath.Join(dir, "paper.db")})
		if err != nil {
			t.Fatalf("after kill %d: %v", round, err)
		}
		audit(t, b)
		told = append(told, tr.told...)
		wantTold(t, b, told)
		for number, first := range known {
			r, err := b.Lookup(context.Background(), trade.BrokerOrderID("sp-"+number), time.Now().Add(time.Hour))
			if err != nil || line(r) != first {
				t.Fatalf("after kill %d, order %s is %q, %v; the process had %q", round, number, line(r), err, first)
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(known) < 50 {
		t.Fatalf("only %d answers were seen", len(known))
	}
}

// wantTold checks that every event of which a receipt told is there under the number that it was told with, and that no
// two receipts told of the same one.
func wantTold(t *testing.T, b *Broker, told []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, one := range told {
		number, id, _ := strings.Cut(one, " ")
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil || n == 0 || seen[number] {
			t.Fatalf("told of %q, %v, seen before: %v", one, err, seen[number])
		}
		seen[number] = true
		page, err := b.Events(context.Background(), n-1)
		if err != nil || len(page) == 0 || page[0].Number != n || string(page[0].ID) != id {
			t.Fatalf("told of %q, and the venue has %+v, %v", one, page, err)
		}
	}
}

func check(t *testing.T, known map[string]string, answer string) {
	t.Helper()
	number, receipt, _ := strings.Cut(answer, " ")
	if was, ok := known[number]; ok && was != receipt {
		t.Fatalf("order %s was answered %q, now %q", number, was, receipt)
	}
	known[number] = receipt
}

func TestProcessesThatSendTheSameIDsGetTheSameAnswers(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "quotes.jsonl"), market.Sample(), 0o600); err != nil {
		t.Fatal(err)
	}
	traders := []*trader{startTrader(t, dir), startTrader(t, dir), startTrader(t, dir)}
	known := map[string]string{}
	for i := range 60 {
		for _, tr := range traders {
			answer, ok := tr.next()
			if !ok {
				t.Fatalf("a process ended after %d answers", i)
			}
			check(t, known, answer)
		}
	}
	b, err := Open(context.Background(), Config{Path: filepath.Join(dir, "paper.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if len(known) != 60 {
		t.Errorf("%d numbers were answered", len(known))
	}
	for _, tr := range traders {
		for _, ok := tr.next(); ok; _, ok = tr.next() {
		}
	}
	audit(t, b)
	told := slices.Concat(traders[0].told, traders[1].told, traders[2].told)
	wantTold(t, b, told)
	if last, err := b.Events(context.Background(), uint64(len(told))); err != nil || len(last) != 0 || len(told) == 0 {
		t.Errorf("receipts told of %d events, and %+v happened beside, %v\n%q %q %q", len(told), last, err, traders[0].says, traders[1].says, traders[2].says)
	}
}
