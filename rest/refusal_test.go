package rest_test

import (
	"encoding/hex"
	"net/http"
	"testing"
)

// TestPeopleAreToldWhatIsNotThere: a name, a proposal or a stop that does not exist has a code of its own over HTTP.
func TestPeopleAreToldWhatIsNotThere(t *testing.T) {
	r := newRig(t)
	const never, digest = "01JDZZZZZZZZZZZZZZZZZZZZZZ", `{"digest":"0123456789abcdef"}`
	held := r.client("proposer", 1).Propose(ctx, order(t, "buy", "AAPL", "7", "150"))
	sum := held.Order.Digest()
	right := `{"digest":"` + hex.EncodeToString(sum[:]) + `"}`
	for _, c := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"DELETE", "/v1/agents/nosuch", "", http.StatusNotFound, "NAME_UNKNOWN"},
		{"DELETE", "/v1/people/nosuch", "", http.StatusNotFound, "NAME_UNKNOWN"},
		{"POST", "/v1/agents/nosuch/rotate", "{}", http.StatusNotFound, "NAME_UNKNOWN"},
		{"DELETE", "/v1/people/olga", "", http.StatusConflict, "OWNER_STAYS"},
		{"POST", "/v1/kill/reset", `{"scope":"symbol:aapl","reason":"x"}`, http.StatusConflict, "NOT_ENGAGED"},
		{"POST", "/v1/proposals/" + never + "/approve", digest, http.StatusNotFound, "PROPOSAL_UNKNOWN"},
		{"POST", "/v1/proposals/" + never + "/decline", digest, http.StatusNotFound, "PROPOSAL_UNKNOWN"},
		{"GET", "/v1/proposals/" + never, "", http.StatusNotFound, "PROPOSAL_UNKNOWN"},
		{"GET", "/v1/audit/" + never, "", http.StatusNotFound, "INTENT_UNKNOWN"},
		{"POST", "/v1/orders/" + never + "/cancel", "{}", http.StatusConflict, "ORDER_NOT_OPEN"},
	} {
		r.send(request{half: "people", method: c.method, path: c.path, token: r.owner, body: c.body}).want(t, c.status, c.code)
	}
	press := request{half: "people", method: "POST", path: "/v1/proposals/" + string(held.Intent) + "/approve", token: r.owner, body: right}
	if a := r.send(press); a.status != http.StatusOK {
		t.Fatalf("the approval is answered %d %s", a.status, a.body)
	}
	r.send(press).want(t, http.StatusConflict, "PROPOSAL_ENDED")
}
