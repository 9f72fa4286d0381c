package rest

import (
	"net"
	"slices"
	"sync"
)

// Bounds of the places of a listener.
const (
	//limit:rest-connections A listener holds at most 1024 connections. For one more the oldest without a call that was let in is closed; where every one has such a call, the new one is.
	maxConnections = 1024
	//limit:rest-user-connections One operating-system user has at most 768 connections to a socket; for one more the oldest of its own is given up likewise.
	maxOfUser = 768
	//limit:rest-ending-places Of the places of a listener and of a user 128 are kept for stops, cancels and withdrawals: where all others have a call, one more of another kind is refused, CALLS_EXCEED_LIMIT.
	keptForEnding = 128
)

// places are the connections of one listener. Whoever opens connections and calls nothing, or is not let in, keeps no
// place from those who call.
type places struct {
	most, ofUser, kept int

	mu  sync.Mutex
	all []*conn // the oldest first
}

// conn is a connection with its place. It gives the place up when it is closed.
type conn struct {
	net.Conn
	l      *listener
	uid    uint32 // of the user at the other end of a socket
	within bool   // a call that was let in, and ends nothing, is on its way
	caller bool   // one was let in
	once   sync.Once
}

// take gives a connection a place; false if there is none. Another may be closed for it.
func (p *places) take(c *conn) bool {
	p.mu.Lock()
	count, most := map[uint32]int{}, c.uid
	for _, o := range p.all {
		count[o.uid]++
		if count[o.uid] > count[most] {
			most = o.uid
		}
	}
	var given *conn
	own := count[c.uid]
	switch {
	case own >= p.ofUser:
		given = p.spare(func(uid uint32) bool { return uid == c.uid })
	case len(p.all) >= p.most:
		if given = p.spare(func(uid uint32) bool { return uid == most }); given == nil {
			given = p.spare(func(uint32) bool { return true })
		}
	}
	if given != nil {
		p.drop(given)
	}
	free := len(p.all) < p.most && (own < p.ofUser || given != nil)
	if free {
		p.all = append(p.all, c)
	}
	p.mu.Unlock()
	if given != nil {
		_ = given.Close()
	}
	return free
}

// spare returns the connection, of those users, that is given up first: the oldest of which no call was ever let in, else
// the oldest without one on its way; nil if all have one.
func (p *places) spare(of func(uid uint32) bool) (quiet *conn) {
	for _, c := range p.all {
		switch {
		case !of(c.uid) || c.within:
		case !c.caller:
			return c
		case quiet == nil:
			quiet = c
		}
	}
	return quiet
}

// drop takes a connection's place away.
func (p *places) drop(c *conn) {
	if i := slices.Index(p.all, c); i >= 0 {
		p.all = slices.Delete(p.all, i, i+1)
	}
}

// room reports whether one more call that ends nothing leaves the places that are kept, of the user's and of all.
func (p *places) room(uid uint32) bool {
	all, own := 0, 0
	for _, c := range p.all {
		if c.within {
			all++
			if c.uid == uid {
				own++
			}
		}
	}
	return all < p.most-p.kept && own < p.ofUser-p.kept
}

// enter says that a call was let in on a connection; false if its place is kept for a call that ends something. Such a
// call is carried out once it has arrived, whether its caller is still there or not, so its connection may be given up.
func (c *conn) enter(ends bool) bool {
	if c == nil {
		return true
	}
	p := &c.l.places
	p.mu.Lock()
	defer p.mu.Unlock()
	c.caller = true
	c.within = !ends && p.room(c.uid)
	return ends || c.within
}

// leave says that its answer is written.
func (c *conn) leave() {
	if c == nil {
		return
	}
	c.l.places.mu.Lock()
	defer c.l.places.mu.Unlock()
	c.within = false
}

// Close closes the connection.
func (c *conn) Close() error {
	c.once.Do(func() {
		c.l.places.mu.Lock()
		defer c.l.places.mu.Unlock()
		c.l.places.drop(c)
	})
	return c.Conn.Close()
}
