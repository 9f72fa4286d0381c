package gate_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sallyport/gate"
)

func TestPermitIsRefusedWhenZeroExpiredUsedOrForSomethingElse(t *testing.T) {
	now := time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	good := gate.Cleared{ID: "sp-x", NotAfter: now}
	used := gate.Mint(gate.SubmitOrder, good)
	if c, err := used.Use(gate.SubmitOrder, now); err != nil || c.ID != good.ID {
		t.Fatalf("%+v, %v; a permit is good until its last instant", c, err)
	}
	for name, tt := range map[string]struct {
		p    gate.Permit
		a    gate.Action
		now  time.Time
		want error
	}{
		"zero":           {gate.Permit{}, gate.SubmitOrder, now, gate.ErrNoPermit},
		"used":           {used, gate.SubmitOrder, now, gate.ErrPermitUsed},
		"expired":        {gate.Mint(gate.SubmitOrder, good), gate.SubmitOrder, now.Add(time.Nanosecond), gate.ErrPermitExpired},
		"for a cancel":   {gate.Mint(gate.CancelOrder, good), gate.SubmitOrder, now, gate.ErrPermitAction},
		"for a submit":   {gate.Mint(gate.SubmitOrder, good), gate.CancelOrder, now, gate.ErrPermitAction},
		"for nothing":    {gate.Mint(gate.NoAction, good), gate.NoAction, now, gate.ErrPermitAction},
		"zero, no claim": {gate.Permit{}, gate.NoAction, now, gate.ErrNoPermit},
	} {
		if c, err := tt.p.Use(tt.a, tt.now); !errors.Is(err, tt.want) || c != (gate.Cleared{}) {
			t.Errorf("%s: %+v, %v; want %v", name, c, err, tt.want)
		}
	}
}

func TestCopiesOfAPermitShareItsOneUse(t *testing.T) {
	p := gate.Mint(gate.SubmitOrder, gate.Cleared{NotAfter: time.Now().Add(time.Hour)})
	var uses atomic.Int32
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			copied := p
			if _, err := copied.Use(gate.SubmitOrder, time.Now()); err == nil {
				uses.Add(1)
			}
		})
	}
	wg.Wait()
	if uses.Load() != 1 {
		t.Fatalf("used %d times", uses.Load())
	}
}
