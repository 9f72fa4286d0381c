package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"sallyport/policy"
)

// TestCommentsHoldOnlyWhatShows hides characters in the comments of a policy.
//
//attack:policy-comment-visible
func TestCommentsHoldOnlyWhatShows(t *testing.T) {
	with := func(r rune) error {
		_, err := policy.ParseV2([]byte(strings.Replace(oneLimit(`"order_quantity": {"deny_above": "1"}`), "{", "{ // a"+string(r)+"b\n", 1)), policy.World{})
		return err
	}
	for _, r := range []rune{
		0x3164, 0x115F, 0x1160, 0xFFA0, 0xFE00, 0xFE0F, 0xE0100, 0xE01EF, 0x034F, 0x17B4, 0x17B5, 0x180B, 0x180F, 0x2800, 0x16FE4, 0x1D159,
		0x200B, 0x200D, 0x202E, 0x2066, 0x00AD, 0x00A0, 0x3000, 0x180E, 0xFEFF, 0xE0041, 0x2028, 0x0085, 0x0000, 0xFFFC,
	} {
		if err := with(r); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("U+%04X", r)) {
			t.Errorf("U+%04X: %v", r, err)
		}
	}
	for _, r := range "aé߀한ᄀ漢—“€😀\u0301" {
		if err := with(r); err != nil {
			t.Errorf("%c: %v", r, err)
		}
	}
}
