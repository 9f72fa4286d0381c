package policy

import "sallyport/trade"

// The codes of a policy's own rules.
const (
	SymbolNotAllowed     trade.Code = "SYMBOL_NOT_ALLOWED"
	SideNotAllowed       trade.Code = "SIDE_NOT_ALLOWED"
	OrderTypeNotAllowed  trade.Code = "ORDER_TYPE_NOT_ALLOWED"
	QuantityExceedsLimit trade.Code = "QUANTITY_EXCEEDS_LIMIT"
	NotionalExceedsLimit trade.Code = "NOTIONAL_EXCEEDS_LIMIT"
	ShortSaleNotAllowed  trade.Code = "SHORT_SALE_NOT_ALLOWED"
	OrderNotInVersion1   trade.Code = "ORDER_NOT_IN_VERSION_1"
	ApprovalRequired     trade.Code = "APPROVAL_REQUIRED"
)

// The codes of what stands around a policy: the gate and the surfaces use them.
const (
	PolicyUnreadable   trade.Code = "POLICY_UNREADABLE"
	PolicyInvalid      trade.Code = "POLICY_INVALID"
	KillSwitchActive   trade.Code = "KILL_SWITCH_ACTIVE"
	JournalUnavailable trade.Code = "JOURNAL_UNAVAILABLE"
	IDReused           trade.Code = "ID_REUSED"
	TierTooLow         trade.Code = "TIER_TOO_LOW"
	PolicyChanged      trade.Code = "POLICY_CHANGED"
	DaemonRequired     trade.Code = "DAEMON_REQUIRED"
	InternalError      trade.Code = "INTERNAL_ERROR"
	HookRequired       trade.Code = "HOOK_REQUIRED"
	ClockBehind        trade.Code = "CLOCK_BEHIND"
	PermissionSpent    trade.Code = "PERMISSION_SPENT"
	OriginMalformed    trade.Code = "ORIGIN_MALFORMED"
	CallNotJudged      trade.Code = "CALL_NOT_JUDGED"
	AccountUnknown     trade.Code = "ACCOUNT_UNKNOWN"
	GuardsUnreadable   trade.Code = "GUARDS_UNREADABLE"

	UnsettledExceedsLimit trade.Code = "UNSETTLED_EXCEEDS_LIMIT"
)

// The codes of people in control: who may approve, stop, reset and administer.
const (
	ProposalsExceedLimit trade.Code = "PROPOSALS_EXCEED_LIMIT"
	ProposalUnknown      trade.Code = "PROPOSAL_UNKNOWN"
	ProposalEnded        trade.Code = "PROPOSAL_ENDED"
	ProposalExpired      trade.Code = "PROPOSAL_EXPIRED"
	ProposalNotYours     trade.Code = "PROPOSAL_NOT_YOURS"
	AlreadyApproved      trade.Code = "ALREADY_APPROVED"
	DigestMismatch       trade.Code = "DIGEST_MISMATCH"
	PersonUnknown        trade.Code = "PERSON_UNKNOWN"
	NotAnApprover        trade.Code = "NOT_AN_APPROVER"
	NotTheOwner          trade.Code = "NOT_THE_OWNER"
	NameTaken            trade.Code = "NAME_TAKEN"
	NameMalformed        trade.Code = "NAME_MALFORMED"
	TokenUnknown         trade.Code = "TOKEN_UNKNOWN"
	OrderNotYours        trade.Code = "ORDER_NOT_YOURS"
	OrderNotOpen         trade.Code = "ORDER_NOT_OPEN"
	ReasonMissing        trade.Code = "REASON_MISSING"
	ScopeUnknown         trade.Code = "SCOPE_UNKNOWN"
	ReductionNotVerified trade.Code = "REDUCTION_NOT_VERIFIED"
	DaemonUnreachable    trade.Code = "DAEMON_UNREACHABLE"
	ButtonUnknown        trade.Code = "BUTTON_UNKNOWN"
	ChatNotListed        trade.Code = "CHAT_NOT_LISTED"
	CommandNotOwn        trade.Code = "COMMAND_NOT_OWN"
)

// Codes returns the published table of policy codes: those of the rules in the order of the rules, then the others.
func Codes() []trade.CodeRow {
	var rows []trade.CodeRow
	for _, r := range Rules() {
		rows = append(rows, trade.CodeRow{Code: r.Code, Meaning: r.Breach, Repair: r.Repair})
	}
	return append(rows, trade.CodeRow{
		Code:    ApprovalRequired,
		Meaning: "A person must decide about this order, and none has yet.",
		Repair:  "Wait for the person; the same order is allowed once when it is approved.",
	})
}

// SystemCodes returns the published table of system codes.
func SystemCodes() []trade.CodeRow {
	return []trade.CodeRow{
		{Code: PolicyUnreadable, Meaning: "The policy file is missing, cannot be read, is over 1 MiB, is not a regular file, belongs to another user or can be written by group or others.", Repair: "The operator repairs the file or its permissions; nothing is allowed until then."},
		{Code: PolicyInvalid, Meaning: "The policy file is not a valid policy, or no policy is in force.", Repair: "The operator runs `sallyport policy validate`, which names every problem and its place."},
		{Code: KillSwitchActive, Meaning: "The kill switch is engaged.", Repair: "Stop. Only a person may reset it."},
		{Code: JournalUnavailable, Meaning: "The decision could not be recorded durably, so nothing was decided and nothing was executed.", Repair: "Try again after retry_after; if it stays so, the operator runs `sallyport doctor`."},
		{Code: IDReused, Meaning: "This tool-call id or client order id already stands for another order.", Repair: "Use a new id for another order; send the same terms to see the first result."},
		{Code: TierTooLow, Meaning: "This process may not do that.", Repair: "The operator decides the tier of a process; no call raises it."},
		{Code: PolicyChanged, Meaning: "The policy is another one than when a person was asked.", Repair: "Propose the order again."},
		{Code: DaemonRequired, Meaning: "This data directory belongs to a daemon and cannot be opened by another process.", Repair: "Connect to the daemon."},
		{Code: InternalError, Meaning: "A defect of Sallyport, and therefore a no.", Repair: "Report it with the intent id; the state says whether anything may have been executed."},
		{Code: HookRequired, Meaning: "The configuration asks that a hook permits each call first, and none has permitted this one.", Repair: "The operator arms the hook in the harness; `sallyport doctor` shows whether it is."},
		{Code: ClockBehind, Meaning: "The clock is more than 5 seconds behind the newest record, so that no time can be trusted.", Repair: "The operator sets the clock right."},
		{Code: PermissionSpent, Meaning: "The permission for this call is already used or settled; one permission is good for one execution.", Repair: "Make a new call, with a new client order id if it had one."},
		{Code: OriginMalformed, Meaning: "The tool name, session, harness, agent or tool-call id is over 256 bytes, is not UTF-8, or holds a control character.", Repair: "Use the harness's own names."},
		{Code: CallNotJudged, Meaning: "A guarded tool ran, as its post-call report shows, and no hook had asked before.", Repair: "The operator checks that the hook is armed; `sallyport doctor` shows whether it is."},
		{Code: AccountUnknown, Meaning: "The order is for an account that this gate's broker does not have.", Repair: "Use a tool whose orders are for this account."},
		{Code: GuardsUnreadable, Meaning: "The list of guarded tools, in sallyport.json, cannot be read; no call passes.", Repair: "The operator repairs sallyport.json; sallyport doctor says where."},
		{Code: UnsettledExceedsLimit, Meaning: "Too many intents are open: permitted, in flight, unknown or working.", Repair: "The operator settles unknown outcomes (sallyport audit resolve) or cancels working orders; sells still pass."},
	}
}

// ControlCodes returns the published table of the codes that concern people in control.
func ControlCodes() []trade.CodeRow {
	return []trade.CodeRow{
		{Code: ProposalsExceedLimit, Meaning: "This agent has as many open proposals as it may have.", Repair: "Wait for people to decide, or withdraw one."},
		{Code: ProposalUnknown, Meaning: "There is no such proposal, or it is not this agent's to see.", Repair: "Use the proposal_id that the decision named."},
		{Code: ProposalEnded, Meaning: "The proposal is decided, withdrawn, refused or executed already.", Repair: "Look it up; propose again for another order."},
		{Code: ProposalExpired, Meaning: "The proposal's time was over before this arrived.", Repair: "Propose the order again."},
		{Code: ProposalNotYours, Meaning: "The proposal is another agent's.", Repair: "Withdraw your own only."},
		{Code: AlreadyApproved, Meaning: "This person has approved this proposal already; where two are needed, another must.", Repair: "Nothing is left to do for this person."},
		{Code: DigestMismatch, Meaning: "The digest is not that of this proposal's order, so other terms were meant than those that wait.", Repair: "Look at the proposal again, and approve exactly what it shows."},
		{Code: PersonUnknown, Meaning: "The credential is nobody's.", Repair: "Use the credential that was shown when the person was added; the owner can make a new one with `sallyport people rotate`."},
		{Code: NotAnApprover, Meaning: "This person is not, or no longer, a listed approver.", Repair: "The owner adds approvers with `sallyport people add NAME --approver`."},
		{Code: NotTheOwner, Meaning: "Only the owner may do that.", Repair: "Use the owner's credential."},
		{Code: NameTaken, Meaning: "A person or an agent has that name, or the owner is made already.", Repair: "Choose another name, or rotate or remove the one that has it."},
		{Code: NameMalformed, Meaning: "The name is not 1 to 64 of A-Z a-z 0-9 . _ -", Repair: "Use those characters only."},
		{Code: TokenUnknown, Meaning: "The token is no agent's, or none was sent.", Repair: "The operator makes one with `sallyport agents add NAME --tier N`."},
		{Code: OrderNotYours, Meaning: "The order is another agent's.", Repair: "Cancel your own only."},
		{Code: OrderNotOpen, Meaning: "There is no such order that is open at the broker.", Repair: "Look it up; it may have ended."},
		{Code: ReasonMissing, Meaning: "A reason of 1 to 500 characters is needed.", Repair: "Say why."},
		{Code: ScopeUnknown, Meaning: "Not a scope.", Repair: "Use everything, account:NAME, agent:NAME or symbol:NAME."},
		{Code: ReductionNotVerified, Meaning: "The order does not only reduce the position that the broker itself shows.", Repair: "Sell at most what is held and not pending."},
		{Code: DaemonUnreachable, Meaning: "The daemon gave no answer. The state says whether an order may have been executed all the same.", Repair: "If the state is EXECUTION_OUTCOME_UNKNOWN, look the order up before anything else; the operator sees to it that `sallyport serve` runs."},
		{Code: ButtonUnknown, Meaning: "The button is stale, used, forged, or under another message or chat than the one it was made for.", Repair: "Use the newest message of the proposal."},
		{Code: ChatNotListed, Meaning: "The message came from a chat that is not listed.", Repair: "The operator lists chats in sallyport.json, under serve.telegram."},
		{Code: CommandNotOwn, Meaning: "The command was forwarded, came through a bot, or is older than what it would change.", Repair: "Write the command yourself, now."},
	}
}
