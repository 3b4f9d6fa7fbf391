package bench

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// duration reads in three digits, from nanoseconds up.
func duration(d time.Duration) quantity { return nanoseconds(float64(d)) }

func nanoseconds(ns float64) quantity {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}} {
		if ns >= unit.size {
			return quantity{ns, digits(ns/unit.size) + " " + unit.name}
		}
	}
	return quantity{ns, digits(ns) + " ns"}
}

// digits shows three digits, or all before the point.
func digits(x float64) string {
	decimals := 2
	for size := 10.0; size <= 1000 && x >= size; size *= 10 {
		decimals--
	}
	return strconv.FormatFloat(x, 'f', max(decimals, 0), 64)
}

func ratio(x float64) quantity { return quantity{x, strconv.FormatFloat(x, 'f', 3, 64)} }

func count[N int | int64 | float64](n N) quantity {
	return quantity{float64(n), grouped(int64(n))}
}

// share is a part of one core.
func share(x float64) quantity { return quantity{x, fmt.Sprintf("%.1f %%", 100*x)} }

func mebibytes(bytes float64) quantity {
	return quantity{bytes, fmt.Sprintf("%.1f MiB", bytes/(1<<20))}
}

func plainBytes(bytes float64) quantity { return quantity{bytes, grouped(int64(bytes)) + " B"} }

// grouped writes 10000 as 10,000.
func grouped(n int64) string {
	if n < 0 {
		return "-" + grouped(-n)
	}
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// median of one value at least.
func median[N int | float64 | time.Duration](values []N) N { return quantile(values, 0.5) }

// quantile returns the value that a part q of all, 1 at most, does not exceed.
func quantile[N int | float64 | time.Duration](values []N, q float64) N {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func TestFiguresReadWell(t *testing.T) {
	for want, got := range map[string]quantity{
		"16.4 ns":     nanoseconds(16.41),
		"0.41 ns":     nanoseconds(0.414),
		"1.50 ms":     duration(1500 * time.Microsecond),
		"152 us":      duration(151_600 * time.Nanosecond),
		"12.0 s":      duration(12 * time.Second),
		"0.970":       ratio(0.97),
		"34.5 %":      share(0.345),
		"1,000,000":   count(1_000_000),
		"-1,024":      count(-1024),
		"-12.0 MiB":   mebibytes(-12 << 20),
		"1,023 B":     plainBytes(1023.4),
		"16.0 MiB":    mebibytes(16 << 20),
		"123456 s":    duration(123456 * time.Second),
		"100 ns":      nanoseconds(100),
		"0.00 ns":     nanoseconds(0),
		"999,999,999": count(999_999_999),
	} {
		assert.Equal(t, want, got.text)
	}
}

func TestQuantiles(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = 100 - i
	}
	assert.Equal(t, 51, median(hundred))
	assert.Equal(t, 100, quantile(hundred, 0.99))
	assert.Equal(t, 100, quantile(hundred, 1))
	assert.Equal(t, 7, median([]int{7}))
	assert.Equal(t, 100, hundred[0], "what was given stays in its order")
}
