package rest

import (
	"context"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"sallyport/gate"
	"sallyport/policy"
	"sallyport/trade"
)

// api is one half: its own table of paths, its own way to know who calls, its own limits.
type api struct {
	cfg      Config
	half     string // agents or people
	routes   []route
	admit    func(*api, *request) *problem
	document func() []byte
	limits   *limits
	ready    readiness
	logged   atomic.Int64 // when it was last logged that a caller was not let in, in nanoseconds
}

func newAPI(cfg Config, half string, routes []route, admit func(*api, *request) *problem, document func() []byte) *api {
	cfg = cfg.complete()
	for i := range routes {
		routes[i].segments = strings.Split(routes[i].path, "/")
	}
	return &api{cfg: cfg, half: half, routes: routes, admit: admit, document: document, limits: newLimits(cfg)}
}

// request is one call on its way.
type request struct {
	api   *api
	http  *http.Request
	door  door
	agent trade.Agent // of an agent's call, from its token or socket
	tier  trade.Tier
	human gate.Person // of a person's call

	route route
	param string     // what the path names
	query url.Values // known names only, each once
}

// answer is what is sent back: always whole, never streamed.
type answer struct {
	status int
	kind   string // content type; empty: application/json
	body   []byte
	retry  time.Duration
	allow  string
	close  bool
}

func ok(body []byte) answer { return answer{status: http.StatusOK, body: body} }

//limit:rest-call-deadline A call ends after 2 minutes at the latest; a caller that hangs up does not end one that changes something.
const callDeadline = 2 * time.Minute

// detached is the context of what must not stop halfway because its caller hangs up.
func (q *request) detached() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(q.http.Context()), callDeadline)
}

// attached is the context of what only reads.
func (q *request) attached() (context.Context, context.CancelFunc) {
	return context.WithTimeout(q.http.Context(), callDeadline)
}

// ServeHTTP answers one request. A panic is answered and logged, and ends nothing else.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answered := a.cfg.Metrics.began(a.half)
	q := &request{api: a, http: r, door: doorOf(r.Context())}
	ans := a.guarded(q)
	defer q.door.conn.leave()
	answered(ans.status)
	if ans.close && r.ContentLength != 0 {
		rc := http.NewResponseController(w)
		_, _ = rc.EnableFullDuplex(), rc.SetReadDeadline(time.Now()) // the body is left unread: neither the answer nor the end waits for it
	}
	ans.write(w)
}

//limit:rest-panic A panic in a call is answered with 500, INTERNAL_ERROR, and ends no other call and not the process.
func (a *api) guarded(q *request) (ans answer) {
	defer func() {
		if p := recover(); p != nil {
			a.cfg.Log.Error("a call panicked", "path", q.route.path, "panic", p, "stack", string(debug.Stack()))
			ans = (&problem{code: policy.InternalError, detail: "a defect of Sallyport's own; whether anything was done is not known"}).answer()
		}
	}()
	return a.handle(q)
}

// handle knows the caller first, then holds it to its limits, and only then reads what it wants. A stop, a cancel and a
// withdrawal pass whatever else the caller has done: they only ever end something.
//
//limit:rest-auth-first No query and no body is read, and no path is told from another beyond those that are open to all, before the caller is known; no body, before it is within its rate.
//limit:rest-never-throttled A stop, a cancel and a withdrawal are never refused for a caller's rate or its calls in flight.
func (a *api) handle(q *request) answer {
	if p := a.host(q); p != nil {
		return p.answer()
	}
	if ans, open := a.open(q); open {
		return ans
	}
	if p := a.admit(a, q); p != nil {
		p.close = true
		if statusOf(p.code) == http.StatusUnauthorized {
			a.notLetIn(q, p)
		}
		return p.answer()
	}
	lost := a.find(q)
	if !q.door.conn.enter(lost == nil && q.route.ends) {
		return (&problem{code: CallsExceedLimit, detail: "too many calls are unanswered", retry: retrySoon}).answer()
	}
	if lost != nil || !q.route.ends {
		name := q.caller()
		if p := a.limits.enter(name); p != nil {
			return p.answer()
		}
		defer a.limits.leave(name)
	}
	if lost != nil {
		return lost.answer()
	}
	return q.route.run(q)
}

//limit:rest-refused-log That a caller was not let in is logged at most once a second; the counter counts all.
const refusedLogEvery = time.Second

func (a *api) notLetIn(q *request, p *problem) {
	a.cfg.Metrics.refused(a.half)
	now := a.cfg.Now().UnixNano()
	if last := a.logged.Load(); (now-last >= int64(refusedLogEvery) || now < last) && a.logged.CompareAndSwap(last, now) {
		a.cfg.Log.Warn("a caller was not let in", "half", a.half, "code", string(p.code), "from", q.from())
	}
}

// from says where a caller that nobody knows connects from; the other side of a socket has no address.
func (q *request) from() string {
	if at := q.http.RemoteAddr; at != "" && at != "@" {
		return at
	}
	return "socket"
}

func (q *request) caller() string {
	if q.agent != "" {
		return string(q.agent)
	}
	return q.human.Name()
}

func (ans answer) write(w http.ResponseWriter) {
	h := w.Header()
	kind := ans.kind
	if kind == "" {
		kind = "application/json"
	}
	if len(ans.body) > 0 {
		h.Set("Content-Type", kind)
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if ans.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if ans.allow != "" {
		h.Set("Allow", ans.allow)
	}
	if ans.retry > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((ans.retry+aSecond-1)/aSecond), 10))
	}
	if ans.close {
		h.Set("Connection", "close")
	}
	if ans.status != http.StatusNoContent {
		h.Set("Content-Length", strconv.Itoa(len(ans.body)))
	}
	w.WriteHeader(ans.status)
	_, _ = w.Write(ans.body) // a caller that does not read its answer can look it up
}

// route is one row of a table of paths.
type route struct {
	method string
	path   string   // of literal segments and at most one {name}
	query  []string // the names that the query may have
	tier   trade.Tier
	about  string // for the document
	takes  string // the schema of the body; empty: none
	gives  string // the schema of the answer
	status int    // of success, for the document; 0 is 200
	ends   bool   // it only ever ends something, so no rate holds it up

	segments []string // of the path
	run      func(*request) answer
}

// match reports whether the path is this row's, and what it names.
func (r route) match(segments []string) (param string, found bool) {
	if len(r.segments) != len(segments) {
		return "", false
	}
	for i, s := range r.segments {
		if strings.HasPrefix(s, "{") {
			text, err := url.PathUnescape(segments[i])
			if err != nil || text == "" {
				return "", false
			}
			param = text
		} else if s != segments[i] {
			return "", false
		}
	}
	return param, true
}

// find finds the row of the request, and refuses what no row takes.
func (a *api) find(q *request) *problem {
	segments := strings.Split(q.http.URL.EscapedPath(), "/")
	var allow []string
	found := false
	for _, r := range a.routes {
		param, hit := r.match(segments)
		if !hit {
			continue
		}
		if allow = append(allow, r.method); r.method == q.http.Method {
			q.route, q.param, found = r, param, true
		}
	}
	switch {
	case len(allow) == 0:
		return &problem{code: PathUnknown, detail: "there is no such path here; see /v1/openapi.json"}
	case !found:
		return &problem{code: MethodNotAllowed, detail: "this path has another method", allow: strings.Join(allow, ", ")}
	}
	if p := q.readQuery(); p != nil {
		return p
	}
	return q.checkKind()
}

// readQuery takes the query if all of it is known.
//
//limit:rest-query A query has only the names that its path documents, each once.
func (q *request) readQuery() *problem {
	values, err := url.ParseQuery(q.http.URL.RawQuery)
	if err != nil {
		return &problem{code: QueryMalformed, detail: "the query cannot be read"}
	}
	for name, all := range values {
		known := false
		for _, n := range q.route.query {
			known = known || n == name
		}
		if !known || len(all) != 1 {
			return &problem{code: QueryMalformed, detail: "the query has " + trade.Printable(name, 64) + ", which is unknown here, or there more than once"}
		}
	}
	q.query = values
	return nil
}

// checkKind makes sure that a body is declared as what it must be.
//
//limit:rest-content-type A body is plain application/json; any other type or encoding is answered 415 unread.
func (q *request) checkKind() *problem {
	h := q.http.Header
	kind, params, _ := strings.Cut(h.Get("Content-Type"), ";")
	charset := strings.ToLower(strings.ReplaceAll(params, " ", ""))
	empty := q.http.ContentLength == 0
	switch {
	case len(h.Values("Content-Encoding")) > 0, len(h.Values("Content-Type")) > 1:
	case empty && q.route.takes == "":
		return nil
	case strings.TrimSpace(strings.ToLower(kind)) == "application/json" && (charset == "" || charset == "charset=utf-8"):
		return nil
	}
	return &problem{code: ContentTypeWrong, detail: "the body must be plain application/json"}
}
