package policy

import (
	"fmt"
	"strings"

	"sallyport/trade"
	"sallyport/wire"
)

const schemaHead = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Sallyport policy, version 2",
  "description": "What an editor can check. 'sallyport policy validate' finds more: what the rules come to together, and exact digits.",
  "type": "object",
  "required": ["version", "currency", "timezone", "rules"],
  "additionalProperties": false,
  "properties": {
    "version": {"const": 2},
    "currency": {"const": "USD"},
    "timezone": {"type": "string", "minLength": 1},
    "quotes": {
      "type": "object", "required": ["sources", "max_age", "max_spread_bps"], "additionalProperties": false,
      "properties": {
        "sources": {"type": "array", "minItems": 1, "uniqueItems": true, "items": {"type": "string", "pattern": "^[a-z][a-z0-9_-]{0,31}$"}},
        "max_age": {"$ref": "#/$defs/duration"},
        "max_spread_bps": {"$ref": "#/$defs/decimal"},
        "max_divergence_bps": {"$ref": "#/$defs/decimal"},
        "market_slippage_bps": {"$ref": "#/$defs/decimal"}
      }
    },
    "approval": {
      "type": "object", "minProperties": 1, "additionalProperties": false,
      "properties": {
        "expires": {"$ref": "#/$defs/duration"},
        "execute_within": {"$ref": "#/$defs/duration"},
        "two_approvers_above_notional": {"$ref": "#/$defs/decimal"},
        "max_price_drift_bps": {"$ref": "#/$defs/decimal"},
        "max_open_proposals": {"$ref": "#/$defs/count"}
      }
    },
    "rules": {"type": "array", "minItems": 1, "maxItems": 256, "items": {"$ref": "#/$defs/rule"}},
    "tests": {
      "type": "array", "minItems": 1,
      "items": {
        "type": "object", "required": ["name", "tape", "expect"], "additionalProperties": false,
        "properties": {
          "name": {"type": "string", "minLength": 1},
          "tape": {"type": "array", "minItems": 1, "items": {"type": "object"}},
          "expect": {"type": "array", "minItems": 1, "items": {"type": "object"}}
        }
      }
    }
  },
`

const schemaRule = `    "rule": {
      "type": "object", "required": ["id", "match"], "additionalProperties": false,
      "oneOf": [
        {"required": ["limits"], "properties": {"effect": false, "match": {"required": ["symbols"]}}},
        {"required": ["effect"], "properties": {"require": false, "allow": false, "limits": false}}
      ],
      "properties": {
        "id": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
        "match": {
          "type": "object", "minProperties": 1, "additionalProperties": false,
          "properties": {
            "symbols": {"$ref": "#/$defs/names"},
            "sides": {"type": "array", "minItems": 1, "items": {"type": "string", "pattern": "^([Bb][Uu][Yy]|[Ss][Ee][Ll][Ll])$"}},
            "order_types": {"$ref": "#/$defs/names"},
            "time_in_force": {"$ref": "#/$defs/names"},
            "agents": {"$ref": "#/$defs/names"},
            "asset_classes": {"type": "array", "minItems": 1, "items": {"const": "us_equity"}}
          }
        },
        "require": {
          "type": "object", "minProperties": 1, "additionalProperties": false,
          "properties": {"session": {"enum": ["regular", "extended"]}, "stop_loss": {"type": "boolean"}}
        },
        "allow": {
          "type": "object", "minProperties": 1, "additionalProperties": false,
          "properties": {"short": {"type": "boolean"}, "fractional": {"type": "boolean"}, "extended_hours": {"type": "boolean"}}
        },
        "effect": {"const": "deny"},
        "limits": {
          "type": "object", "minProperties": 1, "additionalProperties": false,
          "properties": {
`

// Schema returns a JSON Schema of policies of version 2, for editors: keys, words and shapes, with the meaning of each
// limit. It takes every policy that ParseV2 takes.
func Schema() []byte {
	decimal := fmt.Sprintf(`^(0|[1-9][0-9]{0,%d})(\\.[0-9]{1,%d})?$`, trade.MaxIntegerDigits-1, trade.MaxFractionDigits)
	out := []byte(schemaHead)
	out = fmt.Appendf(out, "  \"$defs\": {\n    \"decimal\": {\"oneOf\": [{\"type\": \"string\", \"pattern\": \"%s\"}, {\"type\": \"number\", \"minimum\": 0}]},\n", decimal)
	out = append(out, "    \"count\": {\"oneOf\": [{\"type\": \"string\", \"pattern\": \"^[0-9]{1,7}(\\\\.0{1,9})?$\"}, {\"type\": \"integer\", \"minimum\": 0}]},\n"...)
	out = append(out, "    \"duration\": {\"type\": \"string\", \"pattern\": \"^[1-9][0-9]{0,4}[smh]$\"},\n"...)
	out = append(out, "    \"names\": {\"type\": \"array\", \"minItems\": 1, \"maxItems\": 10000, \"items\": {\"type\": \"string\", \"minLength\": 1}},\n"...)
	out = append(out, schemaRule...)
	rows := Limits()
	for k := range kindCount {
		out = append(out, strings.Repeat(" ", 12)...)
		out = appendLimitSchema(wire.AppendString(out, k.String()), rows[k], k)
		if k+1 < kindCount {
			out = append(out, ',')
		}
		out = append(out, '\n')
	}
	return append(out, "          }\n        }\n      }\n    }\n  }\n}\n"...)
}

func appendLimitSchema(dst []byte, row LimitRow, k kind) []byte {
	t := traits[k]
	dst = append(dst, `: {"type": "object", "description": `...)
	dst = wire.AppendString(dst, row.Meaning)
	if t.window {
		dst = append(dst, `, "required": ["window"], "minProperties": 2`...)
	} else {
		dst = append(dst, `, "anyOf": [{"required": ["hold_above"]}, {"required": ["deny_above"]}, {"required": ["halt_above"]}]`...)
	}
	bound := "decimal"
	if t.unit == inCount {
		bound = "count"
	}
	dst = append(dst, `, "additionalProperties": false, "properties": {`...)
	for s := holds; s <= halts; s++ {
		dst = fmt.Appendf(dst, `"%s": {"$ref": "#/$defs/%s"}`, s.key(), bound)
		if s < halts {
			dst = append(dst, ", "...)
		}
	}
	switch t.per {
	case perSender:
		dst = append(dst, `, "per": {"enum": ["account", "agent", "symbol"]}`...)
	case perAny:
		dst = append(dst, `, "per": {"enum": ["account", "agent", "symbol", "rule"]}`...)
	}
	if t.window {
		dst = append(dst, `, "window": {"$ref": "#/$defs/duration"}`...)
	}
	return append(dst, "}}"...)
}
