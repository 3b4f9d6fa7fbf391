package main

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
)

// alert is a rule, and since when what it found is there, by labels.
type alert struct {
	name   string
	expr   string
	hold   time.Duration
	shown  []string // the labels that its texts show
	active map[uint64]time.Time
}

func newAlert(rule rulefmt.Rule) *alert {
	a := &alert{name: rule.Alert, expr: rule.Expr, hold: time.Duration(rule.For), active: make(map[uint64]time.Time)}
	for _, text := range rule.Annotations {
		for _, match := range shownLabel.FindAllStringSubmatch(text, -1) {
			a.shown = append(a.shown, match[1])
		}
	}
	return a
}

var shownLabel = regexp.MustCompile(`\$labels\.(\w+)`)

// evaluate reports whether the alert fires: something that the expression finds has
// been found ever since for so long.
func (a *alert) evaluate(engine *promql.Engine, data *history, at time.Time) (bool, error) {
	query, err := engine.NewInstantQuery(context.Background(), data, nil, a.expr, at)
	if err != nil {
		return false, err
	}
	defer query.Close()
	found, err := query.Exec(context.Background()).Vector()
	if err != nil {
		return false, err
	}
	active, fires := make(map[uint64]time.Time, len(found)), false
	for _, sample := range found {
		for _, label := range a.shown {
			if !sample.Metric.Has(label) {
				return false, fmt.Errorf("%s has no label %s, which its texts show", sample.Metric, label)
			}
		}
		key := labels.NewBuilder(sample.Metric).Del(labels.MetricName).Labels().Hash()
		since, known := a.active[key]
		if !known {
			since = at
		}
		active[key] = since
		fires = fires || at.Sub(since) >= a.hold
	}
	a.active = active
	return fires, nil
}
