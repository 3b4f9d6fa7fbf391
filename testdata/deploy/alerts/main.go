// Command alerts judges Prometheus alert rules by what a process really exposes. It
// reads a question from standard input and answers on standard output, both in JSON.
//
// The rules are read and checked as promtool does, and their expressions evaluated
// by Prometheus's own engine. The state of an alert is kept here, as package rules of
// Prometheus would bring the clients of four clouds along.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// question is what is asked.
type question struct {
	// Rules is the content of a file of rules.
	Rules string `json:"rules"`
	// Phases follow each other.
	Phases []phase `json:"phases"`
	// Queries are only read.
	Queries []string `json:"queries"`
}

// phase is a while in which the process answers with one scrape after the other, and
// then with the last of them.
type phase struct {
	Minutes int      `json:"minutes"`
	Scrapes []string `json:"scrapes"` // in the text format of Prometheus
}

// answer is what is told.
type answer struct {
	// Alerts are all in the rules, in their order.
	Alerts []string `json:"alerts"`
	// Fired are those that fired at some time in each phase.
	Fired [][]string `json:"fired"`
	// Metrics are those in the rules and the queries.
	Metrics []string `json:"metrics"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var q question
	if err := json.NewDecoder(in).Decode(&q); err != nil {
		return err
	}
	a, err := q.answer()
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(a)
}

func (q question) answer() (answer, error) {
	alerts, err := readAlerts(q.Rules)
	if err != nil {
		return answer{}, err
	}
	a := answer{Fired: [][]string{}}
	names := make(metricNames)
	for _, each := range alerts {
		a.Alerts = append(a.Alerts, each.name)
		if err := names.add(each.expr); err != nil {
			return answer{}, fmt.Errorf("alert %s: %w", each.name, err)
		}
	}
	for _, query := range q.Queries {
		if err := names.add(query); err != nil {
			return answer{}, fmt.Errorf("query %s: %w", query, err)
		}
	}
	a.Metrics = names.sorted()
	a.Fired, err = play(alerts, q.Phases)
	return a, err
}

// readAlerts checks what promtool checks.
func readAlerts(rules string) ([]*alert, error) {
	groups, errs := rulefmt.Parse([]byte(rules), false, model.UTF8Validation, queries, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return nil, errs[0]
	}
	var alerts []*alert
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" {
				return nil, fmt.Errorf("group %s: %s is no alert", group.Name, rule.Record)
			}
			alerts = append(alerts, newAlert(rule))
		}
	}
	return alerts, nil
}

var queries = parser.NewParser(parser.Options{})
