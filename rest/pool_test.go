package rest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"sallyport/gatetest"
)

// TestKeptConnectionThatHasEndedIsNotUsed: a daemon that was started again costs its clients no call.
func TestKeptConnectionThatHasEndedIsNotUsed(t *testing.T) {
	var calls, made atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		_, _ = io.WriteString(w, `{"agent":"x","tier":0}`)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			made.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	c, err := Dial(ClientConfig{Address: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	call := func(wantCalls, wantMade int32) {
		t.Helper()
		if _, _, err := c.Whoami(t.Context()); err != nil || calls.Load() != wantCalls || made.Load() != wantMade {
			t.Errorf("%d calls on %d connections, %v; want %d on %d", calls.Load(), made.Load(), err, wantCalls, wantMade)
		}
	}
	call(1, 1)
	call(2, 1)
	s.CloseClientConnections()
	call(3, 2)
	c.pool.idle[0].since = time.Now().Add(-time.Minute)
	call(4, 3)
	c.pool.idle[0].SetDeadline(time.Unix(1, 0)) // as one whose call was over time
	call(5, 4)
}

// TestAnswerThatNobodyHasAskedForIsNotTaken: what comes on an idle connection belongs to no call.
func TestAnswerThatNobodyHasAskedForIsNotTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	made := make(chan net.Conn, 4)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			made <- c
			go func() {
				buf := make([]byte, 4096)
				if _, err := c.Read(buf); err == nil {
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{\"agent\":\"x\",\"tier\":0}")
				}
			}()
		}
	}()
	c, err := Dial(ClientConfig{Address: "http://" + l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, _, err := c.Whoami(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := <-made
	if _, err := io.WriteString(first, "HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{\"agent\":\"y\",\"tier\":2}"); err != nil {
		t.Fatal(err)
	}
	gatetest.Until(t, "what has come is not seen", func() bool { return !quiet(c.pool.idle[0].Conn) })
	if agent, tier, err := c.Whoami(t.Context()); err != nil || agent != "x" || tier != 0 {
		t.Errorf("the answer is %s, %s, %v", agent, tier, err)
	}
	first.Close()
	(<-made).Close()
}
