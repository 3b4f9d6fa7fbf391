package cache

import (
	"encoding/binary"
	"errors"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

// errUndecodable: the seal is whole, so it is a fault of the program that wrote it.
var errUndecodable = errors.New("was written by a faulty program and cannot be decoded; remove it")

// The fewest bytes that a Secret of the map, and a data key with its value, take.
const (
	minState = 5
	minDatum = 2
)

// decoder reads the body. An error sticks, and what is read after it is empty.
type decoder struct {
	rest []byte
	bad  bool
	data map[string][]byte // of the Secret that is read, used again for the next
}

// decode returns what is in a body: the Registry and the Secrets. They share no
// memory with it.
func decode(body []byte) (mirror.Contents, error) {
	d := &decoder{rest: body, data: make(map[string][]byte)}
	var c mirror.Contents
	c.Registry = d.maybeSecret()
	n := d.count(minState)
	c.Secrets = make(map[snapshot.Key]snapshot.SecretState, n)
	for i := 0; i < n && !d.bad; i++ {
		key := d.key()
		if _, twice := c.Secrets[key]; twice {
			d.bad = true
		}
		c.Secrets[key] = d.state()
	}
	if d.bad || len(d.rest) != 0 {
		return mirror.Contents{}, errUndecodable
	}
	return c, nil
}

func (d *decoder) state() snapshot.SecretState {
	status := snapshot.SecretStatus(d.byte())
	if status > snapshot.SecretForbidden {
		d.bad = true
	}
	return snapshot.SecretState{Status: status, Detail: d.text(), Secret: d.maybeSecret()}
}

func (d *decoder) maybeSecret() *snapshot.Secret {
	if !d.flag() {
		return nil
	}
	meta := snapshot.SecretMeta{Key: d.key(), UID: d.text(), Version: d.text(), Type: d.text(), MayInject: d.flag()}
	clear(d.data)
	n := d.count(minDatum)
	for i := 0; i < n && !d.bad; i++ {
		d.data[d.text()] = d.bytes()
	}
	if len(d.data) != n {
		d.bad = true
	}
	return snapshot.NewSecret(meta, d.data)
}

func (d *decoder) key() snapshot.Key {
	return snapshot.Key{Namespace: d.text(), Name: d.text()}
}

func (d *decoder) text() string { return string(d.bytes()) }

// bytes returns a part of the body itself.
func (d *decoder) bytes() []byte {
	n := d.count(1)
	part := d.rest[:n]
	d.rest = d.rest[n:]
	return part
}

// count returns how many things of so many bytes at least follow. It is never
// more than the rest has room for.
func (d *decoder) count(least int) int {
	n, size := binary.Uvarint(d.rest)
	if d.bad || size <= 0 || n > uint64((len(d.rest)-size)/least) {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return int(n)
}

func (d *decoder) flag() bool {
	b := d.byte()
	if b > 1 {
		d.bad = true
	}
	return b == 1
}

func (d *decoder) byte() byte {
	if d.bad || len(d.rest) == 0 {
		d.bad, d.rest = true, nil
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}
