package snapshot

import "slices"

// chunkSize is how many Apps are copied when one of them changes.
const chunkSize = 512

// slot is what a request for an App without a policy needs. It stands in an array,
// for the Apps themselves are in no cache.
type slot struct {
	app    *App
	reason Reason
	plain  bool // nothing about the App depends on the request or on the time
}

func newSlot(app *App) slot {
	plain := !app.bounded && len(app.AnyOf) == 0
	return slot{app: app, reason: app.Reason, plain: plain}
}

// slots are those of all Apps, in chunks that generations share as long as nothing
// in them changes.
type slots struct {
	chunks []*[chunkSize]slot
	n      int
}

func newSlots(n int) slots {
	s := slots{chunks: make([]*[chunkSize]slot, (n+chunkSize-1)/chunkSize), n: n}
	for i := range s.chunks {
		s.chunks[i] = new([chunkSize]slot)
	}
	return s
}

func (s *slots) at(i int) *slot { return &s.chunks[i/chunkSize][i%chunkSize] }

// clone shares every chunk.
func (s *slots) clone() slots { return slots{chunks: slices.Clone(s.chunks), n: s.n} }

// replace puts an App into a clone of last, and leaves last as it is.
func (s *slots) replace(i int, app *App, last *slots) {
	c := i / chunkSize
	if s.chunks[c] == last.chunks[c] {
		chunk := *last.chunks[c]
		s.chunks[c] = &chunk
	}
	*s.at(i) = newSlot(app)
}
