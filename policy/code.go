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
