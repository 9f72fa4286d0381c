package gatetest

import (
	"context"
	"fmt"

	"sallyport/gate"
)

// Answer is how the broker in memory treats one new order. Answers may block; the broker is not locked meanwhile.
type Answer func(ctx context.Context, b *Broker, c gate.Cleared) (gate.Receipt, error)

// Fill accepts the order and fills it at its limit.
func Fill(_ context.Context, b *Broker, c gate.Cleared) (gate.Receipt, error) {
	return b.Accept(c, true), nil
}

// Rest accepts the order and leaves it working.
func Rest(_ context.Context, b *Broker, c gate.Cleared) (gate.Receipt, error) {
	return b.Accept(c, false), nil
}

// Reject returns an answer that rejects the order with a code.
func Reject(code string) Answer {
	return func(_ context.Context, b *Broker, c gate.Cleared) (gate.Receipt, error) {
		return b.Refuse(c, code, "rejected by the test"), nil
	}
}

// Unclear answers neither yes nor no, and the order has not arrived.
func Unclear(context.Context, *Broker, gate.Cleared) (gate.Receipt, error) {
	return gate.Receipt{Message: "try again later"}, nil
}

// TimeOut lets the order get lost and waits until the caller has had enough.
func TimeOut(ctx context.Context, _ *Broker, _ gate.Cleared) (gate.Receipt, error) {
	<-ctx.Done()
	return gate.Receipt{}, ctx.Err()
}

// OrderLost breaks the connection before the order arrives; the caller cannot know.
func OrderLost(context.Context, *Broker, gate.Cleared) (gate.Receipt, error) {
	return gate.Receipt{}, errLost
}

// AnswerLost accepts and fills the order and breaks the connection before the answer.
func AnswerLost(_ context.Context, b *Broker, c gate.Cleared) (gate.Receipt, error) {
	b.Accept(c, true)
	return gate.Receipt{}, errLost
}

// NotSent fails before anything was sent, and says so.
func NotSent(context.Context, *Broker, gate.Cleared) (gate.Receipt, error) {
	return gate.Receipt{}, fmt.Errorf("gatetest: no route: %w", gate.ErrNotSent)
}

// Panic panics before the order arrives.
func Panic(context.Context, *Broker, gate.Cleared) (gate.Receipt, error) {
	panic("gatetest: the driver is broken")
}

// PanicAfter accepts and fills the order and panics before the answer.
func PanicAfter(_ context.Context, b *Broker, c gate.Cleared) (gate.Receipt, error) {
	b.Accept(c, true)
	panic("gatetest: the driver is broken")
}

// Slow returns an answer that waits for the channel to be closed, deaf to its context, and then fills the order.
func Slow(until <-chan struct{}) Answer {
	return func(_ context.Context, b *Broker, c gate.Cleared) (gate.Receipt, error) {
		<-until
		return b.Accept(c, true), nil
	}
}
