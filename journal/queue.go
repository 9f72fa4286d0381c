package journal

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// request is one waiting Update.
type request struct {
	ctx    context.Context
	decide func(*Tx) error
	since  time.Time     // when it began to wait
	err    error         // its result, once it is out of the queue
	wake   chan struct{} // gets one token when the request has its result or is to lead
}

// queue gathers the callers that wait at the same time. The first one leads: it takes whoever waits, itself included,
// works for all of them, and hands the lead to the first one that came meanwhile.
type queue struct {
	mu      sync.Mutex
	waiting []*request // in the order of arrival; while somebody leads who has not taken yet, he is the first
	leader  *request   // nil if nobody leads
	closed  bool
	crowd   int // how many were taken last time
}

// MaxBatch bounds how many calls share one commit, and with it how long the write lock is held.
//
//limit:journal-batch At most 256 calls share one commit.
const MaxBatch = 256

// gatherYields is how often a leader lets other goroutines run before it takes the queue: those that its predecessor
// woke are then still on their way. Fewer gather half of them, more gather no more. A lone caller need not wait.
const gatherYields = 16

func (q *queue) do(r *request, lead func(*request)) error {
	r.since, r.wake = time.Now(), make(chan struct{}, 1)
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return ErrClosed
	}
	q.waiting = append(q.waiting, r)
	leads := q.leader == nil
	if leads {
		q.leader = r
	}
	q.mu.Unlock()
	if !leads {
		select {
		case <-r.wake:
		case <-r.ctx.Done():
			if q.leave(r) {
				return r.ctx.Err()
			}
			<-r.wake // taken already: the result is the true one
		}
		q.mu.Lock()
		leads = q.leader == r
		q.mu.Unlock()
	}
	if leads {
		defer q.handOn()
		lead(r)
	}
	return r.err
}

// leave takes a request out of the queue whose context has ended. It is false if the request was taken or is to lead.
func (q *queue) leave(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.leader != r && q.remove(r)
}

func (q *queue) remove(r *request) bool {
	for i, w := range q.waiting {
		if w == r {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// gather lets callers arrive who are about to, then takes whoever waits, the leader first. Those whose context has
// ended get its error and are not among the taken.
func (q *queue) gather() []*request {
	q.mu.Lock()
	crowded := q.crowd > 1 || len(q.waiting) > 1
	q.mu.Unlock()
	for range gatherYields {
		if crowded {
			runtime.Gosched()
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), MaxBatch)
	taken := make([]*request, 0, n)
	for _, r := range q.waiting[:n] {
		if err := r.ctx.Err(); err != nil {
			q.answer(r, err)
			continue
		}
		taken = append(taken, r)
	}
	q.waiting = append(q.waiting[:0], q.waiting[n:]...)
	q.crowd = len(taken)
	return taken
}

// fail ends one request that waits, the leader's own for instance.
func (q *queue) fail(r *request, err error) {
	q.failIf(err, func(w *request) bool { return w == r })
}

// failIf ends every waiting request for which it is true.
func (q *queue) failIf(err error, match func(*request) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	stay := q.waiting[:0]
	for _, r := range q.waiting {
		if match(r) {
			q.answer(r, err)
			continue
		}
		stay = append(stay, r)
	}
	q.waiting = stay
}

// answer ends a request. The leader needs no waking.
func (q *queue) answer(r *request, err error) {
	r.err = err
	if r != q.leader {
		r.wake <- struct{}{}
	}
}

// deliver wakes the taken requests, whose results are set.
func (q *queue) deliver(taken []*request, leader *request) {
	for _, r := range taken {
		if r != leader {
			r.wake <- struct{}{}
		}
	}
}

// handOn ends a lead: the first in the queue leads next.
func (q *queue) handOn() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.leader = nil
	if len(q.waiting) > 0 {
		q.leader = q.waiting[0]
		q.leader.wake <- struct{}{}
	}
}

// close refuses new requests and ends the waiting ones but the leader's, who sees it himself. It is false if it was
// closed before.
func (q *queue) close() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.closed = true
	var stay []*request
	for _, r := range q.waiting {
		if r == q.leader {
			stay = append(stay, r)
			continue
		}
		q.answer(r, ErrClosed)
	}
	q.waiting = stay
	return true
}
