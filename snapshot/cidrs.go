package snapshot

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
)

// optionalList is a list of strings that may be left out, but neither be null nor
// empty: an empty policy looks just like one that was lost.
type optionalList struct {
	items []string
	set   bool
	wrong string // what is written instead of a list of strings
}

// UnmarshalJSON implements json.Unmarshaler. It never fails, since the decoder
// would stop there and not see the rest of the entry.
func (o *optionalList) UnmarshalJSON(text []byte) error {
	o.set = true
	if text[0] != '[' || json.Unmarshal(text, &o.items) != nil {
		o.items, o.wrong = nil, shorten(string(text), maxQuoted)
	}
	return nil
}

// addCIDRs reads allowCIDRs. Whatever is wrong with it makes the entry wrong, so
// that a slip of the pen never admits an address.
func (e *Entry) addCIDRs(list optionalList) {
	if !list.set {
		return
	}
	if len(list.items) == 0 {
		e.refuse(fmt.Errorf("allowCIDRs: %s is no list of addresses; write it as in [10.0.0.0/8], or leave the field out",
			cmp.Or(list.wrong, "[]")))
		return
	}
	e.AllowCIDRs = make([]netip.Prefix, 0, len(list.items))
	for _, item := range list.items {
		prefix, err := parseCIDR(item)
		if err != nil {
			e.refuse(fmt.Errorf("allowCIDRs: %s %w", quote(item), err))
			return
		}
		e.AllowCIDRs = append(e.AllowCIDRs, prefix)
	}
}

// parseCIDR takes an address for the range that holds it alone.
func parseCIDR(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, errors.New("is no range of addresses; write it as in 10.0.0.0/8")
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	switch {
	case prefix.Addr().Is4In6():
		return netip.Prefix{}, errors.New("is an IPv4 range written as IPv6, which no client has; write the IPv4 range")
	case prefix != prefix.Masked():
		return netip.Prefix{}, fmt.Errorf("has bits set beyond its length; write %s if that is meant", prefix.Masked())
	}
	return prefix, nil
}

// admits reports whether the caller's address is in a range of the App, or the
// App has none.
func (a *App) admits(c Caller) bool {
	if len(a.AllowCIDRs) == 0 {
		return true
	}
	if c == nil {
		return false
	}
	addr, ok := c.Addr()
	if !ok {
		return false
	}
	addr = addr.Unmap().WithZone("")
	for _, prefix := range a.AllowCIDRs {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}
