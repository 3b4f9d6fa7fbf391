package cache_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror/cache"
)

// damagedCache has a file of some kilobytes, which is returned too.
func damagedCache(t *testing.T) (*cache.Cache, []byte) {
	t.Helper()
	c := emptyCache(t)
	contents := town(40)
	contents.Registry = shop().Registry
	require.NoError(t, c.Store(contents))
	return c, readFile(t, c.Path())
}

func TestRow20AFileCutAtAnyByteIsRefused(t *testing.T) {
	c, whole := damagedCache(t)
	for size := range slices.Backward(whole) {
		require.NoError(t, os.Truncate(c.Path(), int64(size)))
		_, err := c.Load()
		requireRefused(t, err, c.Path(), "is cut short", "remove it")
	}
}

func TestRow20AFileWithAnyByteChangedIsRefused(t *testing.T) {
	c, whole := damagedCache(t)
	f, err := os.OpenFile(c.Path(), os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	for at, was := range whole {
		_, err := f.WriteAt([]byte{was ^ 1<<(at%8)}, int64(at))
		require.NoError(t, err)
		_, err = c.Load()
		requireRefused(t, err, c.Path(), "remove it")
		_, err = f.WriteAt([]byte{was}, int64(at))
		require.NoError(t, err)
	}
	_, err = c.Load()
	require.NoError(t, err, "it is whole again")
}

// headerSize is what the preamble says.
func headerSize(file []byte) int { return int(binary.BigEndian.Uint32(file[12:])) }

func TestDamageIsNotTakenForAnotherKeyOrOrigin(t *testing.T) {
	c, whole := damagedCache(t)
	for at := cache.PreambleSize; at < cache.PreambleSize+headerSize(whole); at++ {
		file := bytes.Clone(whole)
		file[at] ^= 1
		_, err := c.Unseal(file)
		requireRefused(t, err, "has been altered or damaged")
	}
}

func TestWhatAFileLacksIsSaid(t *testing.T) {
	replace := func(at int, with ...byte) func([]byte) []byte {
		return func(file []byte) []byte {
			copy(file[at:], with)
			return file
		}
	}
	for name, test := range map[string]struct {
		change func([]byte) []byte
		words  string
	}{
		"empty":                     {func([]byte) []byte { return nil }, "is cut short (0 of 16 bytes)"},
		"of another program":        {replace(0, []byte("PK")...), "is no file of ours"},
		"of a newer version":        {replace(8, 0, 0, 0, 2), "has format version 2, and this program reads version 1"},
		"with a header without end": {replace(12, 0xff, 0xff, 0xff, 0xff), "has been altered"},
		"with a header too long":    {replace(12, 0, 0, 0xff, 0xff), "is cut short"},
		"with more at its end":      {func(file []byte) []byte { return append(file, 0) }, "has been altered"},
		"twice":                     {func(file []byte) []byte { return append(file, file...) }, "has been altered"},
		"zeros": {func(file []byte) []byte {
			clear(file)
			return file
		}, "is no file of ours"},
	} {
		t.Run(name, func(t *testing.T) {
			c, whole := damagedCache(t)
			require.NoError(t, os.WriteFile(c.Path(), test.change(whole), 0o600))
			_, err := c.Load()
			requireRefused(t, err, c.Path(), test.words, "remove it")
		})
	}
}

func TestTheBodyOfOneFileDoesNotFitTheHeaderOfAnother(t *testing.T) {
	c := emptyCache(t)
	older, err := c.Seal(shop())
	require.NoError(t, err)
	fresher := shop()
	fresher.Validated = noon
	newer, err := c.Seal(fresher)
	require.NoError(t, err)
	require.Len(t, newer, len(older))
	// As somebody would who wants what was taken away to look current.
	body := cache.PreambleSize + headerSize(newer) + 32
	_, err = c.Unseal(append(bytes.Clone(newer[:body]), older[body:]...))
	requireRefused(t, err, "has been altered")
}

func TestAHeaderThatWasRewrittenIsRefused(t *testing.T) {
	c := emptyCache(t)
	whole, err := c.Seal(shop())
	require.NoError(t, err)
	for was, is := range map[string]string{
		"2027-03-01T11:59:00Z": "2027-03-01T12:00:00Z", // validated
		"cluster-uid":          "another-uid",
		"uid-of-apps":          "uid-of-them",
	} {
		require.Contains(t, string(whole), was)
		file := bytes.Replace(whole, []byte(was), []byte(is), 1)
		// With its checksum, which anybody can make.
		end := cache.PreambleSize + headerSize(file)
		sum := sha256.Sum256(file[:end])
		copy(file[end:], sum[:])
		_, err := c.Unseal(file)
		requireRefused(t, err, "has been altered")
	}
}

func TestAFileThatIsTooLargeIsNotRead(t *testing.T) {
	c := storedCache(t)
	c.LimitTo(100, 1<<20)
	_, err := c.Load()
	requireRefused(t, err, c.Path(), "more than the 100 that are read")
}

func TestASparseFileOfGigabytesIsNotRead(t *testing.T) {
	c := storedCache(t)
	require.NoError(t, os.Truncate(c.Path(), 4<<30))
	_, err := c.Load()
	requireRefused(t, err, c.Path(), "4294967296 bytes, more than")
}

func TestABodyWithTheRightSealIsNotTrustedEither(t *testing.T) {
	plain := cache.Encode(shop())
	size := int64(len(plain))
	zeros := make([]byte, 1<<20)
	for name, test := range map[string]struct {
		packed   []byte
		unpacked int64
		words    string
	}{
		"it explodes":                {cache.Zip(zeros), size, "cannot be decoded"},
		"it explodes as it says":     {cache.Zip(zeros), 1 << 20, "more than the 65536"},
		"it is less than it says":    {cache.Zip(plain), size + 1, "cannot be decoded"},
		"it is more than it says":    {cache.Zip(plain), size - 1, "cannot be decoded"},
		"its size is negative":       {cache.Zip(plain), -1, "has been altered"},
		"it is not compressed":       {plain, size, "cannot be decoded"},
		"it is empty":                {nil, 0, "cannot be decoded"},
		"its compression is cut":     {cache.Zip(plain)[:40], size, "cannot be decoded"},
		"its checksum is wrong":      {wrongSum(cache.Zip(plain)), size, "cannot be decoded"},
		"it has more after its end":  {cache.Zip(append(bytes.Clone(plain), 0)), size + 1, "cannot be decoded"},
		"it unpacks to what is none": {cache.Zip(zeros[:10]), 10, "cannot be decoded"},
	} {
		t.Run(name, func(t *testing.T) {
			c := emptyCache(t)
			c.LimitTo(1<<20, 64<<10)
			file, err := c.Forge(noon, test.packed, test.unpacked)
			require.NoError(t, err)
			_, err = c.Unseal(file)
			requireRefused(t, err, test.words, "remove it")
		})
	}
}

func wrongSum(packed []byte) []byte {
	packed[len(packed)-8] ^= 1
	return packed
}

func TestABodyCutAtAnyByteIsNotDecoded(t *testing.T) {
	body := cache.Encode(shop())
	for size := range body {
		_, err := cache.Decode(body[:size])
		assert.Error(t, err, "%d of %d bytes", size, len(body))
	}
}

func TestABodyThatNoEncoderWritesIsNotDecoded(t *testing.T) {
	// A pending state: namespace, name, status, detail, no Secret.
	pending := []byte{1, 'a', 1, 'b', 0, 0, 0}
	with := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for name, body := range map[string][]byte{
		"a key twice":                 with([]byte{0, 2}, pending, pending),
		"a status that nobody knows":  with([]byte{0, 1}, pending[:4], []byte{4, 0, 0}),
		"a flag that is neither":      with([]byte{0, 1}, pending[:4], []byte{0, 0, 2}),
		"more Secrets than have room": with([]byte{0, 3}, pending, pending[:3]),
		"a count without end":         {0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"the largest count":           {0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"a data key twice":            {1, 0, 0, 0, 0, 0, 0, 2, 1, 'k', 0, 1, 'k', 0, 0},
		"something after its end":     with([]byte{0, 1}, pending, []byte{0}),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cache.Decode(body)
			requireRefused(t, err, "cannot be decoded")
		})
	}
	_, err := cache.Decode(with([]byte{0, 1}, pending))
	require.NoError(t, err, "without any of that it is fine")
}
