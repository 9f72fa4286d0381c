package ledger

import (
	"bytes"

	"sallyport/trade"
)

// About reads of a record's bytes, as AppendEvent wrote them, which intent the event is about; ok is false if it is about
// none. It reads no further, since whoever asks has many records.
func About(body []byte) (id trade.IntentID, ok bool) {
	_, rest, found := bytes.Cut(body, []byte(`"kind":"`))
	_, rest, ended := bytes.Cut(rest, []byte(`","intent":"`))
	const length = 26
	if !found || !ended || len(rest) < length {
		return "", false
	}
	return trade.ParseIntentID(string(rest[:length]))
}
