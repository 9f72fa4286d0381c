package gate

import (
	"time"

	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
)

// Origin says who calls and through what: see ledger.Origin.
type Origin = ledger.Origin

// Call is one guarded order call: an order, or an input that is none.
type Call struct {
	Origin  Origin
	Tier    trade.Tier // of the caller, as its connection or process has it
	Dialect string     // that read the arguments, for a gate in another process to read them again
	Account trade.Account
	Order   trade.Order // zero if there are faults
	Tags    trade.Tags
	Faults  []trade.Fault
	Raw     []byte // the arguments as received; of a faulty input the journal keeps length, SHA-256 and the first 1 KiB
	// Asked marks a harness's permission request (Codex), which follows the pre-call event of the same call and
	// carries no id of its own.
	Asked bool
}

// Report is what a permitting surface learned after somebody else made the call.
type Report struct {
	Origin  Origin
	Tier    trade.Tier // of who reports
	Dialect string     // as in Call
	Account trade.Account
	Order   trade.Order // of the arguments as they were executed; zero if they are no order
	Faults  []trade.Fault
	Raw     []byte
	Outcome trade.Outcome // as the dialect recognised it; Unknown settles nothing
	Status  string        // the venue's word
	Message string
}

// Resolution is a person's settlement of an unknown outcome.
type Resolution struct {
	Intent  trade.IntentID
	Outcome trade.Outcome // Accepted or Rejected
	By      string
	Reason  string
}

// PolicyView is the policy in force as read just now.
type PolicyView struct {
	Raw    []byte // the file's bytes; nil if unreadable
	SHA256 string // of Raw
	Policy *policy.Policy
	Book   *policy.Rulebook // of version 2, in the place of Policy
	Reason *policy.Reason   // why nothing is allowed; nil if the policy is valid

	Problems []policy.Problem // all that is wrong with a file that is not a policy

	zone *time.Location // of Book
}

// WorkingOrder is an order of ours that the ledger holds open.
type WorkingOrder struct {
	Intent   trade.IntentID
	ID       trade.BrokerOrderID
	Order    trade.Order
	Agent    trade.Agent
	State    string        // permitted, in flight, unknown, working
	Filled   trade.Decimal // shares
	At       time.Time
	Deadline time.Time // when a missing outcome becomes unknown
}

// Position is what the ledger knows of one symbol in one account.
type Position struct {
	Account      trade.Account
	Symbol       trade.Symbol
	Quantity     trade.Decimal
	PendingBuys  trade.Decimal
	PendingSells trade.Decimal
}
