package telegram

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"
)

const testToken = "123456789:AAtesttesttesttesttesttesttesttest1"

// double is a server that speaks as much of the Bot API as the bot uses, and misbehaves on demand.
type double struct {
	t   *testing.T
	srv *httptest.Server
	now func() time.Time

	mu       sync.Mutex
	updates  []map[string]any
	last     int  // id of the newest update
	replays  bool // updates that were confirmed are sent again, once
	messages map[place]*shown
	order    []place
	answers  map[string]string
	calls    map[string]int
	queries  int
	wake     chan struct{}
	trouble  func(method string, n int, chat int64) *trouble
	hung     chan struct{} // closed to let hanging calls go
}

// shown is a message as people see it.
type shown struct {
	place
	text  string
	first string
	keys  map[string]string // data by label
	edits int
}

// trouble is an answer that is none.
type trouble struct {
	status int
	body   string
	hang   bool
	cut    bool // the connection breaks after the call was carried out
}

func newDouble(t *testing.T, now func() time.Time) *double {
	d := &double{
		t: t, now: now, messages: map[place]*shown{}, answers: map[string]string{}, calls: map[string]int{}, wake: make(chan struct{}),
		hung: make(chan struct{}),
	}
	d.srv = httptest.NewServer(http.HandlerFunc(d.serve))
	t.Cleanup(func() {
		close(d.hung)
		d.srv.Close()
	})
	return d
}

func (d *double) serve(w http.ResponseWriter, r *http.Request) {
	method, ok := strings.CutPrefix(r.URL.Path, "/bot"+testToken+"/")
	if !ok {
		http.Error(w, `{"ok":false,"error_code":401,"description":"Unauthorized"}`, http.StatusUnauthorized)
		return
	}
	_ = r.ParseMultipartForm(1 << 20) // a call without parameters has no parts
	chat, _ := strconv.ParseInt(r.FormValue("chat_id"), 10, 64)
	d.mu.Lock()
	d.calls[method]++
	n, trouble := d.calls[method], d.trouble
	d.mu.Unlock()
	if trouble != nil {
		if x := trouble(method, n, chat); x != nil {
			switch {
			case x.hang:
				select {
				case <-d.hung:
				case <-r.Context().Done():
				}
			case x.cut:
				d.call(method, r, chat)
				panic(http.ErrAbortHandler)
			default:
				w.WriteHeader(x.status)
				fmt.Fprint(w, x.body)
			}
			return
		}
	}
	result, code, why := d.call(method, r, chat)
	if code != 0 {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": false, "error_code": code, "description": why})
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result})
}

func (d *double) call(method string, r *http.Request, chat int64) (result any, code int, why string) {
	switch method {
	case "getMe":
		return map[string]any{"id": 123456789, "is_bot": true, "first_name": "Sally", "username": "SallyBot"}, 0, ""
	case "getUpdates":
		return d.poll(r), 0, ""
	case "sendMessage", "editMessageText":
		return d.write(method, r, chat)
	case "answerCallbackQuery":
		d.mu.Lock()
		defer d.mu.Unlock()
		id, text := r.FormValue("callback_query_id"), r.FormValue("text")
		if _, twice := d.answers[id]; twice {
			return nil, 400, "Bad Request: query is too old"
		}
		if len([]rune(text)) > 200 {
			d.t.Errorf("an answer has %d characters", len([]rune(text)))
		}
		d.answers[id] = text
		return true, 0, ""
	}
	return nil, 404, "Not Found"
}

func (d *double) write(method string, r *http.Request, chat int64) (any, int, string) {
	text := strings.TrimSpace(r.FormValue("text"))
	var markup models.InlineKeyboardMarkup
	if raw := r.FormValue("reply_markup"); raw != "" {
		if err := json.Unmarshal([]byte(raw), &markup); err != nil {
			d.t.Errorf("the markup is %s", raw)
		}
	}
	switch {
	case r.FormValue("parse_mode") != "" || r.FormValue("entities") != "":
		d.t.Error("a message has markup")
	case units(text) > 4096:
		return nil, 400, "Bad Request: message is too long"
	case text == "":
		return nil, 400, "Bad Request: message text is empty"
	}
	keys := map[string]string{}
	for _, row := range markup.InlineKeyboard {
		for _, k := range row {
			keys[strings.Fields(k.Text)[0]] = k.CallbackData
			if n := len(k.CallbackData); n == 0 || n > 64 {
				d.t.Errorf("the data of %s has %d bytes", k.Text, n)
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var m *shown
	if method == "sendMessage" {
		m = &shown{place: place{chat, 100 + len(d.order)}, first: text}
		d.messages[m.place], d.order = m, append(d.order, m.place)
	} else {
		id, _ := strconv.Atoi(r.FormValue("message_id"))
		if m = d.messages[place{chat, id}]; m == nil {
			return nil, 400, "Bad Request: message to edit not found"
		}
		if m.text == text && maps.Equal(m.keys, keys) {
			return nil, 400, "Bad Request: message is not modified"
		}
		m.edits++
	}
	m.text, m.keys = text, keys
	return map[string]any{"message_id": m.message, "date": d.now().Unix(), "chat": map[string]any{"id": chat, "type": "group"}, "text": text}, 0, ""
}

// poll is long: it waits for an update from the offset on.
func (d *double) poll(r *http.Request) []map[string]any {
	offset, _ := strconv.Atoi(r.FormValue("offset"))
	seconds, _ := strconv.Atoi(r.FormValue("timeout"))
	end := time.After(time.Duration(seconds) * time.Second)
	for {
		d.mu.Lock()
		news := []map[string]any{}
		for _, u := range d.updates {
			if u["update_id"].(int) >= offset || d.replays {
				news = append(news, u)
			}
		}
		d.replays = false
		wake := d.wake
		d.mu.Unlock()
		if len(news) > 0 {
			return news
		}
		select {
		case <-wake:
		case <-end:
			return news
		case <-d.hung:
			return news
		case <-r.Context().Done():
			return news
		}
	}
}

// push gives the bot updates in one answer, in that order; those without a number get the next one.
func (d *double) push(updates ...map[string]any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, u := range updates {
		if _, numbered := u["update_id"]; !numbered {
			d.last++
			u["update_id"] = d.last
		}
	}
	d.updates = append(d.updates, updates...)
	d.signal()
}

func (d *double) signal() {
	close(d.wake)
	d.wake = make(chan struct{})
}

// replay sends every update again that was ever sent.
func (d *double) replay() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.replays = true
	d.signal()
}

// press is a press of a user on a button under a message as it is shown.
func (d *double) press(user int64, at place, data string, edit ...func(query map[string]any)) (id string, update map[string]any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queries++
	id = fmt.Sprintf("query-%d", d.queries)
	text := ""
	if m := d.messages[at]; m != nil {
		text = m.text
	}
	q := map[string]any{
		"id": id, "from": map[string]any{"id": user, "is_bot": false, "first_name": "x"}, "chat_instance": "1", "data": data,
		"message": map[string]any{
			"message_id": at.message, "date": d.now().Unix(), "chat": map[string]any{"id": at.chat, "type": "group"}, "text": text,
		},
	}
	for _, f := range edit {
		f(q)
	}
	return id, map[string]any{"callback_query": q}
}

// written is a message of a user.
func (d *double) written(user, chat int64, text string, edit ...func(message map[string]any)) map[string]any {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queries++
	m := map[string]any{
		"message_id": 100_000 + d.queries, "date": d.now().Unix(), "chat": map[string]any{"id": chat, "type": "group"},
		"from": map[string]any{"id": user, "is_bot": false, "first_name": "x"}, "text": text,
	}
	for _, f := range edit {
		f(m)
	}
	return map[string]any{"message": m}
}

// find returns the newest message that the test wants, as it is now.
func (d *double) find(want func(shown) bool) (shown, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, at := range slices.Backward(d.order) {
		m := *d.messages[at]
		m.keys = maps.Clone(m.keys)
		if want(m) {
			return m, true
		}
	}
	return shown{}, false
}

func (d *double) count(method string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[method]
}

func (d *double) sent(chat int64) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, at := range d.order {
		if at.chat == chat {
			n++
		}
	}
	return n
}

func (d *double) answered(id string) (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text, ok := d.answers[id]
	return text, ok
}

func (d *double) troubled(f func(method string, n int, chat int64) *trouble) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trouble = f
}
