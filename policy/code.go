package policy

import "sallyport/trade"

// The codes of the policy's own reasons.
const (
	NotionalExceedsLimit trade.Code = "NOTIONAL_EXCEEDS_LIMIT"
	QuantityExceedsLimit trade.Code = "QUANTITY_EXCEEDS_LIMIT"
	SymbolNotAllowed     trade.Code = "SYMBOL_NOT_ALLOWED"
	OrderTypeNotAllowed  trade.Code = "ORDER_TYPE_NOT_ALLOWED"
	SideNotAllowed       trade.Code = "SIDE_NOT_ALLOWED"
	ShortSaleNotAllowed  trade.Code = "SHORT_SALE_NOT_ALLOWED"
	OrderNotInVersion1   trade.Code = "ORDER_NOT_IN_VERSION_1"
	ApprovalRequired     trade.Code = "APPROVAL_REQUIRED"
)

// The codes of what is not a matter of the order, but of the system that judges it.
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
	PermissionSpent    trade.Code = "PERMISSION_SPENT"
	ClockBehind        trade.Code = "CLOCK_BEHIND"
	OriginTooLong      trade.Code = "ORIGIN_TOO_LONG"
	CallNotJudged      trade.Code = "CALL_NOT_JUDGED"
)

// Codes returns the published table of policy codes, in order.
func Codes() []trade.CodeRow {
	return []trade.CodeRow{
		{Code: NotionalExceedsLimit, Meaning: "Quantity times limit price of a buy is over max_gross_buy_notional_usd.", Repair: "Send fewer shares; max_quantity_now says how many would pass."},
		{Code: QuantityExceedsLimit, Meaning: "The quantity is over max_quantity.", Repair: "Send fewer shares; max_quantity_now says how many would pass."},
		{Code: SymbolNotAllowed, Meaning: "The symbol is not in symbol_allowlist.", Repair: "Use a symbol that the policy lists."},
		{Code: OrderTypeNotAllowed, Meaning: "The order type is not in order_type_allowlist.", Repair: "Use an order type that the policy lists."},
		{Code: SideNotAllowed, Meaning: "The side is not in side_allowlist.", Repair: "Use a side that the policy lists."},
		{Code: ShortSaleNotAllowed, Meaning: "A sell of more than the long position that the ledger knows, less the sells that are pending.", Repair: "Sell at most what is held and not already being sold."},
		{Code: OrderNotInVersion1, Meaning: "A policy of version 1 allows only whole-share day limit orders in US equities.", Repair: "Send such an order."},
		{Code: ApprovalRequired, Meaning: "A person must decide. Reserved until proposals exist.", Repair: "Wait for the person."},
	}
}

// SystemCodes returns the published table of system codes, in order.
func SystemCodes() []trade.CodeRow {
	return []trade.CodeRow{
		{Code: PolicyUnreadable, Meaning: "The policy file is missing, not a regular file, over 1 MiB, not owned by this user or root, or can be written by group or others.", Repair: "The operator repairs the file; nothing is allowed until then."},
		{Code: PolicyInvalid, Meaning: "The policy file is not a valid policy; the message says where.", Repair: "The operator repairs the file; nothing is allowed until then."},
		{Code: KillSwitchActive, Meaning: "The kill switch is engaged, or the journal does not say that it is off.", Repair: "Only a person can reset it."},
		{Code: JournalUnavailable, Meaning: "The decision could not be recorded, so nothing was done.", Repair: "Try again after retry_after; if it stays, run sallyport doctor."},
		{Code: IDReused, Meaning: "The tool-call id or client order id is bound to an order with other terms.", Repair: "Use a new id for another order."},
		{Code: TierTooLow, Meaning: "The process may not do this. Reserved until tiers exist.", Repair: "Ask the operator."},
		{Code: PolicyChanged, Meaning: "The policy is not the one that the proposal was judged by. Reserved until proposals exist.", Repair: "Propose again."},
		{Code: DaemonRequired, Meaning: "The data directory belongs to a daemon. Reserved until the daemon exists.", Repair: "Connect to the daemon."},
		{Code: InternalError, Meaning: "A fault of Sallyport's own; what could not be judged is denied.", Repair: "Report it with the message."},
		{Code: HookRequired, Meaning: "The configuration asks for a hook's permission before each execution, and none was given for this call.", Repair: "Arm the hook: sallyport hook print HARNESS."},
		{Code: PermissionSpent, Meaning: "A hook saw a call whose id was already permitted to another call, or whose permission is spent.", Repair: "Use a new id for another order."},
		{Code: ClockBehind, Meaning: "The clock is more than 5 seconds behind the newest record.", Repair: "The operator sets the clock right."},
		{Code: OriginTooLong, Meaning: "A tool name, session, harness, agent or tool-call id is over 256 bytes.", Repair: "Use the harness's own, shorter names."},
		{Code: CallNotJudged, Meaning: "A harness reported that a guarded tool ran, and no hook had asked before.", Repair: "The operator checks that the hook is armed: sallyport doctor --harness."},
	}
}
