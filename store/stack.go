package store

// stackNeed is what a transaction takes of a stack, in bytes, so that a goroutine that has only begun doubles its stack
// once and not three times.
const stackNeed = 8 << 10

// Deepen gives the calling goroutine at once the stack that a transaction takes. Left alone, a new goroutine copies its
// stack at every doubling on the way down, which costs as much as a statement or two. Immediate calls it; so does whoever
// runs transactions of its own.
func Deepen() { deepen(false) }

// deepen has a large frame, for which room is made when it is called; what it would do with the room it never does.
//
//go:noinline
func deepen(really bool) {
	if really {
		var space [stackNeed]byte
		touch(&space)
	}
}

//go:noinline
func touch(space *[stackNeed]byte) { space[0] = 1 }
