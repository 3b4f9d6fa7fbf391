package cache_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const benchSecrets = 10_000

// BenchmarkSeal is a Store without the disk.
func BenchmarkSeal(b *testing.B) {
	c := emptyCache(b)
	contents := town(benchSecrets)
	b.ReportAllocs()
	for b.Loop() {
		file, err := c.Seal(contents)
		require.NoError(b, err)
		b.SetBytes(int64(len(file)))
	}
}

func BenchmarkStore(b *testing.B) {
	c := emptyCache(b)
	contents := town(benchSecrets)
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, c.Store(contents))
	}
}

func BenchmarkLoad(b *testing.B) {
	c := emptyCache(b)
	require.NoError(b, c.Store(town(benchSecrets)))
	b.ReportAllocs()
	for b.Loop() {
		_, err := c.Load()
		require.NoError(b, err)
	}
}
