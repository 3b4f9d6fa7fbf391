package snapshot

import "slices"

// UpstreamsBuilder builds the View *Upstreams. It is a Builder of its own so that
// whatever is wrong with where an App is does not touch who may come in. It must be
// called by one goroutine at a time, as the Mirror does.
type UpstreamsBuilder struct {
	last *Upstreams
}

// NewUpstreamsBuilder returns a Builder of the View *Upstreams.
func NewUpstreamsBuilder() *UpstreamsBuilder { return new(UpstreamsBuilder) }

// Name implements Builder.
func (*UpstreamsBuilder) Name() string { return "upstreams" }

// Build implements Builder. It returns an *Upstreams and never an error.
func (b *UpstreamsBuilder) Build(o Objects) (any, error) {
	if b.last != nil && !o.Changes.All && !o.Changes.Registry {
		return b.last, nil
	}
	next := &Upstreams{registry: o.Registry.asRead(), byIndex: b.read(o.Registry.Entries())}
	if b.last == nil || !slices.Equal(b.last.byIndex, next.byIndex) {
		b.last = next
	}
	return b.last, nil
}

func (b *UpstreamsBuilder) read(entries []*Entry) []*AppUpstreams {
	var all []*AppUpstreams
	for i := range entries {
		if !entries[i].upstreams.isSet() {
			continue
		}
		if all == nil {
			all = make([]*AppUpstreams, len(entries))
		}
		all[i] = b.readOne(i, entries[i])
	}
	return all
}

// readOne shares what is of the same entry.
func (b *UpstreamsBuilder) readOne(i int, e *Entry) *AppUpstreams {
	if b.last != nil && i < len(b.last.byIndex) {
		if last := b.last.byIndex[i]; last != nil && last.entry.equal(e) {
			return last
		}
	}
	next := &AppUpstreams{entry: e}
	next.Addresses, next.Err = readUpstreams(e.upstreams)
	return next
}
