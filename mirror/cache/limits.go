package cache

import "fmt"

// limits bound what is written and read, in bytes.
type limits struct {
	file     int64 // the whole file
	unpacked int64 // the body without seal and compression
}

// Ten times what 100,000 Apps take, and what a 32-bit process can hold.
var defaultLimits = limits{file: 512 << 20, unpacked: 1 << 30}

func (l limits) admitFile(size int64) error {
	if size > l.file {
		return fmt.Errorf("has %d bytes, more than the %d that are read; remove it", size, l.file)
	}
	return nil
}

func (l limits) admitUnpacked(size int64) error {
	if size > l.unpacked {
		return fmt.Errorf("unpacks to %d bytes, more than the %d that are read; remove it", size, l.unpacked)
	}
	return nil
}
