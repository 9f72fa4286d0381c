package store

// stackNeed is about what SQLite takes of a stack for a transaction, in bytes.
const stackNeed = 16 << 10

// Deepen gives the calling goroutine at once the stack that a transaction takes. Left alone, a new goroutine copies its
// stack at every doubling on the way down, which costs as much as a statement or two. Where the stack is there already
// it costs next to nothing. Immediate calls it; so does whoever runs transactions of its own.
//
//go:noinline
func Deepen() {
	var space [stackNeed]byte
	touch(&space)
}

//go:noinline
func touch(space *[stackNeed]byte) { space[0] = 1 }
