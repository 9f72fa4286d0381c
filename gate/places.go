package gate

import (
	"fmt"

	"sallyport/ledger"
	"sallyport/policy"
)

// How many intents may be open.
const (
	//limit:gate-open At most 10,000 intents may be open at a time, permitted, in flight, unknown or working; one more buy is UNSETTLED_EXCEEDS_LIMIT.
	maxOpen = 10_000
	//limit:gate-open-agent At most 5,000 of them may be one agent's, so that no agent takes the places of all; one more buy of it is UNSETTLED_EXCEEDS_LIMIT.
	maxOpenAgent = maxOpen / 2
)

// placeReasons say that too many intents are open. An agent's own are counted only where there are enough for it.
func (j *judgement) placeReasons(st *ledger.State) []policy.Reason {
	n := st.OpenCount()
	if n >= maxOpen {
		return []policy.Reason{{
			Code: policy.UnsettledExceedsLimit, Limit: fmt.Sprint(maxOpen), Observed: fmt.Sprint(n),
			Message: fmt.Sprintf("%d intents have no end yet, at most %d may; settle or cancel some", n, maxOpen),
		}}
	}
	if n < maxOpenAgent {
		return nil
	}
	if n = st.OpenCountOf(j.call.Origin.Agent); n < maxOpenAgent {
		return nil
	}
	return []policy.Reason{{
		Code: policy.UnsettledExceedsLimit, Field: "agent", Limit: fmt.Sprint(maxOpenAgent), Observed: fmt.Sprint(n),
		Message: fmt.Sprintf("%d intents of this agent have no end yet, at most %d may; settle or cancel some", n, maxOpenAgent),
	}}
}
