package cache

import (
	"bytes"
	"compress/gzip"
	"time"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// What the tests reach into.
const (
	TempName     = tempName
	LockName     = lockName
	PreambleSize = preambleSize
)

// LimitTo bounds a Cache more narrowly than one is.
func (c *Cache) LimitTo(file, unpacked int64) { c.limits = limits{file: file, unpacked: unpacked} }

// Seal returns the file that Store would write.
func (c *Cache) Seal(contents mirror.Contents) ([]byte, error) { return c.seal(contents) }

// Unseal reads such a file.
func (c *Cache) Unseal(file []byte) (mirror.Contents, error) {
	return c.unseal(bytes.NewReader(file), int64(len(file)))
}

// Forge returns a file that a faulty program with the right key would write.
func (c *Cache) Forge(at time.Time, packed []byte, unpacked int64) ([]byte, error) {
	h := &header{Origin: c.origin, Validated: at, Written: at, Unpacked: unpacked}
	return sealPacked(c.key, h, bytes.Clone(packed))
}

// Zip compresses what need not be Contents.
func Zip(plain []byte) []byte {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, _ = zip.Write(plain)
	_ = zip.Close()
	return out.Bytes()
}

// Encode returns the body before it is compressed.
func Encode(contents mirror.Contents) []byte {
	var out bytes.Buffer
	e := newEncoder(&out)
	e.contents(contents)
	_ = e.finish()
	return out.Bytes()
}

// Decode reads such a body.
func Decode(body []byte) (mirror.Contents, error) { return decode(body) }
