package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	api "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"sallyport/trade"
)

// client carries the library's calls. It bounds what they take, waits when Telegram asks for it, keeps one update that
// cannot be read from holding up all others, and knows when Telegram last answered.
type client struct {
	http       *http.Client
	token      string
	poll, wait time.Duration
	cfg        Config

	mu       sync.Mutex
	pauses   map[lane]time.Time // not before
	conflict bool               // somebody else polls, so that presses may not arrive here
	health   Health
}

// lane is what Telegram counts calls by: polls, answers, and what goes to one chat.
type lane struct {
	method string // empty for what goes to a chat
	chat   int64
}

const (
	pollMethod   = "getUpdates"
	answerMethod = "answerCallbackQuery"
)

// laneKey is where a call's context says its lane.
type laneKey struct{}

func inLane(ctx context.Context, l lane) context.Context { return context.WithValue(ctx, laneKey{}, l) }

func laneOf(ctx context.Context) lane {
	l, _ := ctx.Value(laneKey{}).(lane)
	return l
}

// maxAnswer bounds what one call reads.
//
//limit:telegram-answer An answer of Telegram of more than 4 MiB is not read.
const maxAnswer = 4 << 20

// errAnswerOdd says that a message was sent and Telegram did not say as which.
var errAnswerOdd = errors.New("the answer names no message")

var errAnswerTooLong = errors.New("the answer is longer than any of Telegram's")

// errInterrupted stands in for a cancellation that is not ours: the library would end its polling for good.
var errInterrupted = errors.New("the connection was interrupted")

func newClient(cfg Config) *client {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = t.Clone()
	}
	return &client{
		token: string(cfg.Token), poll: cfg.Poll, wait: cfg.Wait, cfg: cfg, pauses: map[lane]time.Time{},
		http: &http.Client{
			Transport: transport,
			//limit:telegram-redirects No redirection of Telegram is followed: the token is part of every address.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// Do implements the library's HttpClient.
func (c *client) Do(req *http.Request) (*http.Response, error) {
	polling := path.Base(req.URL.Path) == pollMethod
	if err := c.patient(req.Context(), polling); err != nil {
		return nil, err
	}
	within := c.wait
	if polling {
		within += c.poll
	}
	ctx, cancel := context.WithTimeout(req.Context(), within)
	defer cancel()
	resp, err := c.http.Do(req.WithContext(ctx))
	if err != nil {
		return nil, c.own(req.Context(), err)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	err = errors.Join(err, resp.Body.Close())
	switch {
	case err != nil:
		return nil, c.own(req.Context(), err)
	case len(body) > maxAnswer:
		return nil, errAnswerTooLong
	}
	var head struct {
		OK bool `json:"ok"`
	}
	if resp.StatusCode == http.StatusOK && json.Unmarshal(body, &head) == nil && head.OK {
		c.worked(polling)
		if polling {
			body = readable(body)
		}
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

func (c *client) own(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		return errInterrupted
	}
	return err
}

// readable returns an answer to getUpdates in which every update that the library cannot read is empty but for its
// number, so that it is confirmed and left behind.
func readable(body []byte) []byte {
	var answer struct {
		OK     bool              `json:"ok"`
		Result []json.RawMessage `json:"result"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return body
	}
	for i, raw := range answer.Result {
		var u models.Update
		if json.Unmarshal(raw, &u) == nil {
			continue
		}
		var number struct {
			ID int64 `json:"update_id"`
		}
		_ = json.Unmarshal(raw, &number) // without a number it confirms nothing
		answer.Result[i] = fmt.Appendf(nil, `{"update_id":%d}`, number.ID)
	}
	clean, err := json.Marshal(answer)
	if err != nil {
		return body
	}
	return clean
}

// patient waits with a poll until Telegram wants to be asked again; any other call fails at once, and is made again later.
func (c *client) patient(ctx context.Context, polling bool) error {
	l := laneOf(ctx)
	if polling {
		l = lane{method: pollMethod}
	}
	c.mu.Lock()
	left := time.Until(c.pauses[l])
	c.mu.Unlock()
	switch {
	case left <= 0:
		return nil
	case !polling:
		return &api.TooManyRequestsError{Message: "Telegram has asked for a pause", RetryAfter: int(left/time.Second) + 1}
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// maxPauseSeconds bounds what Telegram can ask for.
//
//limit:telegram-retry-after A pause that Telegram asks for is kept: at least a second, at most an hour.
const maxPauseSeconds = 3600

// pauseUnit is the unit of what Telegram asks for.
const pauseUnit = time.Second

// failure is what became of a call that did not work. It never holds the token.
type failure struct {
	text      string
	after     time.Duration // Telegram asked for that pause
	rejected  bool          // the call itself was wrong, and the same call will not work
	forbidden bool          // not in this chat
	conflict  bool          // somebody else polls with the same token
}

// Error implements error.
func (f *failure) Error() string { return f.text }

// judge turns an error of the library into one of ours, and takes in the pause that Telegram asks for.
func (c *client) judge(err error, l lane) *failure {
	f := &failure{
		text: c.scrub(err).Error(), forbidden: errors.Is(err, api.ErrorForbidden),
		rejected: errors.Is(err, api.ErrorBadRequest), conflict: errors.Is(err, api.ErrorConflict),
	}
	var busy *api.TooManyRequestsError
	var moved *api.MigrateError
	switch {
	case errors.As(err, &busy):
		f.after = time.Duration(min(max(busy.RetryAfter, 1), maxPauseSeconds)) * pauseUnit
		c.mu.Lock()
		if until := time.Now().Add(f.after); until.After(c.pauses[l]) {
			c.pauses[l] = until
		}
		c.mu.Unlock()
	case errors.As(err, &moved):
		f.forbidden = true
		f.text += fmt.Sprintf("; the group is a supergroup now, and its id is %d: list that one", moved.MigrateToChatID)
	}
	return f
}

// scrub returns the text of an error without the token.
//
//limit:telegram-token-hidden No error, log line or health text holds the bot's token or its secret part.
func (c *client) scrub(err error) error {
	text := strings.ReplaceAll(err.Error(), c.token, "***")
	if _, secret, ok := strings.Cut(c.token, ":"); ok {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return errors.New(trade.Printable(text, 300))
}

// pollFailed is the library's handler of errors.
func (c *client) pollFailed(err error) {
	if !errors.Is(err, context.Canceled) {
		c.failed(c.judge(err, lane{method: pollMethod}))
	}
}

func (c *client) failed(f *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health.LastError, c.health.LastErrorAt = f.text, c.cfg.Now().UTC()
	if f.rejected || f.forbidden {
		return // Telegram is there, and says no to this call
	}
	c.conflict = c.conflict || f.conflict
	if !c.health.Down {
		c.health.Down = true
		c.cfg.Log.Error("Telegram cannot be reached; holds stay held, and sallyport approve still works", "error", f.text)
	}
}

// worked notes an answer as it should be. While somebody else polls, only a poll shows that all is well again.
func (c *client) worked(polling bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health.LastOK = c.cfg.Now().UTC()
	c.conflict = c.conflict && !polling
	if c.health.Down && !c.conflict {
		c.health.Down = false
		c.cfg.Log.Info("Telegram can be reached again")
	}
}

func (c *client) healthNow() Health {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.health
}

func (c *client) undelivered(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health.Undelivered = n
}
