package kube

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

const (
	// manyWatches is what is worth a warning: a watch takes 60 to 90 KiB and five
	// goroutines here, and nearly as much memory in the API server, for each replica.
	manyWatches = 200

	// MostWatches is how many Secrets scope referenced watches at most: more take too
	// much of an API server that others need.
	MostWatches = 1000

	// failedShare and deniedShare are how much later a watch that failed is begun again
	// for each that there is, so that all together ask 200 times a second at most, and
	// 50 times where a permission is missing, which may be so for ever.
	failedShare = 5 * time.Millisecond
	deniedShare = 20 * time.Millisecond

	quotaTitle = "watches of single secrets"
)

// quota bounds how many Secrets have a watch of their own.
type quota struct {
	many, most int
	logger     *zap.Logger

	warned  bool
	refused map[snapshot.Key]struct{} // those beyond
	excess  string                    // what the Sink has been told of them; empty for nothing
}

func newQuota() quota { return quota{many: manyWatches, most: MostWatches, logger: zap.NewNop()} }

// admit gives the referenced Secrets that have none a watch of their own, in order
// of key, while there are not too many. Those beyond are told why they have none.
func (l *ledger) admit(refs map[snapshot.Key]snapshot.Reference, states map[snapshot.Key]snapshot.SecretState) {
	var waiting []snapshot.Key
	for key := range refs {
		if l.areaOf(key) == nil {
			waiting = append(waiting, key)
		}
	}
	slices.SortFunc(waiting, func(a, b snapshot.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	room := min(len(waiting), max(0, l.quota.most-len(l.areas)))
	for _, key := range waiting[:room] {
		a := l.newArea(l.scope.secretTarget(key))
		a.enter(key, states)
		l.areas[l.scope.place(key)] = a
		if _, refused := l.quota.refused[key]; refused {
			states[key] = snapshot.Forbidden("it was beyond what scope referenced watches, and its watch has not begun yet")
		}
	}
	l.quota.refuse(waiting[room:], states)
	l.tellExcess(len(refs))
	l.quota.warn(len(l.areas))
	select {
	case l.changed <- struct{}{}:
	default: // it is known
	}
}

// refuse answers for the Secrets beyond that it has not answered for.
func (q *quota) refuse(beyond []snapshot.Key, states map[snapshot.Key]snapshot.SecretState) {
	refused := make(map[snapshot.Key]struct{}, len(beyond))
	for _, key := range beyond {
		refused[key] = struct{}{}
		if _, told := q.refused[key]; !told {
			states[key] = snapshot.Forbidden(fmt.Sprintf(
				"it is beyond the %d that scope referenced watches; use scope namespaces or scope cluster", q.most))
		}
	}
	q.refused = refused
}

func (l *ledger) tellExcess(referenced int) {
	q := &l.quota
	excess := ""
	if len(q.refused) > 0 {
		excess = fmt.Sprintf("%d secrets are referenced, and scope referenced watches %d at most; use scope namespaces or scope cluster",
			referenced, q.most)
	}
	switch {
	case excess == q.excess:
	case excess == "":
		l.sink.Recovered(quotaTitle)
	default:
		l.sink.Failed(quotaTitle, mirror.Failure{Kind: mirror.FailureExcess, Detail: excess})
	}
	q.excess = excess
}

// warn does so once until there are not many any more.
func (q *quota) warn(watches int) {
	if watches > q.many && !q.warned {
		q.logger.Warn("many secrets have a watch of their own; scope namespaces or scope cluster takes less of the API server",
			zap.Int("watches", watches))
	}
	q.warned = watches > q.many
}

// share is the least time after which a watch that failed is begun again.
func (l *ledger) share(err error) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	each := failedShare
	if apierrors.IsForbidden(err) {
		each = deniedShare
	}
	return time.Duration(len(l.areas)) * each
}
