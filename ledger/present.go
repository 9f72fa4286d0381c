package ledger

import (
	"slices"
	"time"

	"sallyport/policy"
	"sallyport/trade"
)

// Decision returns the decision object of a first judgement, before anything followed it.
func (e Decided) Decision(at time.Time) Decision {
	d := Decision{
		Intent: e.Intent, ToolCallID: e.Origin.ToolCallID, ClientOrderID: e.ClientOrderID, Agent: e.Origin.Agent,
		Surface: e.Origin.Surface, Tool: e.Origin.Tool, Order: e.Order, At: at, AgentReason: e.AgentReason,
		Account: e.Account, Origin: e.Origin, Clears: e.Clears, Pending: e.Pending, Hold: e.Hold,
	}
	d.rule(e.Ruling)
	return d
}

// First returns the decision object of the first judgement, as far as the second one has it.
func (e Rejudged) First() Decision {
	return Decided{
		Intent: e.Intent, Origin: e.Origin, Account: e.Account, Order: e.Order, ClientOrderID: e.ClientOrderID,
		Clears: ClearsPermission, Ruling: Ruling{Effect: policy.Allow},
	}.Decision(e.FirstAt)
}

func (d *Decision) rule(r Ruling) {
	d.Verdict, d.Reasons, d.PolicySHA256, d.MaxQuantityNow = r.Effect, r.Reasons, r.PolicySHA256, r.MaxQuantity
	if d.RetryAfter = 0; r.RetryAt.After(d.At) {
		d.RetryAfter = r.RetryAt.Sub(d.At)
	}
	d.State = [...]AuditState{policy.Deny: Blocked, policy.Hold: ApprovalPending, policy.Allow: Allowed}[r.Effect]
}

// Apply brings the decision to what it is after one more event of its intent. It says nothing of time: see Present.
func (d *Decision) Apply(e Event) {
	switch e := e.(type) {
	case Rejudged:
		if d.State == Allowed || d.State == ApprovalGranted || d.State == ApprovalPending && e.Ruling.Effect != policy.Allow {
			d.rule(e.Ruling)
			d.Pending, d.Clears = e.Pending, e.Clears
		}
	case Concluded:
		d.conclude(e)
	case Happened:
		d.happened(e)
	case Flagged:
		d.Flags = append(d.Flags, e.Flag)
	case Ran:
		d.Ran = true
	case Approved:
		d.approve(e)
	case ProposalEnded:
		if d.State == ApprovalPending || d.State == ApprovalGranted {
			d.State, d.EndedBy, d.Message = e.State, e.By, e.Reason
		}
	}
}

// happened takes in what a venue tells: of the order itself, or on the other side of its exits.
func (d *Decision) happened(e Happened) {
	exit := d.Order.HasExits() && e.Side != d.Order.Side()
	switch {
	case exit && e.What == WasFilled:
		d.Exited, d.ExitPrice = d.Exited.Add(e.Quantity), e.Price
	case exit:
		d.ExitsEnded = e.What
	case e.What == WasFilled:
		d.State = Succeeded
		d.Filled, d.FillPrice = d.Filled.Add(e.Quantity), e.Price
		d.Spent = d.Spent.Add(e.Quantity.Mul(e.Price))
	default:
		if d.Ended = e.What; d.State == Allowed || d.State == OutcomeUnknown {
			d.State = Succeeded // the venue had it, whatever it has answered
		}
	}
}

// whole reports whether the order itself is filled to its end.
func (d Decision) whole() bool {
	if d.Order.ByAmount() {
		return d.Filled.Sign() > 0 && usedUp(d.Order.Amount(), d.Spent, d.FillPrice)
	}
	return d.Filled.Cmp(d.Order.Quantity()) >= 0
}

func (d *Decision) approve(e Approved) {
	if d.State != ApprovalPending || slices.Contains(d.ApprovedBy, e.Person) {
		return
	}
	d.ApprovedBy = append(slices.Clone(d.ApprovedBy), e.Person)
	d.Hold.Approvers = max(d.Hold.Approvers, e.Needs)
	if !e.Lapses.IsZero() && len(d.ApprovedBy) >= d.Hold.Approvers {
		d.State, d.Pending.NotAfter = ApprovalGranted, e.Lapses
	}
}

func (d *Decision) conclude(e Concluded) {
	idle := d.State == Blocked || d.State == ApprovalPending || d.State == ApprovalGranted || d.State == ApprovalDeclined ||
		d.State == ApprovalWithdrawn || d.State == ApprovalExpired
	denied := idle && e.Source != FromReport                                      // only a harness can tell that it ran what was denied
	if d.State == Succeeded && d.OutcomeBy == "" && e.Outcome == trade.Accepted { // a fill was recorded before the answer
		d.Status, d.OrderID, d.Message, d.OutcomeBy, d.ResolvedBy = e.Status, e.OrderID, e.Message, e.Source, e.By
	}
	if d.State == Succeeded || d.State == Failed || denied {
		return
	}
	d.Status, d.OrderID, d.Message = e.Status, e.OrderID, e.Message
	switch e.Outcome {
	case trade.Accepted:
		d.State = Succeeded
	case trade.Rejected:
		d.State, d.RejectionCode = Failed, e.Code
	case trade.Unknown:
		d.State = OutcomeUnknown
	}
	d.OutcomeBy, d.ResolvedBy, d.Works = e.Source, e.By, e.Works
}

// tracked reports whether the venue has the order and tells us of its fills.
func (d Decision) tracked() bool {
	return d.State == Succeeded && (d.OutcomeBy.Tracked() || d.Works || d.Filled.Sign() > 0 || d.Ended != "")
}

// OrderStatus says where the order stands, in the words of the field: permitted, sending, working, partially_filled,
// filled, cancelled, expired, rejected, unknown, or accepted where a venue has it whose fills nobody tells us. It is
// empty for what was never to be sent.
func (d Decision) OrderStatus() string {
	switch {
	case d.State == OutcomeUnknown:
		return "unknown"
	case d.State == Failed:
		return "rejected"
	case d.State == Allowed && d.Clears == ClearsSend:
		return "sending"
	case d.State == Allowed && d.Clears == ClearsPermission:
		return "permitted"
	case d.State != Succeeded:
		return ""
	case !d.tracked():
		return "accepted"
	case d.whole():
		return "filled"
	case d.Ended != "":
		return d.Ended
	case d.Filled.Sign() > 0:
		return "partially_filled"
	}
	return "working"
}

// Present returns the decision as it is to be shown at a time: an allowed intent without an outcome is unknown after
// its deadline, and as soon as the process that was to send it has ended.
//
//limit:ledger-outcome-deadline An allowed intent without an outcome is shown as unknown after its deadline (60 seconds unless configured) and after the end of the process that sends it.
func (d Decision) Present(now time.Time, alive func(instance string) bool) Decision {
	if d.State == ApprovalPending && !now.Before(d.Hold.Expires) || d.State == ApprovalGranted && !now.Before(d.ends()) {
		d.State = ApprovalExpired
	}
	if d.State != Allowed || d.Clears == ClearsNothing {
		return d
	}
	ended := d.Pending.Instance != "" && !alive(d.Pending.Instance)
	if ended || !now.Before(d.Pending.Deadline) {
		d.State = OutcomeUnknown
	}
	return d
}

// ends is when an approved proposal ends by time.
func (d Decision) ends() time.Time {
	if lapses := d.Pending.NotAfter; lapses.Before(d.Hold.Expires) {
		return lapses
	}
	return d.Hold.Expires
}

// Waiting reports whether an outcome may still come by itself.
func (d Decision) Waiting() bool { return d.State == Allowed && d.Clears == ClearsSend }
