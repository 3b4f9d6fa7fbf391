package files

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// maxManifest bounds a manifest, in bytes: the largest Registry document in
// base64, and something around it.
const maxManifest = snapshot.MaxDocument/3*4 + 1<<20

// manifest is one manifest file and what it defined last.
type manifest struct {
	name    string
	good    bool // it has been read at least once
	defined []*definition
	unread  *mirror.Failure // why the file cannot be read
	wrong   *mirror.Failure // what is wrong with the content that was last read

	settler
	taken  fingerprint // of the content that was last decoded, well or not
	reload bool        // a Secret that was not kept is wanted now
	held   time.Time

	sum     [sha256.Size]byte // of the content whose other kinds were reported
	ignored ignored           // not reported yet
}

// isManifest passes over hidden files: editors keep unfinished ones under such
// names.
func isManifest(name string) bool {
	if strings.HasPrefix(name, ".") {
		return false
	}
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// look reads the file if it differs from what was read before.
func (m *manifest) look(root *os.Root, e entry, d decoder, now time.Time) sight {
	info, err := root.Stat(e.path)
	if errors.Is(err, fs.ErrNotExist) {
		return m.lookMissing(now)
	}
	switch {
	case err != nil:
		return m.fail(err)
	case info.IsDir():
		return m.lookMissing(now)
	case !info.Mode().IsRegular():
		return m.fail(errNotRegular)
	}
	want := newStamp(e.path, info)
	p := fingerprint{exists: true, files: []stamp{want}}
	settled := m.settled(p, now) || e.atomic
	if p.equal(m.taken) && !m.reload {
		m.unread, m.held = nil, time.Time{}
		return same
	}
	if !settled {
		return unsettled
	}
	text, err := readFile(root, want, maxManifest, e.atomic)
	if err != nil {
		return m.excuse(err, now)
	}
	m.taken, m.reload, m.unread, m.held = p, false, nil, time.Time{}
	return m.take(text, d)
}

// lookMissing drops the file once it has stayed away.
func (m *manifest) lookMissing(now time.Time) sight {
	if !m.settled(fingerprint{}, now) {
		return unsettled
	}
	return gone
}

// excuse gives a file that is being written some time.
func (m *manifest) excuse(err error, now time.Time) sight {
	if swapped(err) {
		return unsettled
	}
	if errors.Is(err, errHeld) {
		if m.held.IsZero() {
			m.held = now
		}
		if now.Sub(m.held) < heldPatience {
			return unsettled
		}
	}
	return m.fail(err)
}

// fail keeps what the file defined last. The Sink learns of it as a failure
// only.
func (m *manifest) fail(err error) sight {
	m.unread = newFailure(err, m.name+": "+reason(err))
	return same
}

func (m *manifest) title() string { return "file " + m.name }

// failure returns why what is in the file does not count, or nil.
func (m *manifest) failure() *mirror.Failure {
	if m.unread != nil {
		return m.unread
	}
	return m.wrong
}

// take decodes the content. The Secrets that it defines wrongly keep what they
// were.
func (m *manifest) take(text []byte, d decoder) sight {
	defined, others, err := d.decode(m.name, text)
	if err != nil {
		m.wrong = newFailure(err, err.Error())
		return changed
	}
	m.good, m.wrong = true, nil
	for _, def := range defined {
		if def.refusal == "" {
			continue
		}
		if m.wrong == nil {
			m.wrong = newFailure(nil, def.refusal)
		}
		def.keep(m.defined)
	}
	m.defined = defined
	if sum := d.seal.text(text); sum != m.sum {
		m.sum, m.ignored = sum, others
	}
	return changed
}

// keep takes over the last good definition of the same Secret, if there is one.
func (def *definition) keep(before []*definition) {
	for _, old := range before {
		if old.key == def.key && old.secret != nil {
			def.secret, def.refusal = old.secret, ""
			return
		}
	}
}

// rereference drops the Secrets that are not wanted any more, and has the file
// read again for those that are wanted now.
func (m *manifest) rereference(wanted func(snapshot.Key) bool) {
	for _, def := range m.defined {
		switch {
		case !wanted(def.key):
			def.secret = nil
		case def.secret == nil && def.refusal == "":
			m.reload = true
		}
	}
}

// takeIgnored returns the documents of other kinds, once for each content.
func (m *manifest) takeIgnored() ignored {
	all := m.ignored
	m.ignored = ignored{}
	return all
}
