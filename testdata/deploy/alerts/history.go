package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// target are the labels that Prometheus adds to what it scrapes.
var target = map[string]string{"job": "authz-bridge", "instance": "10.0.0.1:9090", "namespace": "authz-bridge", "pod": "authz-bridge-0"}

// history holds what was scraped. It implements storage.Queryable and
// storage.Querier.
type history struct {
	series  map[uint64]*series
	scraped map[uint64]struct{} // of the last scrape
}

type series struct {
	labels  labels.Labels
	samples []chunks.Sample
}

func newHistory() *history { return &history{series: make(map[uint64]*series)} }

// add adds a scrape. What is not in it any more ends, as Prometheus has it.
func (h *history) add(text string, at time.Time) error {
	last := h.scraped
	h.scraped = make(map[uint64]struct{}, len(last))
	defer h.endOthers(last, at)
	parser := textparse.NewPromParser([]byte(text), labels.NewSymbolTable(), false)
	for {
		entry, err := parser.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("scrape: %w", err)
		case entry != textparse.EntrySeries:
			continue
		}
		_, _, number := parser.Series()
		var scraped labels.Labels
		parser.Labels(&scraped)
		h.put(scraped, sample{at.UnixMilli(), number})
	}
}

func (h *history) put(scraped labels.Labels, s sample) {
	b := labels.NewBuilder(scraped)
	for name, value := range target {
		b.Set(name, value)
	}
	all := b.Labels()
	key := all.Hash()
	if h.series[key] == nil {
		h.series[key] = &series{labels: all}
	}
	h.series[key].samples = append(h.series[key].samples, s)
	h.scraped[key] = struct{}{}
}

func (h *history) endOthers(last map[uint64]struct{}, at time.Time) {
	for key := range last {
		if _, still := h.scraped[key]; !still {
			s := h.series[key]
			s.samples = append(s.samples, sample{at.UnixMilli(), math.Float64frombits(value.StaleNaN)})
		}
	}
}

// Querier implements storage.Queryable.
func (h *history) Querier(int64, int64) (storage.Querier, error) { return h, nil }

// Select implements storage.Querier.
func (h *history) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &seriesSet{next: -1}
	for _, s := range h.series {
		if matches(s.labels, matchers) {
			found.all = append(found.all, storage.NewListSeries(s.labels, s.samples))
		}
	}
	return found
}

func matches(of labels.Labels, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if !m.Matches(of.Get(m.Name)) {
			return false
		}
	}
	return true
}

// LabelValues implements storage.Querier; no query asks.
func (*history) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.ErrUnsupported
}

// LabelNames implements storage.Querier; no query asks.
func (*history) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.ErrUnsupported
}

// Close implements storage.Querier.
func (*history) Close() error { return nil }

// seriesSet implements storage.SeriesSet.
type seriesSet struct {
	all  []storage.Series
	next int
}

func (s *seriesSet) Next() bool                      { s.next++; return s.next < len(s.all) }
func (s *seriesSet) At() storage.Series              { return s.all[s.next] }
func (*seriesSet) Err() error                        { return nil }
func (*seriesSet) Warnings() annotations.Annotations { return nil }

// sample implements chunks.Sample.
type sample struct {
	at    int64 // milliseconds since the epoch
	value float64
}

func (s sample) T() int64                    { return s.at }
func (sample) ST() int64                     { return 0 }
func (s sample) F() float64                  { return s.value }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }
