package main

import (
	"context"
	"errors"
	"testing"
)

// TestWhatIsInterruptedIsNotWaitedFor: a search that has no end does not hold up whoever wants to stop it.
func TestWhatIsInterruptedIsNotWaitedFor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	begun, end := make(chan struct{}), make(chan struct{})
	defer close(end)
	go func() {
		<-begun
		cancel()
	}()
	_, err := unlessInterrupted(ctx, func() (int, error) {
		close(begun)
		<-end
		return 1, nil
	})
	var p *problem
	if !errors.As(err, &p) || p.exit != exitInterrupted {
		t.Errorf("%v", err)
	}
	if n, err := unlessInterrupted(t.Context(), func() (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
