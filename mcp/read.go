package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"sallyport/dialect"
	"sallyport/ledger"
	"sallyport/policy"
	"sallyport/trade"
	"sallyport/wire"
)

// How many decisions trade_audit shows.
//
//limit:mcp-audit-rows trade_audit shows at most 200 decisions, and 20 unless asked.
const (
	maxAudit     = 200
	defaultAudit = 20
)

// policyTool shows the policy in force.
func (t *Tools) policyTool() Tool {
	return Tool{
		Name: "trade_policy_get", Title: "Show the policy", Description: policyDescription,
		Input: []byte(policyInput), Output: []byte(policySchema),
		run: func(_ context.Context, c call) Result {
			if _, reasons := readArguments(c.arguments()); len(reasons) > 0 {
				return refused(reasons...)
			}
			return plain(t.policy(), false)
		},
	}
}

// policy shows what would judge a call made now. That there is no valid policy is an answer and no error.
func (t *Tools) policy() []byte {
	view := t.cfg.Gate.Policy()
	dst := append(wire.AppendName([]byte{'{'}, "valid"), strconv.FormatBool(view.Reason == nil)...)
	dst = wire.AppendName(dst, "policy_sha256")
	if view.SHA256 == "" {
		dst = append(dst, "null"...)
	} else {
		dst = wire.AppendString(dst, view.SHA256)
	}
	dst = wire.AppendName(dst, "policy")
	var policyJSON bytes.Buffer
	if view.Reason == nil && json.Compact(&policyJSON, view.Raw) == nil {
		dst = append(dst, policyJSON.Bytes()...)
	} else {
		dst = append(dst, "null"...)
	}
	var reasons []policy.Reason
	if view.Reason != nil {
		reasons = []policy.Reason{*view.Reason}
	}
	return append(ledger.AppendReasons(wire.AppendName(dst, "reasons"), reasons), '}')
}

// auditTool shows the newest decisions.
func (t *Tools) auditTool() Tool {
	return Tool{
		Name: "trade_audit", Title: "Show decisions", Description: auditDescription,
		Input: []byte(auditInput), Output: []byte(auditSchema),
		run: func(ctx context.Context, c call) Result {
			fields, reasons := readArguments(c.arguments(), "limit")
			limit, bad := auditLimit(fields["limit"])
			if bad != nil {
				reasons = append(reasons, *bad)
			}
			if len(reasons) > 0 {
				return refused(reasons...)
			}
			return t.audit(ctx, limit)
		},
	}
}

func (t *Tools) audit(ctx context.Context, limit int) Result {
	decisions, err := t.cfg.Gate.Audit(ctx, limit)
	if err != nil {
		t.cfg.Log.Error("the journal cannot be read", "error", err)
		return refused(policy.Reason{Code: policy.JournalUnavailable, Message: "the journal cannot be read now; the operator finds the cause in the log"})
	}
	dst := append(wire.AppendName([]byte{'{'}, "decisions"), '[')
	for i, d := range decisions[:min(limit, len(decisions))] {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = d.AppendJSON(dst)
	}
	return plain(append(ledger.AppendReasons(wire.AppendName(append(dst, ']'), "reasons"), nil), '}'), false)
}

// auditLimit reads the limit; absent is the default.
func auditLimit(v wire.Value) (int, *policy.Reason) {
	switch v.Kind {
	case wire.Invalid:
		return defaultAudit, nil
	case wire.Number:
		if n, err := strconv.Atoi(v.Text); err == nil && 1 <= n && n <= maxAudit {
			return n, nil
		}
		return 0, &policy.Reason{
			Code: limitOutOfRange, Field: "limit", Limit: strconv.Itoa(maxAudit), Observed: trade.Printable(v.Text, 64),
			Message: fmt.Sprintf("limit is not a whole number from 1 to %d", maxAudit),
		}
	}
	return 0, wrongType("limit", v.Kind, "a whole number")
}

func wrongType(field string, found wire.Kind, asked string) *policy.Reason {
	return &policy.Reason{
		Code: trade.FieldTypeWrong, Field: field, Observed: found.String(),
		Message: fmt.Sprintf("%s is %s; %s is asked", field, found, asked),
	}
}

// readArguments reads the arguments of a tool that takes no order, as strictly as a dialect does and with the same
// codes. It returns the members that the tool knows.
//
//limit:mcp-arguments Arguments of over 65,536 bytes, nested over 32 levels or with over 32 faults are not read further.
func readArguments(raw []byte, known ...string) (map[string]wire.Value, []policy.Reason) {
	v, err := wire.Read(raw, wire.Limits{Bytes: dialect.MaxBytes, Depth: dialect.MaxDepth})
	var bad *wire.Error
	switch {
	case errors.As(err, &bad) && bad.TooLarge:
		return nil, []policy.Reason{{Code: trade.BodyTooLarge, Limit: strconv.Itoa(dialect.MaxBytes), Observed: strconv.Itoa(len(raw)), Message: bad.Error()}}
	case err != nil:
		return nil, []policy.Reason{{Code: trade.JSONMalformed, Message: "the arguments are not one JSON object: " + trade.Printable(err.Error(), 128)}}
	case v.Kind != wire.Object:
		return nil, []policy.Reason{*wrongType("", v.Kind, "an object")}
	}
	var reasons []policy.Reason
	fields, seen := map[string]wire.Value{}, map[string]bool{}
	for _, m := range v.Members {
		if len(reasons) == dialect.MaxStrays {
			break
		}
		name := trade.Printable(m.Name, 64)
		switch {
		case seen[m.Name]:
			reasons = append(reasons, policy.Reason{Code: trade.FieldDuplicate, Field: name, Message: name + " is given more than once"})
		case !slices.Contains(known, m.Name):
			reasons = append(reasons, policy.Reason{Code: trade.FieldUnknown, Field: name, Message: name + " is not a field of this tool"})
		default:
			fields[m.Name] = m.Value
		}
		seen[m.Name] = true
	}
	return fields, reasons
}
