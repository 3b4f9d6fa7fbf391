package files

import (
	"go.uber.org/zap"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// tellRegistry keeps silent while there is a Registry that cannot be told for
// sure: the last good one stays in use.
func (l *looker) tellRegistry() {
	state := l.resolve(l.registry)
	if state.Status != snapshot.SecretPresent && state.Status != snapshot.SecretAbsent {
		return
	}
	if l.registryTold && l.registryLast.Equal(state.Secret) {
		return
	}
	l.registryTold, l.registryLast = true, state.Secret
	l.sink.Registry(state.Secret)
}

func (l *looker) tellSecrets() {
	news := l.wanted.news(l.refs, l.resolve)
	if len(news) == 0 {
		return
	}
	for key, state := range news {
		if state.Status == snapshot.SecretForbidden {
			l.logger.Warn("secret refused", zap.Stringer("secret", key), zap.String("detail", state.Detail))
		}
	}
	l.sink.Secrets(news)
}
