package cache

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// pack encodes and compresses contents. It returns how many bytes they unpack to.
func pack(contents mirror.Contents) (packed []byte, unpacked int64, err error) {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, 0, err
	}
	e := newEncoder(zip)
	e.contents(contents)
	if err := errors.Join(e.finish(), zip.Close()); err != nil {
		return nil, 0, fmt.Errorf("cannot be compressed: %w", err)
	}
	return out.Bytes(), e.written, nil
}

// unpack returns what packed unpacks to, if that is exactly so many bytes: an
// exploding archive takes no more memory than its header admits.
func unpack(packed []byte, unpacked int64) ([]byte, error) {
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, errUndecodable
	}
	plain := make([]byte, unpacked)
	if _, err := io.ReadFull(zip, plain); err != nil {
		clear(plain)
		return nil, errUndecodable
	}
	// The checksum is compared at the end only.
	if n, err := zip.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		clear(plain)
		return nil, errUndecodable
	}
	return plain, nil
}
