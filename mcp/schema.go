package mcp

import "strings"

// inputSchema is the JSON Schema of the arguments of a tool that takes no order. Those of the others are their dialects'.
// required lists quoted names.
func inputSchema(required string, properties ...string) []byte {
	s := `{"type":"object","properties":{` + strings.Join(properties, ",") + `},`
	if required != "" {
		s += `"required":[` + required + `],`
	}
	return []byte(s + `"additionalProperties":false}`)
}

// The JSON Schemas of the answers. Members may be added to an object, so none is closed. An answer that is a refusal has
// reasons, and nothing else that the tool's answers have.
const (
	reasonsSchema = `{"type":"array","items":{"type":"object","properties":{` +
		`"code":{"type":"string","description":"stable"},` +
		`"field":{"type":"string"},"limit":{"type":"string"},"observed":{"type":"string"},` +
		`"message":{"type":"string"}},"required":["code","message"]}}`

	stopsSchema = `{"type":"array","description":"engaged kill switches","items":{"type":"object","properties":{` +
		`"scope":{"type":"string","description":"everything, account:NAME, agent:NAME or symbol:NAME"},` +
		`"by":{"type":"string"},"reason":{"type":"string"},"since":{"type":"string"},` +
		`"keep":{"type":"boolean","description":"orders that worked already were left as they are"}},"required":["scope","by","reason","since"]}}`

	refusalMembers = `"reasons":` + reasonsSchema + `,"error":{"type":"string","description":"permission_denied, killswitch_active, journal_unavailable or daemon_unreachable"},` +
		`"required_tier":{"type":"integer"},"current_tier":{"type":"integer"},"stops":` + stopsSchema

	orderSchema = `{"type":["object","null"],"description":"the order as it was understood; null if the arguments were none","properties":{` +
		`"account":{"type":"string"},"symbol":{"type":"string"},"side":{"type":"string"},"quantity":{"type":"string"},` +
		`"notional":{"type":"string","description":"US dollars to spend, in place of a quantity"},"type":{"type":"string"},` +
		`"limit_price":{"type":"string"},"stop_price":{"type":"string"},"time_in_force":{"type":"string"},"extended_hours":{"type":"boolean"},` +
		`"stop_loss":{"type":"string"},"stop_loss_limit":{"type":"string"},"take_profit":{"type":"string"}}}`

	decisionMembers = `{"type":"object","properties":{` +
		`"verdict":{"enum":["deny","hold","allow"]},` +
		`"state":{"type":"string","description":"where the order stands, such as EXECUTION_BLOCKED or EXECUTION_SUCCEEDED"},` +
		`"intent_id":{"type":["string","null"]},"tool_call_id":{"type":["string","null"]},"client_order_id":{"type":["string","null"]},` +
		`"agent":{"type":"string"},"surface":{"type":"string"},"tool":{"type":"string"},"digest":{"type":["string","null"]},` +
		`"order":` + orderSchema + `,"notional":{"type":["string","null"],"description":"US dollars"},` +
		`"policy_sha256":{"type":["string","null"]},"at":{"type":"string"},` +
		`"status":{"type":"string"},"order_id":{"type":"string"},"message":{"type":"string"},` +
		`"rejection_code":{"type":"string","description":"the venue's code of its rejection"},` +
		`"order_status":{"type":"string","description":"working, filled, partially_filled, cancelled, expired, rejected, unknown, accepted, permitted or sending"},` +
		`"filled_quantity":{"type":"string"},"fill_price":{"type":"string"},"ended":{"type":"string"},` +
		`"spent":{"type":"string"},"exit_filled_quantity":{"type":"string"},"exit_fill_price":{"type":"string"},"exits_ended":{"type":"string"},"outcome_by":{"type":"string"},` +
		`"resolved_by":{"type":"string"},"agent_reason":{"type":"string","description":"the agent's own words; untrusted"},` +
		`"flags":{"type":"array","items":{"type":"string"}},` +
		`"proposal_id":{"type":"string","description":"of an order that a person must approve, or had to"},` +
		`"expires_at":{"type":"string"},"approvals_required":{"type":"integer"},` +
		`"approved_by":{"type":"array","items":{"type":"string"}},"ended_by":{"type":"string"},` +
		`"max_quantity_now":{"type":"string"},"retry_after":{"type":"string"},"repeated":{"type":"boolean"},` + refusalMembers + `}`

	decisionSchema = decisionMembers + `,"required":["verdict","state","intent_id","order","reasons","policy_sha256","at"]}`
	proposalSchema = decisionMembers + `,"required":["reasons"]}`

	policySchema = `{"type":"object","properties":{"valid":{"type":"boolean"},"policy_sha256":{"type":["string","null"]},` +
		`"policy":{"type":["object","null"]},` + refusalMembers + `},"required":["reasons"]}`

	recordsSchema = `{"type":"object","properties":{"decisions":{"type":"array","items":{"type":"object","description":"a decision object, as the order tools answer it"}},` +
		`"more":{"type":"boolean","description":"older ones may match too"},` + refusalMembers + `},"required":["reasons"]}`

	openOrderSchema = `{"type":"array","items":{"type":"object","properties":{"intent_id":{"type":"string"},` +
		`"state":{"type":"string","description":"held, approved, permitted, sending, unknown or working"},"order":` + orderSchema + `,` +
		`"notional":{"type":"string","description":"absent where only a quote can say it"},"filled_quantity":{"type":"string"},"at":{"type":"string"}},` +
		`"required":["intent_id","state","order","filled_quantity","at"]}}`

	portfolioSchema = `{"type":"object","properties":{"account":{"type":"string"},"at":{"type":"string"},"cash":{"type":["string","null"]},` +
		`"positions":{"type":"array","items":{"type":"object","properties":{"symbol":{"type":"string"},"quantity":{"type":"string"},` +
		`"pending_buys":{"type":"string"},"pending_sells":{"type":"string"}},"required":["symbol","quantity","pending_buys","pending_sells"]}},` +
		`"working_orders":` + openOrderSchema + `,"reservations":` + openOrderSchema + `,` +
		`"headroom":{"type":"array","items":{"type":"object","properties":{"limit":{"type":"string"},"symbol":{"type":"string"},` +
		`"bound":{"type":"string"},"used":{"type":"string"},"left":{"type":"string"}},"required":["limit","bound","used","left"]}},` +
		refusalMembers + `},"required":["reasons"]}`

	quoteSchema = `{"type":"object","properties":{"symbol":{"type":"string"},"bid":{"type":"string"},"ask":{"type":"string"},` +
		`"last":{"type":"string"},"at":{"type":"string"},"age":{"type":"string","description":"such as 1m30.5s"},` + refusalMembers + `},"required":["reasons"]}`

	cancelSchema = `{"type":"object","properties":{"intent_id":{"type":"string"},"outcome":{"enum":["accepted","rejected","unknown"]},` +
		`"message":{"type":"string"},` + refusalMembers + `},"required":["reasons"]}`

	killSchema = `{"type":"object","properties":{"repeated":{"type":"boolean","description":"it was engaged already"},` +
		`"recorded":{"type":"boolean","description":"false: the journal cannot be written, and a stop file holds the switch"},` +
		`"orders":{"type":"array","description":"your orders that were open","items":{"type":"object","properties":{"intent_id":{"type":"string"},` +
		`"order":` + orderSchema + `,"state":{"enum":["gone","still_there","unknown","pending","kept"]},"message":{"type":"string"}},` +
		`"required":["intent_id","order","state"]}},` +
		`"others":{"type":"object","description":"how many orders of other agents are in each state","additionalProperties":{"type":"integer"}},` +
		refusalMembers + `},"required":["reasons"]}`
)
