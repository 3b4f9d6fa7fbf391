package snapshot

import (
	"strings"

	"github.com/authz-bridge/authz-bridge/snapshot/credential"
)

// readings are what was read of Secrets in one build. Apps that read one Secret alike
// share it, for it may be large. Nil shares nothing.
type readings map[reading]readResult

// reading is all that a result is made from.
type reading struct {
	secret     *Secret
	kind       credential.Kind
	format     credential.Format
	dataKey    string
	client     string // of API keys alone: others name their users
	others     string
	algorithms string
}

type readResult struct {
	by       any
	warnings credential.Warnings
	err      error
}

func (shared readings) read(m *Method, secret *Secret, spec credential.Spec) readResult {
	key := reading{
		secret:     secret,
		kind:       m.Kind,
		format:     spec.Format,
		dataKey:    spec.DataKey,
		others:     strings.Join(spec.Others, " "),
		algorithms: strings.Join(m.Rules.Algorithms, " "),
	}
	if m.Kind == credential.APIKey {
		key.client = spec.Client
	}
	if known, ok := shared[key]; ok {
		return known
	}
	got := m.read(secret, spec)
	if shared != nil {
		shared[key] = got
	}
	return got
}

func (m *Method) read(secret *Secret, spec credential.Spec) (got readResult) {
	switch m.Kind {
	case credential.Basic:
		got.by, got.warnings, got.err = credential.ReadPasswords(secret, spec)
	case credential.JWT:
		got.by, got.warnings, got.err = credential.ReadTokenKeys(secret, spec, m.Rules.Algorithms)
	default:
		got.by, got.warnings, got.err = credential.ReadKeys(secret, spec)
	}
	return got
}
