package bench

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// scenario is a site and a bare one in the same process that get the same requests.
type scenario struct {
	name         string
	bound        float64 // of the ratio; 0 for none
	bare, tested *load
	rounds       []round
}

// round is both, one right after the other.
type round struct{ bare, tested pace }

// measureComparison has every scenario of one process take turns, so that all of
// them meet what else the machine does.
func measureComparison(t *testing.T, b *bench) {
	kinds := everyKind(t)
	for _, size := range []int{10, b.pick(10_000, 1000), b.pick(100_000, 5000)} {
		name := count(size).text + " Apps"
		w := town{size: size, kinds: kinds}
		t.Run(name, func(t *testing.T) { compareTown(t, b, name, w) })
	}
	t.Run("others", func(t *testing.T) { compareOthers(t, b, 10_000) })
}

func compareTown(t *testing.T, b *bench, name string, w town) {
	var option string
	if w.size > 10_000 {
		name += " from files"
		option = w.writeFiles(t)
	} else {
		h := newHall(t)
		h.settle(t, w)
		option = h.option("")
	}
	c := newConfig(t, option)
	bareSite, site := c.site(bare), c.site(authorized)
	d := startCaddy(t, c)
	d.awaitServing(w.size)

	bounds := map[string]float64{"by hostname": 0.96, "API key": 0.95}
	var all []*scenario
	for i, k := range w.kinds {
		s := newScenario(t, name+", "+k.name, bareSite, site, w.requests(i))
		if w.size == 10_000 {
			s.bound = bounds[k.name]
		}
		all = append(all, s)
	}
	b.compare(t, all)
}

func newScenario(t *testing.T, name, bareSite, site string, requests [][]byte) *scenario {
	t.Helper()
	s := &scenario{name: name, bare: newLoad(t, bareSite, requests), tested: newLoad(t, site, requests)}
	require.NoError(t, s.tested.all(), name) // what is remembered is known then
	return s
}

// compareOthers measures what Caddy itself offers.
func compareOthers(t *testing.T, b *bench, hosts int) {
	second := newConfig(t, "")
	judge := second.site("respond 200")
	startCaddy(t, second)

	c := newConfig(t, "")
	bareSite := c.site(bare)
	basic := c.site(fmt.Sprintf("basic_auth {\nalice %s\n}\nrespond ok", passwordHash(t)))
	forward := c.site(fmt.Sprintf("forward_auth %s {\nuri /\n}\nrespond ok", judge))
	mapped := c.site(hostMap(hosts))
	startCaddy(t, c)
	last := host(appName(hosts - 1))
	plain := [][]byte{newRequest(last)}
	awaitStatus(t, judge, plain[0], http.StatusOK, 10*time.Millisecond).Close()
	b.compare(t, []*scenario{
		newScenario(t, "Caddy's basic_auth (bcrypt, cached)", bareSite, basic, [][]byte{newRequest(last, passwordHeader)}),
		newScenario(t, "Caddy's forward_auth to a second Caddy that answers 200", bareSite, forward, plain),
		newScenario(t, fmt.Sprintf("Caddy's map of %s hosts, the last one", count(hosts).text), bareSite, mapped, plain),
	})
}

// hostMap is the content of a site that authorizes by a list of hosts.
func hostMap(hosts int) string {
	var content strings.Builder
	content.WriteString("map {host} {allowed} {\n")
	for i := range hosts {
		fmt.Fprintf(&content, "%s yes\n", host(appName(i)))
	}
	content.WriteString("default no\n}\n@allowed vars {allowed} yes\nrespond @allowed ok\nrespond 403\n")
	return content.String()
}

// compare runs all scenarios in turn, and those with a bound three times as often.
func (b *bench) compare(t *testing.T, all []*scenario) {
	t.Helper()
	for i := range 3 * b.rounds {
		for _, s := range all {
			if i < b.rounds || s.bound > 0 {
				require.NoError(t, s.run(b.round, i%2 == 0), s.name)
			}
		}
	}
	for _, s := range all {
		b.addScenario(s)
	}
}

// run goes one round. What comes first is the other one each time.
func (s *scenario) run(d time.Duration, bareFirst bool) error {
	var next round
	order := []*load{s.bare, s.tested}
	paces := []*pace{&next.bare, &next.tested}
	if !bareFirst {
		order[0], order[1], paces[0], paces[1] = order[1], order[0], paces[1], paces[0]
	}
	for i, l := range order {
		var err error
		if *paces[i], err = l.run(d); err != nil {
			return err
		}
	}
	s.rounds = append(s.rounds, next)
	return nil
}

func (b *bench) addScenario(s *scenario) {
	middle := func(value func(round) float64) float64 {
		values := make([]float64, len(s.rounds))
		for i, r := range s.rounds {
			values[i] = value(r)
		}
		return median(values)
	}
	of := middle(func(r round) float64 { return r.tested.rate / r.bare.rate })
	remark := fmt.Sprintf("%s/s; p50 %s, x%.2f; p99 %s, x%.2f",
		count(middle(func(r round) float64 { return r.tested.rate })).text,
		nanoseconds(middle(func(r round) float64 { return float64(r.tested.p50) })).text,
		middle(func(r round) float64 { return float64(r.tested.p50) / float64(r.bare.p50) }),
		nanoseconds(middle(func(r round) float64 { return float64(r.tested.p99) })).text,
		middle(func(r round) float64 { return float64(r.tested.p99) / float64(r.bare.p99) }))
	if s.bound == 0 {
		b.tellMore(s.name, ratio(of).text, remark)
		return
	}
	b.atLeast(s.name, ratio(s.bound), ratio(of), remark)
}
