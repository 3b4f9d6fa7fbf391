package mirror

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// ConditionType names what is out of order. The set is closed, so a type can
// label a metric.
type ConditionType string

// The conditions.
const (
	// RegistryAbsent: the Registry's Secret is not there, so every hostname is
	// unknown.
	RegistryAbsent ConditionType = "RegistryAbsent"
	// RegistryMalformed: the Registry cannot be read; the last good one is in
	// use.
	RegistryMalformed ConditionType = "RegistryMalformed"
	// BuildFailed: a Builder fails; its last View is in use.
	BuildFailed ConditionType = "BuildFailed"
	// Unauthorized: the Source's credential is not accepted.
	Unauthorized ConditionType = "Unauthorized"
	// Forbidden: the Source lacks a permission.
	Forbidden ConditionType = "Forbidden"
	// SourceInvalid: something in the Source cannot be understood; what was read
	// of it before stays in use.
	SourceInvalid ConditionType = "SourceInvalid"
	// TooManyWatches: more Secrets are referenced than the Source watches; the Apps of
	// those beyond do not serve.
	TooManyWatches ConditionType = "TooManyWatches"
	// ServingFromCache: the Source is not in sync; what an earlier process stored is
	// served.
	ServingFromCache ConditionType = "ServingFromCache"
	// Stale: what is known is older than max_age, and every request is refused.
	Stale ConditionType = "Stale"
	// CacheRefused: what is stored cannot be used.
	CacheRefused ConditionType = "CacheRefused"
	// CacheWriteFailed: the last good objects cannot be stored.
	CacheWriteFailed ConditionType = "CacheWriteFailed"
	// ContactLost: two attempts in a row of one watch got no answer.
	ContactLost ConditionType = "ContactLost"
)

// ConditionTypes returns all types.
func ConditionTypes() []ConditionType {
	return []ConditionType{
		RegistryAbsent, RegistryMalformed, BuildFailed, ServingFromCache, Stale, CacheRefused, CacheWriteFailed,
		Unauthorized, Forbidden, SourceInvalid, TooManyWatches, ContactLost,
	}
}

// Condition is one thing that is out of order. All of them mean that the Mirror
// is degraded, and none but Stale that it does not serve.
type Condition struct {
	Type ConditionType `json:"type"`
	// Subject is what has the condition: a Builder or a watch; empty for the
	// Registry.
	Subject string `json:"subject,omitempty"`
	// Since is when it began, in this process.
	Since time.Time `json:"since"`
	// Message says in words what is wrong. It may change while Since stays.
	Message string `json:"message"`
}

type conditionKey struct {
	kind    ConditionType
	subject string
}

// conditions is the set of what is out of order now.
type conditions struct {
	told func(c Condition, began bool)

	mu     sync.Mutex // guards the fields below
	active map[conditionKey]Condition
	lost   map[string]int // attempts in a row without contact, by watch
}

func newConditions(told func(c Condition, began bool)) conditions {
	if told == nil {
		told = func(Condition, bool) {}
	}
	return conditions{told: told}
}

// raise reports whether the condition is new or says something new.
func (c *conditions) raise(kind ConditionType, subject, message string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raiseLocked(kind, subject, message)
}

func (c *conditions) raiseLocked(kind ConditionType, subject, message string) bool {
	if c.active == nil {
		c.active = make(map[conditionKey]Condition)
	}
	key := conditionKey{kind, subject}
	old, known := c.active[key]
	if known && old.Message == message {
		return false
	}
	next := Condition{Type: kind, Subject: subject, Since: time.Now(), Message: message}
	if known {
		next.Since = old.Since
	}
	c.active[key] = next
	if !known {
		c.told(next, true)
	}
	return true
}

// clear reports whether the condition was there.
func (c *conditions) clear(kind ConditionType, subject string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clearLocked(kind, subject)
}

func (c *conditions) clearLocked(kind ConditionType, subject string) bool {
	key := conditionKey{kind, subject}
	old, known := c.active[key]
	delete(c.active, key)
	if known {
		c.told(old, false)
	}
	return known
}

// list returns the conditions in order of type, then subject.
func (c *conditions) list() []Condition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.active), func(a, b Condition) int {
		return cmp.Or(strings.Compare(string(a.Type), string(b.Type)), strings.Compare(a.Subject, b.Subject))
	})
}

// contactAttempts is how many attempts in a row must fail before contact counts
// as lost: a single one is everyday.
const contactAttempts = 2

var failureConditions = map[FailureKind]ConditionType{
	FailureContact:      ContactLost,
	FailureUnauthorized: Unauthorized,
	FailureForbidden:    Forbidden,
	FailureInvalid:      SourceInvalid,
	FailureExcess:       TooManyWatches,
}

// watchFailed raises the condition of the failure, and reports whether it is a
// new one. A watch has at most one.
func (c *conditions) watchFailed(watch string, f Failure) (kind ConditionType, isNew bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind = failureConditions[f.Kind]
	if !c.countLocked(watch, f.Kind) {
		return kind, false
	}
	for _, other := range failureConditions {
		if other != kind {
			c.clearLocked(other, watch)
		}
	}
	_, known := c.active[conditionKey{kind, watch}]
	c.raiseLocked(kind, watch, f.Detail)
	return kind, !known
}

// countLocked reports whether the failure is worth a condition. A refusal is an
// answer, so contact is there.
func (c *conditions) countLocked(watch string, kind FailureKind) bool {
	if kind != FailureContact {
		delete(c.lost, watch)
		return true
	}
	if c.lost == nil {
		c.lost = make(map[string]int)
	}
	c.lost[watch]++
	return c.lost[watch] >= contactAttempts
}

// watchRecovered returns the condition that is over, if there was one.
func (c *conditions) watchRecovered(watch string) (kind ConditionType, was bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.lost, watch)
	for _, each := range failureConditions {
		if c.clearLocked(each, watch) {
			kind, was = each, true
		}
	}
	return kind, was
}
