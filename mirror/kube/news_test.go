package kube

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// comparing is a prober that has no server to ask.
func comparing() (*prober, *registry, chan renewal) {
	key := shopKey("registry")
	r := &registry{key: key, title: "watch", sink: newRecorder()}
	renew := make(chan renewal, 1)
	return newProber(r, nil, newValidation(r.sink), renew, defaultPace()), r, renew
}

func (r *registry) brings(version string) {
	if version == registryGone {
		r.remove(r.key, "")
		return
	}
	r.upsert(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.key.Namespace, Name: r.key.Name, ResourceVersion: version}})
}

// sees is a probe that finds a version of the Registry.
func (p *prober) sees(version string) {
	list := &metav1.PartialObjectMetadataList{}
	if version != registryGone {
		list.Items = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{
			Namespace: p.registry.key.Namespace, Name: p.registry.key.Name, ResourceVersion: version,
		}}}
	}
	p.compare(time.Now(), list)
}

func TestRow5NewsThatTwoProbesSeeAndTheWatchDoesNotBring(t *testing.T) {
	const watch, probe = "watch", "probe"
	type step struct{ who, version string }
	for name, test := range map[string]struct {
		steps   []step
		renewed bool
	}{
		"nothing new":                        {[]step{{watch, "5"}, {probe, "5"}, {probe, "5"}}, false},
		"seen once":                          {[]step{{watch, "5"}, {probe, "6"}}, false},
		"seen twice":                         {[]step{{watch, "5"}, {probe, "6"}, {probe, "6"}}, true},
		"brought in between":                 {[]step{{watch, "5"}, {probe, "6"}, {watch, "6"}, {probe, "6"}}, false},
		"another each time":                  {[]step{{watch, "5"}, {probe, "6"}, {probe, "7"}}, true},
		"another each time, and each late":   {[]step{{watch, "5"}, {probe, "6"}, {watch, "6"}, {probe, "7"}, {watch, "7"}}, false},
		"the watch is ahead":                 {[]step{{watch, "7"}, {probe, "6"}, {probe, "6"}}, false},
		"created":                            {[]step{{watch, registryGone}, {probe, "6"}, {probe, "6"}}, true},
		"deleted":                            {[]step{{watch, "5"}, {probe, registryGone}, {probe, registryGone}}, true},
		"deleted and made again":             {[]step{{watch, "5"}, {probe, registryGone}, {probe, "9"}}, true},
		"deleted and made again in time":     {[]step{{watch, "5"}, {probe, registryGone}, {watch, "9"}, {probe, "9"}}, false},
		"absent all the time":                {[]step{{watch, registryGone}, {probe, registryGone}, {probe, registryGone}}, false},
		"the watch has brought nothing ever": {[]step{{probe, "6"}, {probe, "6"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, r, renew := comparing()
			for _, step := range test.steps {
				if step.who == watch {
					r.brings(step.version)
				} else {
					p.sees(step.version)
				}
			}
			assert.Equal(t, test.renewed, len(renew) == 1)
		})
	}
}

func TestRow5ProbeAsksAgainSoonAfterItSawNews(t *testing.T) {
	p, r, renew := comparing()
	r.brings("5")
	p.sees("5")
	assert.GreaterOrEqual(t, p.next(), probePause)
	p.sees("6")
	assert.Equal(t, newsPatience, p.next())
	p.sees("6")
	assert.GreaterOrEqual(t, p.next(), probePause, "the renewal has its time")
	assert.Equal(t, renewal{why: "the registry has changed and the watch does not tell"}, <-renew)
}

func TestWatchOfTheRegistryThatFailsIsNotRenewedAsWell(t *testing.T) {
	p, r, renew := comparing()
	r.brings("5")
	r.failed(mirror.Failure{Kind: mirror.FailureForbidden})
	for range 5 {
		p.sees("6")
	}
	assert.Empty(t, renew, "it is tried again by itself, and the other watches are well")
	r.recovered()
	p.sees("6")
	p.sees("6")
	assert.Len(t, renew, 1)
}

func TestOneRenewalIsEnough(t *testing.T) {
	p, _, renew := comparing()
	for range 5 {
		p.start(renewal{why: "late"})
	}
	assert.Len(t, renew, 1)
}

func TestRow3SilenceIsNoticedIn35s(t *testing.T) {
	p := defaultPace()
	longest := time.Duration(float64(p.pause)*(1+probeJitter)) + // it hangs just after a probe
		2*p.timeout + // two probes must fail
		time.Duration(float64(firstPause)*(1+pauseJitter))
	assert.LessOrEqual(t, longest, 35*time.Second)
}

func TestAgeStaysUnder90sInGoodHealth(t *testing.T) {
	const bookmarks = time.Minute + 2*time.Second // the API server sends them in time slots
	p := defaultPace()
	longest := time.Duration(float64(p.pause)*(1+probeJitter)) + bookmarks
	assert.Less(t, longest, 90*time.Second)
	assert.Greater(t, p.late, 2*bookmarks, "a bookmark that is missed is not late")
	most := time.Duration(mostProbes) * p.pause
	assert.Greater(t, most, bookmarks, "no probe between two bookmarks is dropped")
}
