package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/authz-bridge/authz-bridge/mirror"
)

const (
	// probePause, with its jitter, and probeTimeout are such that an API server that
	// hangs is noticed within 35 s, for which two probes must fail.
	probePause   = 20 * time.Second
	probeJitter  = 0.2
	probeTimeout = 5 * time.Second

	// newsPatience is how long the watch may take to bring a Registry that a probe has
	// seen.
	newsPatience = 5 * time.Second

	// latePatience is how long a watch may take to come to the revision of a probe.
	// Bookmarks come every minute.
	latePatience = 3 * time.Minute
)

// pace is how often a prober asks, and what it waits for how long.
type pace struct {
	pause, timeout, news, late time.Duration
}

func defaultPace() pace {
	return pace{pause: probePause, timeout: probeTimeout, news: newsPatience, late: latePatience}
}

// metadataOnly asks for the Registry without its bytes, of which there may be a MiB.
const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// renewal says that all watches must start anew.
type renewal struct {
	why string
	// restored means that the data is older than what was seen, so that versions are
	// not to be compared with those from before.
	restored bool
}

// prober asks from time to time for the revision of the data: a list of the
// Registry that no cache may answer.
type prober struct {
	pace       pace
	target     target
	client     rest.Interface
	sink       mirror.Sink
	attempts   *attempts
	validation *validation
	registry   *registry
	renew      chan<- renewal

	patience   time.Duration // with watches that come to no probe
	lateAt     time.Time     // of the last such renewal
	identified bool
	behind     string // what the watch had brought when the last probe saw something newer
}

func newProber(r *registry, client rest.Interface, v *validation, renew chan<- renewal, p pace) *prober {
	t, sink := registryTarget(r.key), r.sink
	title := probeTitle(t)
	return &prober{
		pace:       p,
		patience:   p.late,
		target:     t,
		client:     client,
		sink:       sink,
		validation: v,
		registry:   r,
		renew:      renew,
		attempts: &attempts{
			denied:    t.denied,
			failed:    func(f mirror.Failure) { sink.Failed(title, f) },
			recovered: func() { sink.Recovered(title) },
			backoff:   newBackoff(),
		},
	}
}

func probeTitle(t target) string { return "probe of " + t.title }

// run probes until ctx is done.
func (p *prober) run(ctx context.Context) {
	for p.attempts.await(ctx) == nil {
		if p.probe(ctx) && sleep(ctx, p.next()) != nil {
			return
		}
	}
}

// next returns when to probe again: soon if the watch may have missed something.
func (p *prober) next() time.Duration {
	if p.behind != "" {
		return p.pace.news
	}
	return wait.Jitter(p.pace.pause, probeJitter)
}

// probe reports whether it got an answer.
func (p *prober) probe(ctx context.Context) bool {
	at, before := time.Now(), p.validation.versions()
	list, err := p.ask(ctx)
	if err != nil {
		p.attempts.fail(ctx, "list", err)
		return false
	}
	p.attempts.succeed()
	if !p.identified {
		p.identify(ctx)
	}
	if isOlderThanOne(list.ResourceVersion, before) {
		p.identified, p.behind = false, ""
		p.start(renewal{"the data of the API server is older than what was seen: it was restored, or it is another cluster", true})
		return true
	}
	p.validation.probed(at, list.ResourceVersion)
	p.compare(at, list)
	return true
}

func (p *prober) ask(ctx context.Context) (*metav1.PartialObjectMetadataList, error) {
	asked, cancel := context.WithTimeout(ctx, p.pace.timeout)
	defer cancel()
	answer, err := p.target.request(p.client, metav1.ListOptions{}).SetHeader("Accept", metadataOnly).DoRaw(asked)
	if asked.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("no answer in %v; the API server or its etcd hangs", p.pace.timeout)
	}
	if err != nil {
		return nil, err
	}
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(answer, &list); err != nil || list.ResourceVersion == "" {
		return nil, errors.New("the answer to a list has no resource version; is it an API server?")
	}
	return &list, nil
}

// isOlderThanOne compares with the versions from before a probe was sent: the data was
// that far then.
func isOlderThanOne(revision string, before map[*progress]string) bool {
	for _, version := range before {
		if isOlder(revision, version) {
			return true
		}
	}
	return false
}

// compare starts the watches anew if they do not bring what the probe has seen, or
// have not come to an earlier one for long.
func (p *prober) compare(at time.Time, list *metav1.PartialObjectMetadataList) {
	told, missed := p.registry.misses(p.find(list))
	switch {
	case missed && p.behind == told:
		p.behind = ""
		p.start(renewal{why: "the registry has changed and the watch does not tell"})
		return
	case missed:
		p.behind = told
	default:
		p.behind = ""
	}
	p.compareAges(at)
}

// compareAges waits twice as long each time, where starting anew does not help: an
// API server whose cache the probe does not move along, or one of several.
func (p *prober) compareAges(at time.Time) {
	late := p.validation.late(at.Add(-p.patience))
	switch {
	case len(late) > 0:
		p.start(renewal{why: fmt.Sprintf("%s: nothing came for %v", few(late), p.patience)})
		p.patience, p.lateAt = 2*p.patience, at
	case at.Sub(p.lateAt) > p.patience:
		p.patience = p.pace.late
	}
}

// few names some of the watches that may be many.
func few(titles []string) string {
	const most = 5
	if len(titles) <= most {
		return strings.Join(titles, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(titles[:most], ", "), len(titles)-most)
}

// registryGone stands for the version of a Registry that is not there.
const registryGone = "absent"

// find looks for the Registry itself, like its watch.
func (p *prober) find(list *metav1.PartialObjectMetadataList) (version string) {
	for i := range list.Items {
		if keyOf(&list.Items[i]) == p.registry.key {
			return list.Items[i].ResourceVersion
		}
	}
	return registryGone
}

func (p *prober) start(r renewal) {
	select {
	case p.renew <- r:
	default: // it is under way
	}
}

// identify tells which cluster it is: by the namespace that every cluster has and
// none deletes, or by that of the Registry if that one may not be seen.
func (p *prober) identify(ctx context.Context) {
	for _, name := range []string{metav1.NamespaceSystem, p.target.namespace} {
		var namespace corev1.Namespace
		err := p.client.Get().Resource("namespaces").Name(name).MaxRetries(0).Timeout(p.pace.timeout).Do(ctx).Into(&namespace)
		switch {
		case err == nil && namespace.UID != "":
			p.identified = true
			p.sink.Cluster(name + "/" + string(namespace.UID))
			return
		case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
			return // the next probe asks again
		}
	}
	p.identified = true // nobody may know
}
