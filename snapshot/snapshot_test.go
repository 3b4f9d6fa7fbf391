package snapshot_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestSlot(t *testing.T) {
	assert.Equal(t, -1, snapshot.Slot{}.Position(), "the zero Slot holds nothing")
	for position := range 3 {
		assert.Equal(t, position, snapshot.NewSlot(position).Position())
	}
}

func TestViewAt(t *testing.T) {
	view := &struct{ name string }{"view"}
	s := snapshot.NewSnapshot(1, start, snapshot.Live, []any{"text", view, nil, 7})
	type viewType = *struct{ name string }

	t.Run("typed", func(t *testing.T) {
		text, ok := snapshot.ViewAt[string](s, snapshot.NewSlot(0))
		assert.True(t, ok)
		assert.Equal(t, "text", text)
		pointer, ok := snapshot.ViewAt[viewType](s, snapshot.NewSlot(1))
		assert.True(t, ok)
		assert.Same(t, view, pointer)
		number, ok := snapshot.ViewAt[fmt.Stringer](snapshot.NewSnapshot(1, start, snapshot.Live, []any{start}), snapshot.NewSlot(0))
		assert.True(t, ok, "as an interface")
		assert.Equal(t, start.String(), number.String())
	})
	for about, at := range map[string]struct {
		of   *snapshot.Snapshot
		slot snapshot.Slot
	}{
		"nil Snapshot":             {nil, snapshot.NewSlot(1)},
		"nil Snapshot, zero Slot":  {nil, snapshot.Slot{}},
		"zero Slot":                {s, snapshot.Slot{}},
		"Slot past the end":        {s, snapshot.NewSlot(4)},
		"Slot far past the end":    {s, snapshot.NewSlot(1 << 40)},
		"Slot before the start":    {s, snapshot.NewSlot(-5)},
		"no View yet":              {s, snapshot.NewSlot(2)},
		"View of another type":     {s, snapshot.NewSlot(3)},
		"Snapshot without Views":   {snapshot.NewSnapshot(1, start, snapshot.Live, nil), snapshot.NewSlot(0)},
		"View of a type like it's": {snapshot.NewSnapshot(1, start, snapshot.Live, []any{*view}), snapshot.NewSlot(0)},
	} {
		t.Run(about, func(t *testing.T) {
			got, ok := snapshot.ViewAt[viewType](at.of, at.slot)
			assert.False(t, ok)
			assert.Nil(t, got)
		})
	}
}

func TestReadingAViewDoesNotAllocate(t *testing.T) {
	s := snapshot.NewSnapshot(1, start, snapshot.Live, []any{&snapshot.Apps{}, "text"})
	first, second := snapshot.NewSlot(0), snapshot.NewSlot(1)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if _, ok := snapshot.ViewAt[*snapshot.Apps](s, first); !ok {
			t.Error("no view")
		}
		if _, ok := snapshot.ViewAt[string](s, second); !ok {
			t.Error("no view")
		}
		if _, ok := snapshot.ViewAt[string](s, first); ok {
			t.Error("view of another type")
		}
	}))
}

func TestSnapshotIsIsolatedFromTheSliceItWasMadeOf(t *testing.T) {
	views := []any{"a", "b"}
	s := snapshot.NewSnapshot(3, start, snapshot.FromCache, views)
	views[0] = "changed"
	got, _ := snapshot.ViewAt[string](s, snapshot.NewSlot(0))
	assert.Equal(t, "a", got)
	assert.Equal(t, uint64(3), s.Generation())
	assert.Equal(t, start, s.BuiltAt())
	assert.Equal(t, snapshot.FromCache, s.State())
}

func TestNilSnapshot(t *testing.T) {
	var s *snapshot.Snapshot
	assert.Zero(t, s.Generation())
	assert.Equal(t, time.Time{}, s.BuiltAt())
	assert.Equal(t, snapshot.Unsynced, s.State())
	assert.False(t, s.SameViews(nil))
	assert.False(t, s.SameViews([]any{nil}))
}

func TestSameViews(t *testing.T) {
	apps, text := &snapshot.Apps{}, "text"
	list, mapping := []string{"a"}, map[string]int{}
	type holder struct{ any }
	tests := []struct {
		about     string
		was, next []any
		same      bool
	}{
		{"none", nil, nil, true},
		{"the same", []any{apps, text, nil, 7}, []any{apps, text, nil, 7}, true},
		{"another pointer", []any{apps}, []any{&snapshot.Apps{}}, false},
		{"another value", []any{text}, []any{"other"}, false},
		{"another type", []any{7}, []any{int64(7)}, false},
		{"one more", []any{apps}, []any{apps, text}, false},
		{"one less", []any{apps, text}, []any{apps}, false},
		{"another order", []any{apps, text}, []any{text, apps}, false},
		{"nil and something", []any{nil}, []any{apps}, false},
		{"something and nil", []any{apps}, []any{nil}, false},
		{"slices cannot be compared", []any{list}, []any{list}, false},
		{"maps cannot be compared", []any{mapping}, []any{mapping}, false},
		{"struct that holds a map", []any{holder{mapping}}, []any{holder{mapping}}, false},
		{"struct that holds a number", []any{holder{7}}, []any{holder{7}}, true},
		{"function", []any{func() {}}, []any{func() {}}, false},
		{"slice and number", []any{list}, []any{7}, false},
		{"number and slice", []any{7}, []any{list}, false},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			s := snapshot.NewSnapshot(1, start, snapshot.Live, tt.was)
			assert.NotPanics(t, func() { assert.Equal(t, tt.same, s.SameViews(tt.next)) })
		})
	}
}

func TestStatesHaveNames(t *testing.T) {
	var names []string
	for _, s := range snapshot.States() {
		names = append(names, s.String())
	}
	assert.Equal(t, []string{"unsynced", "from_cache", "live"}, names)
}
