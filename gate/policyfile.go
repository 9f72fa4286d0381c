package gate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"syscall"
	"time"

	"sallyport/policy"
	"sallyport/trade"
)

// maxPolicy bounds a policy file, in bytes.
//
//limit:gate-policy-bytes A policy file of over 1 MiB is not read: POLICY_UNREADABLE.
const maxPolicy = 1 << 20

// policyFile reads the operator's policy. Each read is of the whole file, once; what is hashed is what is parsed. The
// parsed policy of the last bytes is kept, since equal bytes are an equal policy.
type policyFile struct {
	path string
	mu   sync.Mutex
	last PolicyView

	given *PolicyView // of a gate in memory, which reads no file

	way struct { // the last look at the directories above the file
		at  time.Time
		err error
	}
	// soundness says why a policy of version 2 is not loaded although it can be read; nil if it is, or if nothing asks.
	soundness func(PolicyView) *policy.Reason
	world     func() policy.World // that a policy is compared with; nil: with nothing but the time zones
	proved    string              // the SHA-256 of what was last found sound
}

// wayAgain is how often the directories above the policy are looked at again.
const wayAgain = time.Second

// safeWay looks at the directories above the file, unless it has done so just now.
func (p *policyFile) safeWay() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.Sub(p.way.at) >= wayAgain || p.way.err != nil {
		p.way.at, p.way.err = now, privateWay(p.path)
	}
	return p.way.err
}

// view reads the file as it is now. It never fails: a policy that cannot be used is a view with a reason.
func (p *policyFile) view() PolicyView {
	if p.given != nil {
		return *p.given
	}
	raw, err := ReadOwned(p.path, maxPolicy)
	if err == nil {
		err = p.safeWay()
	}
	if err != nil {
		return PolicyView{Reason: &policy.Reason{
			Code: policy.PolicyUnreadable, Field: "policy",
			Message: "the policy cannot be used, so nothing is allowed: " + plain(p.path, err),
		}}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	again := p.last.Reason != nil && p.last.Reason.Code != policy.PolicyTestsFail // what it is compared with may be another now
	if p.last.Raw == nil || again || !bytes.Equal(p.last.Raw, raw) {
		p.last = viewIn(raw, p.worldNow())
		p.prove()
	}
	return p.last
}

// prove takes the last policy out of force if it is of version 2 and not sound. It is asked once for the same bytes.
func (p *policyFile) prove() {
	if p.last.Book == nil || p.soundness == nil || p.proved == p.last.SHA256 {
		return
	}
	if p.last.refuse(p.soundness(p.last)); p.last.Book != nil {
		p.proved = p.last.SHA256
	}
}

// plain says in plain words why a file cannot be read.
func plain(path string, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no file " + path
	case errors.Is(err, fs.ErrPermission):
		return path + " may not be read"
	}
	return err.Error()
}

func (p *policyFile) worldNow() policy.World {
	if p.world == nil {
		return World(nil)
	}
	return p.world()
}

func (g *Gate) world() policy.World { return World(g.cfg.Market) }

// World is what a policy is compared with beyond itself: time zones, and the symbols that the broker lists, if there is a
// market that knows them. A list that cannot be read is no fault of the policy; it denies the orders.
//
//limit:gate-listed A policy of version 2 that names a symbol which the broker does not list is not loaded: POLICY_INVALID.
func World(m Market) policy.World {
	w := policy.World{Zone: func(name string) bool { return zoneOf(name) != nil }}
	if m != nil {
		look := sync.OnceValue(func() View { return m.Look(policy.Quotes{}) }) // a policy of version 1 asks nothing
		w.Symbol = func(s trade.Symbol) bool { return look().Instrument(s).Code != policy.SymbolNotListed }
	}
	return w
}

// viewIn judges a policy's bytes, whichever version they are of, beside what they are compared with.
func viewIn(raw []byte, w policy.World) PolicyView {
	sum := sha256.Sum256(raw)
	v := PolicyView{Raw: raw, SHA256: hex.EncodeToString(sum[:])}
	loaded, err := policy.Load(raw, w)
	if err != nil {
		var wrong *policy.ConfigError
		if errors.As(err, &wrong) {
			v.Problems = wrong.Problems
		}
		v.Reason = &policy.Reason{
			Code: policy.PolicyInvalid, Field: "policy",
			Message: fmt.Sprintf("the policy is not valid, so nothing is allowed: %v", err),
		}
		return v
	}
	if v.Policy, v.Book = loaded.V1, loaded.V2; v.Book != nil {
		v.zone = zoneOf(v.Book.Timezone())
	}
	return v
}

// zoneOf returns a time zone by its name; nil if there is none. What is local to a machine is no zone of a policy, whose
// days must be the same on every machine.
func zoneOf(name string) *time.Location {
	if name == "" || name == "Local" {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return zone
}

// ErrNotOwned says that a file is there and is not used, because somebody else could have written it, it is no file, or
// it is too large.
var ErrNotOwned = errors.New("the file is refused")

// ReadOwned opens a file once, checks what was opened, and reads it whole. The check is on the open descriptor, so that
// nothing can be put in its place in between; opening never waits for a writer of a pipe. It goes to the system directly,
// since every guarded call pays for it.
//
//limit:gate-policy-mode A policy file that is not regular, belongs to another user, or can be written by group or others is not used: POLICY_UNREADABLE.
func ReadOwned(path string, most int64) (raw []byte, err error) {
	fd, err := uninterrupted(func() (int, error) {
		return syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if _, err := uninterrupted(func() (int, error) { return 0, syscall.Fstat(fd, &st) }); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return nil, fmt.Errorf("%w: %s is not a regular file", ErrNotOwned, path)
	}
	if err := private(path, st.Uid, fs.FileMode(st.Mode)&fs.ModePerm); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotOwned, err)
	}
	raw = make([]byte, 0, min(st.Size, most)+1) // room for one byte too many, so that the end is seen at once
	for int64(len(raw)) <= most {
		if len(raw) == cap(raw) {
			raw = slices.Grow(raw, len(raw)) // it has grown since
		}
		n, err := uninterrupted(func() (int, error) { return syscall.Read(fd, raw[len(raw):cap(raw)]) })
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			return raw, nil
		}
		raw = raw[:len(raw)+n]
	}
	return nil, fmt.Errorf("%w: %s is over %d bytes", ErrNotOwned, path, most)
}

// uninterrupted makes a system call again that a signal has broken off.
func uninterrupted(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}
