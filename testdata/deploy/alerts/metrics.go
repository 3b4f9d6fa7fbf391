package main

import (
	"maps"
	"slices"

	"github.com/prometheus/prometheus/promql/parser"
)

// metricNames are those that expressions select.
type metricNames map[string]struct{}

func (m metricNames) add(expr string) error {
	parsed, err := queries.ParseExpr(expr)
	if err != nil {
		return err
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			m[selector.Name] = struct{}{}
		}
		return nil
	})
	return nil
}

func (m metricNames) sorted() []string { return slices.Sorted(maps.Keys(m)) }
