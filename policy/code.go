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
	PolicyTestsFail    trade.Code = "POLICY_TESTS_FAIL"
	PolicyUnproved     trade.Code = "POLICY_UNPROVED"
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
	PriceDriftExceeds    trade.Code = "PRICE_DRIFT_EXCEEDS_LIMIT"
	ProposalUnknown      trade.Code = "PROPOSAL_UNKNOWN"
	ProposalEnded        trade.Code = "PROPOSAL_ENDED"
	ProposalExpired      trade.Code = "PROPOSAL_EXPIRED"
	AlreadyApproved      trade.Code = "ALREADY_APPROVED"
	DigestMismatch       trade.Code = "DIGEST_MISMATCH"
	PersonUnknown        trade.Code = "PERSON_UNKNOWN"
	NotAnApprover        trade.Code = "NOT_AN_APPROVER"
	NotTheOwner          trade.Code = "NOT_THE_OWNER"
	NameTaken            trade.Code = "NAME_TAKEN"
	NameUnknown          trade.Code = "NAME_UNKNOWN"
	OwnerStays           trade.Code = "OWNER_STAYS"
	NotEngaged           trade.Code = "NOT_ENGAGED"
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

// The codes of a policy of version 2, beside those that it shares with the first.
const (
	NoRuleMatches       trade.Code = "NO_RULE_MATCHES"
	DeniedByRule        trade.Code = "DENIED_BY_RULE"
	PositionFlip        trade.Code = "POSITION_FLIP_NOT_ALLOWED"
	SessionNotAllowed   trade.Code = "SESSION_NOT_ALLOWED"
	CalendarUnavailable trade.Code = "CALENDAR_UNAVAILABLE"

	QuoteUnavailable    trade.Code = "QUOTE_UNAVAILABLE"
	QuoteStale          trade.Code = "QUOTE_STALE"
	QuoteCrossed        trade.Code = "QUOTE_CROSSED"
	SpreadExceedsLimit  trade.Code = "SPREAD_EXCEEDS_LIMIT"
	QuotesDisagree      trade.Code = "QUOTES_DISAGREE"
	PositionUnavailable trade.Code = "POSITION_UNAVAILABLE"
	EquityUnavailable   trade.Code = "EQUITY_UNAVAILABLE"
	ExposureUnavailable trade.Code = "EXPOSURE_UNAVAILABLE"
	LossUnavailable     trade.Code = "LOSS_UNAVAILABLE"
	CountUnavailable    trade.Code = "COUNT_UNAVAILABLE"
	DayUnavailable      trade.Code = "DAY_UNAVAILABLE"

	PriceOutsideCollar                trade.Code = "PRICE_OUTSIDE_COLLAR"
	OrdersPerMinuteExceedLimit        trade.Code = "ORDERS_PER_MINUTE_EXCEED_LIMIT"
	OrdersPerDayExceedLimit           trade.Code = "ORDERS_PER_DAY_EXCEED_LIMIT"
	NotionalPerDayExceedsLimit        trade.Code = "NOTIONAL_PER_DAY_EXCEEDS_LIMIT"
	SimilarOrdersExceedLimit          trade.Code = "SIMILAR_ORDERS_EXCEED_LIMIT"
	PositionQuantityExceedsLimit      trade.Code = "POSITION_QUANTITY_EXCEEDS_LIMIT"
	PositionNotionalExceedsLimit      trade.Code = "POSITION_NOTIONAL_EXCEEDS_LIMIT"
	PositionEquityPercentExceedsLimit trade.Code = "POSITION_EQUITY_PERCENT_EXCEEDS_LIMIT"
	GrossExposureExceedsLimit         trade.Code = "GROSS_EXPOSURE_EXCEEDS_LIMIT"
	NetExposureExceedsLimit           trade.Code = "NET_EXPOSURE_EXCEEDS_LIMIT"
	LeverageExceedsLimit              trade.Code = "LEVERAGE_EXCEEDS_LIMIT"
	OpenOrdersExceedLimit             trade.Code = "OPEN_ORDERS_EXCEED_LIMIT"
	RiskExceedsLimit                  trade.Code = "RISK_EXCEEDS_LIMIT"
	StopDistanceExceedsLimit          trade.Code = "STOP_DISTANCE_EXCEEDS_LIMIT"
	DailyLossExceedsLimit             trade.Code = "DAILY_LOSS_EXCEEDS_LIMIT"
	DrawdownExceedsLimit              trade.Code = "DRAWDOWN_EXCEEDS_LIMIT"
	ConsecutiveLossesExceedLimit      trade.Code = "CONSECUTIVE_LOSSES_EXCEED_LIMIT"
	BrokerRejectionsExceedLimit       trade.Code = "BROKER_REJECTIONS_EXCEED_LIMIT"
	DenialsExceedLimit                trade.Code = "DENIALS_EXCEED_LIMIT"
)

// Codes returns the published table of policy codes: those of the rules in the order of the rules, then the others.
func Codes() []trade.CodeRow {
	var rows []trade.CodeRow
	for _, r := range Rules() {
		if r.Code != trade.QuantityFractional { // a fault's too
			rows = append(rows, trade.CodeRow{Code: r.Code, Meaning: r.Breach, Repair: r.Repair})
		}
	}
	return append(rows, trade.CodeRow{
		Code:    ApprovalRequired,
		Meaning: "A person must decide about this order, and none has yet.",
		Repair:  "Wait for the person; the same order is allowed once when it is approved.",
	})
}

// RulebookCodes returns the published table of the codes that a policy of version 2 has beside those of the first.
func RulebookCodes() []trade.CodeRow {
	rows := []trade.CodeRow{
		{Code: NoRuleMatches, Meaning: "No rule of the policy is about this order.", Repair: "Trade what a rule is about; only the operator can add one."},
		{Code: DeniedByRule, Meaning: "A rule of the policy denies every order like this one.", Repair: "Only the operator can change it; a reduction of what is held still passes."},
		{Code: PositionFlip, Meaning: "The sell is for more shares than are held and free, so it would turn the position round.", Repair: "Sell at most max_quantity_now; the rest would be an order of its own."},
		{Code: SessionNotAllowed, Meaning: "The market is not in the trading session that the rule requires.", Repair: "Wait for the session: until retry_after where it is given. Without it something else denies the order too, which time alone does not cure."},
		{Code: CalendarUnavailable, Meaning: "The calendar cannot say which trading session it is.", Repair: "The operator brings the calendar up to date."},
		{Code: QuoteUnavailable, Meaning: "There is no quote to judge by.", Repair: "Wait for a quote; the operator checks where quotes come from."},
		{Code: QuoteStale, Meaning: "The newest quote is older than the policy lets it be.", Repair: "Wait for a newer one; the operator checks where quotes come from."},
		{Code: QuoteCrossed, Meaning: "The bid of the quote is above its ask.", Repair: "Wait for a quote that is not."},
		{Code: SpreadExceedsLimit, Meaning: "Bid and ask are further apart than the policy lets them be.", Repair: "Wait for a narrower market."},
		{Code: QuotesDisagree, Meaning: "Two sources of quotes differ more than the policy lets them.", Repair: "The operator finds out which is right."},
		{Code: PositionUnavailable, Meaning: "The position in the symbol is not known, or cannot be right.", Repair: "The operator reconciles the account. Of one that only a hook guards nobody knows it: a person sells there by hand."},
		{Code: EquityUnavailable, Meaning: "The equity of the account, or its peak, is not known.", Repair: "The operator reconciles the account."},
		{Code: ExposureUnavailable, Meaning: "The exposure of the account is not known, or cannot be right.", Repair: "The operator reconciles the account, and checks that everything held has a quote."},
		{Code: LossUnavailable, Meaning: "The loss of the day is not known.", Repair: "The operator reconciles the account, and checks that everything held has a quote."},
		{Code: CountUnavailable, Meaning: "What a limit counts is not known, or may be more than is remembered.", Repair: "The operator runs `sallyport doctor`."},
		{Code: DayUnavailable, Meaning: "It is not known when the day began in the policy's time zone.", Repair: "The operator checks the time zone of the policy and the clock."},
	}
	rows = append(rows, termCodes()...)
	for _, l := range Limits() {
		if l.Code != QuantityExceedsLimit && l.Code != NotionalExceedsLimit { // of the first version too
			rows = append(rows, trade.CodeRow{Code: l.Code, Meaning: l.Breach, Repair: l.Repair})
		}
	}
	return rows
}

// SystemCodes returns the published table of system codes.
func SystemCodes() []trade.CodeRow {
	return []trade.CodeRow{
		{Code: PolicyUnreadable, Meaning: "The policy file is missing, cannot be read, is over 1 MiB, is not a regular file, belongs to another user or can be written by group or others.", Repair: "The operator repairs the file or its permissions; nothing is allowed until then."},
		{Code: PolicyInvalid, Meaning: "The policy file is not a valid policy, or no policy is in force.", Repair: "The operator runs `sallyport policy validate`, which names every problem and its place."},
		{Code: PolicyTestsFail, Meaning: "The tests that the policy file brings along fail, or cannot be run, so the policy is not loaded and nothing is allowed.", Repair: "The operator corrects the rules or the tests; `sallyport policy test` says which fail."},
		{Code: PolicyUnproved, Meaning: "A process that has to answer soon, such as a hook, has not found out in time whether every bound of a large policy stops something and its tests pass, so it allows nothing.", Repair: "The operator runs `sallyport policy validate` after an edit of the policy, which finishes and leaves that on record."},
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
		{Code: PriceDriftExceeds, Meaning: "The quote has moved further than the policy lets it since the order was proposed, so people approved something else.", Repair: "Propose the order again."},
		{Code: ProposalUnknown, Meaning: "There is no such proposal, or it is not this agent's to see.", Repair: "Use the proposal_id that the decision named."},
		{Code: ProposalEnded, Meaning: "The proposal is decided, withdrawn, refused or executed already.", Repair: "Look it up; propose again for another order."},
		{Code: ProposalExpired, Meaning: "The proposal's time was over before this arrived.", Repair: "Propose the order again."},
		{Code: AlreadyApproved, Meaning: "This person has approved this proposal already; where two are needed, another must.", Repair: "Nothing is left to do for this person."},
		{Code: DigestMismatch, Meaning: "The digest is not that of this proposal's order, so other terms were meant than those that wait.", Repair: "Look at the proposal again, and approve exactly what it shows."},
		{Code: PersonUnknown, Meaning: "The credential is nobody's.", Repair: "Use the credential that was shown when the person was added; the owner can make a new one with `sallyport people rotate`."},
		{Code: NotAnApprover, Meaning: "This person is not, or no longer, a listed approver.", Repair: "The owner adds approvers with `sallyport people add NAME --approver`."},
		{Code: NotTheOwner, Meaning: "Only the owner may do that.", Repair: "Use the owner's credential."},
		{Code: NameUnknown, Meaning: "There is no person or agent of that name.", Repair: "Look at the list; names are told apart by case."},
		{Code: OwnerStays, Meaning: "The owner cannot be removed.", Repair: "Give the owner a new credential with `sallyport people rotate`."},
		{Code: NotEngaged, Meaning: "The kill switch of that scope is not engaged, so there is nothing to reset.", Repair: "Name a scope that `sallyport kill status` shows."},
		{Code: NameTaken, Meaning: "A person or an agent has that name, or the owner is made already.", Repair: "Choose another name, or rotate or remove the one that has it."},
		{Code: NameMalformed, Meaning: "The name is not 1 to 64 of A-Z a-z 0-9 . _ - that begin with a letter or digit.", Repair: "Use those characters only."},
		{Code: TokenUnknown, Meaning: "The token is no agent's, or none was sent.", Repair: "The operator makes one with `sallyport agents add NAME --tier N`."},
		{Code: OrderNotYours, Meaning: "The order is another agent's.", Repair: "Cancel your own only."},
		{Code: OrderNotOpen, Meaning: "There is no such order that is open at the broker.", Repair: "Look it up; it may have ended."},
		{Code: ReasonMissing, Meaning: "A reason of 1 to 500 characters is needed.", Repair: "Say why."},
		{Code: ScopeUnknown, Meaning: "Not a scope.", Repair: "Use everything, account:NAME, agent:NAME or symbol:NAME."},
		{Code: ReductionNotVerified, Meaning: "The order does not only reduce the position that the broker itself shows.", Repair: "Sell at most what is held, or buy at most what is owed, and not pending."},
		{Code: DaemonUnreachable, Meaning: "The daemon gave no answer. The state says whether an order may have been executed all the same.", Repair: "If the state is EXECUTION_OUTCOME_UNKNOWN, look the order up before anything else; the operator sees to it that `sallyport serve` runs."},
		{Code: ButtonUnknown, Meaning: "The button is stale, used, forged, or under another message or chat than the one it was made for.", Repair: "Use the newest message of the proposal."},
		{Code: ChatNotListed, Meaning: "The message came from a chat that is not listed.", Repair: "The operator lists chats in sallyport.json, under serve.telegram."},
		{Code: CommandNotOwn, Meaning: "The command was forwarded, came through a bot, or is older than what it would change.", Repair: "Write the command yourself, now."},
	}
}
