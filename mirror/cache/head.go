package cache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The head is all before the body: the preamble (magic, format version, length
// of the header), the header and the checksum of both.
const (
	magic         = "azbcache"
	formatVersion = 1

	preambleSize = len(magic) + 4 + 4
	maxHeader    = 64 << 10
)

// encodeHead returns the head with the header h.
func encodeHead(h *header) ([]byte, error) {
	text, err := h.encode()
	if err != nil {
		return nil, err
	}
	head := make([]byte, 0, preambleSize+len(text)+sha256.Size)
	head = append(head, magic...)
	head = binary.BigEndian.AppendUint32(head, formatVersion)
	head = binary.BigEndian.AppendUint32(head, uint32(len(text)))
	head = append(head, text...)
	sum := sha256.Sum256(head)
	return append(head, sum[:]...), nil
}

// readHead reads the head of a file of so many bytes. It vouches for damage
// alone: who can write the file can write a head.
func readHead(from io.Reader, size int64) (*header, []byte, error) {
	preamble := make([]byte, preambleSize)
	if size < int64(len(preamble)) {
		return nil, nil, cutShort(size, int64(len(preamble)))
	}
	if _, err := io.ReadFull(from, preamble); err != nil {
		return nil, nil, explain("cannot be read", err)
	}
	length, err := readPreamble(preamble)
	if err != nil {
		return nil, nil, err
	}
	head := make([]byte, preambleSize+length+sha256.Size)
	if size < int64(len(head)) {
		return nil, nil, cutShort(size, int64(len(head)))
	}
	copy(head, preamble)
	if _, err := io.ReadFull(from, head[preambleSize:]); err != nil {
		return nil, nil, explain("cannot be read", err)
	}
	signed, sum := head[:preambleSize+length], head[preambleSize+length:]
	if want := sha256.Sum256(signed); !bytes.Equal(sum, want[:]) {
		return nil, nil, errAltered
	}
	h, err := decodeHeader(signed[preambleSize:])
	return h, head, err
}

// readPreamble returns the length of the header, no more than maxHeader.
func readPreamble(preamble []byte) (int, error) {
	rest, ok := bytes.CutPrefix(preamble, []byte(magic))
	if !ok {
		return 0, errors.New("is no file of ours; name another directory, or remove it")
	}
	if version := binary.BigEndian.Uint32(rest); version != formatVersion {
		return 0, fmt.Errorf("has format version %d, and this program reads version %d; run the program that wrote it, or remove it",
			version, formatVersion)
	}
	length := binary.BigEndian.Uint32(rest[4:])
	if length > maxHeader {
		return 0, errAltered
	}
	return int(length), nil
}
