package main

import (
	"fmt"
	"time"

	"github.com/prometheus/prometheus/promql"
)

// interval is how often a target is scraped and rules are evaluated.
const interval = 30 * time.Second

// play lets the phases pass, and returns which alerts fired in each. It begins now,
// as the scrapes hold times.
func play(alerts []*alert, phases []phase) ([][]string, error) {
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: queries,
	})
	data, now := newHistory(), time.Now()
	fired := make([][]string, 0, len(phases))
	for _, p := range phases {
		names, end, err := p.play(alerts, engine, data, now)
		if err != nil {
			return nil, err
		}
		fired, now = append(fired, names), end
	}
	return fired, nil
}

func (p phase) play(alerts []*alert, engine *promql.Engine, data *history, now time.Time) (names []string, end time.Time, err error) {
	fired := make(map[string]bool)
	end = now.Add(time.Duration(p.Minutes) * time.Minute)
	for n := 0; now.Before(end); n++ {
		if len(p.Scrapes) > 0 {
			if err := data.add(p.Scrapes[min(n, len(p.Scrapes)-1)], now); err != nil {
				return nil, end, err
			}
		}
		for _, a := range alerts {
			fires, err := a.evaluate(engine, data, now)
			if err != nil {
				return nil, end, fmt.Errorf("alert %s: %w", a.name, err)
			}
			fired[a.name] = fired[a.name] || fires
		}
		now = now.Add(interval)
	}
	names = []string{}
	for _, a := range alerts {
		if fired[a.name] {
			names = append(names, a.name)
		}
	}
	return names, end, nil
}
