package files

import (
	"errors"
	"io/fs"
	"time"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

const (
	// maxTree bounds the values of all keys together, in bytes, as Kubernetes
	// does.
	maxTree = 1 << 20

	// swapAttempts is how often a tree is read anew at once when it is swapped
	// meanwhile.
	swapAttempts = 3
)

// tree is the directory of one Secret and what it held last.
type tree struct {
	key  snapshot.Key
	most int64 // bytes of all keys
	seal seal

	finding
	failure *mirror.Failure // why what is there now does not count

	settler
	taken fingerprint // of the content that was last read
	held  time.Time

	ignored []string // names that are no keys, not reported yet
}

// finding is what is known of a place that may define a Secret. In the zero
// finding it is not known yet.
type finding struct {
	absent  bool
	secret  *snapshot.Secret
	refusal string
}

func (f finding) equal(other finding) bool {
	return f.absent == other.absent && f.refusal == other.refusal && f.secret.Equal(other.secret)
}

// look reads the tree if it differs from what was read before.
func (t *tree) look(namespace lookup, now time.Time) sight {
	for range swapAttempts {
		seen, err := t.guarded(namespace, now)
		if err == nil {
			return seen
		}
		if !swapped(err) {
			return t.unread(err, now)
		}
	}
	return unsettled
}

// swapped reports whether an error is due to a change while something was read.
func swapped(err error) bool {
	return errors.Is(err, errMoved) || errors.Is(err, fs.ErrNotExist)
}

// guarded makes a panic an error of this Secret alone.
func (t *tree) guarded(namespace lookup, now time.Time) (seen sight, err error) {
	defer func() {
		if p := recover(); p != nil {
			seen, err = same, located("directory "+t.key.String(), panicError(p))
		}
	}()
	return t.attempt(namespace, now)
}

func (t *tree) attempt(namespace lookup, now time.Time) (sight, error) {
	if namespace.err != nil {
		return same, located("directory "+t.key.Namespace, namespace.err)
	}
	if !namespace.found {
		return t.lookMissing(now), nil
	}
	at := namespace.child(t.key.Name)
	if at.err != nil {
		return same, located("directory "+t.key.String(), at.err)
	}
	if !at.found {
		return t.lookMissing(now), nil
	}
	own, err := at.within()
	if err != nil {
		return same, located("directory "+t.key.String(), err)
	}
	defer own.root.Close()
	content, err := listTree(own)
	if err != nil {
		return same, located("directory "+t.key.String(), err)
	}
	return t.compare(content, now)
}

// compare reads what has settled and is not what was read before.
func (t *tree) compare(c treeContent, now time.Time) (sight, error) {
	p := c.fingerprint()
	settled := t.settled(p, now) || c.atomic()
	if p.equal(t.taken) {
		t.held, t.failure = time.Time{}, nil
		return same, nil
	}
	if !settled {
		return unsettled, nil
	}
	if err := c.bound(t.most); err != nil {
		return same, located("directory "+t.key.String(), err)
	}
	data, err := c.read()
	if err != nil {
		return same, err
	}
	t.taken, t.held, t.failure, t.ignored = p, time.Time{}, nil, c.ignored
	return t.found(finding{secret: t.seal.secret(snapshot.SecretMeta{Key: t.key, Type: typeOpaque}, data)}), nil
}

func (t *tree) found(f finding) sight {
	if t.equal(f) {
		return same
	}
	t.finding = f
	return changed
}

// lookMissing drops the Secret once it has stayed away.
func (t *tree) lookMissing(now time.Time) sight {
	if !t.settled(fingerprint{}, now) {
		return unsettled
	}
	t.taken, t.held, t.failure = fingerprint{}, time.Time{}, nil
	return t.found(finding{absent: true})
}

// unread refuses the Secret for what is wrong with it, but keeps it while the
// device, the network or this program fails.
func (t *tree) unread(err error, now time.Time) sight {
	if errors.Is(err, errHeld) {
		if t.held.IsZero() {
			t.held = now
		}
		if now.Sub(t.held) < heldPatience {
			return unsettled
		}
	}
	if passing(err) || errors.Is(err, errHeld) || errors.Is(err, errPanic) {
		t.failure = newFailure(err, reason(err)+"; what was read before stays in use")
		return same
	}
	t.taken, t.held, t.failure = fingerprint{}, time.Time{}, nil
	return t.found(finding{refusal: reason(err)})
}

// takeIgnored returns the names that are no keys, once for each content.
func (t *tree) takeIgnored() []string {
	all := t.ignored
	t.ignored = nil
	return all
}
