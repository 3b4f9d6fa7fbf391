package cache

import (
	"encoding/binary"
	"io"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// The body is a sequence of counts (unsigned varints), texts (a count of bytes
// and the bytes) and flags (one byte, 0 or 1):
//
//	flag: there is a Registry; its Secret
//	count of Secrets; each: its key, status (one byte), detail, flag: there is a Secret; the Secret
//
// where a key is namespace and name, and a Secret is its key, UID, version, type,
// flag: may inject, count of data keys, and each data key with its value.

// spillSize is how many bytes are collected before they are passed on.
const spillSize = 64 << 10

// encoder writes the body. An error sticks.
type encoder struct {
	to      io.Writer
	buf     []byte
	written int64
	err     error
}

func newEncoder(to io.Writer) *encoder {
	return &encoder{to: to, buf: make([]byte, 0, 2*spillSize)}
}

func (e *encoder) contents(c mirror.Contents) {
	e.maybeSecret(c.Registry)
	e.count(len(c.Secrets))
	for key, state := range c.Secrets {
		e.key(key)
		e.buf = append(e.buf, byte(state.Status))
		e.text(state.Detail)
		e.maybeSecret(state.Secret)
		e.spill(spillSize)
	}
}

func (e *encoder) maybeSecret(s *snapshot.Secret) {
	e.flag(s != nil)
	if s != nil {
		e.secret(s)
	}
}

func (e *encoder) secret(s *snapshot.Secret) {
	e.key(s.Key())
	e.text(s.UID())
	e.text(s.Version())
	e.text(s.Type())
	e.flag(s.MayInject())
	e.count(s.Len())
	for _, dataKey := range s.Keys() {
		value, _ := s.Value(dataKey)
		e.text(dataKey)
		e.text(value)
	}
}

func (e *encoder) key(k snapshot.Key) {
	e.text(k.Namespace)
	e.text(k.Name)
}

func (e *encoder) text(s string) {
	e.count(len(s))
	e.buf = append(e.buf, s...)
}

func (e *encoder) count(n int) { e.buf = binary.AppendUvarint(e.buf, uint64(n)) }

func (e *encoder) flag(set bool) {
	b := byte(0)
	if set {
		b = 1
	}
	e.buf = append(e.buf, b)
}

// spill passes on what was collected, once it is more than so many bytes.
func (e *encoder) spill(least int) {
	if len(e.buf) <= least || e.err != nil {
		return
	}
	_, e.err = e.to.Write(e.buf)
	e.written += int64(len(e.buf))
	clear(e.buf)
	e.buf = e.buf[:0]
}

func (e *encoder) finish() error {
	e.spill(0)
	return e.err
}
