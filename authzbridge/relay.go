package authzbridge

import (
	"slices"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// relay is the core of a logger that outlives a configuration: it hands every
// entry to the logger of the newest one, whose writers are open.
type relay struct {
	to     *atomic.Pointer[zap.Logger]
	fields []zap.Field
}

func newRelay(to *atomic.Pointer[zap.Logger]) *zap.Logger {
	return zap.New(&relay{to: to})
}

// Enabled implements zapcore.LevelEnabler.
func (r *relay) Enabled(level zapcore.Level) bool {
	return r.to.Load().Core().Enabled(level)
}

// With implements zapcore.Core.
func (r *relay) With(fields []zap.Field) zapcore.Core {
	return &relay{to: r.to, fields: append(slices.Clip(r.fields), fields...)}
}

// Check implements zapcore.Core.
func (r *relay) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if r.Enabled(e.Level) {
		return checked.AddCore(e, r)
	}
	return checked
}

// Write implements zapcore.Core. The entry takes the newest logger's name, by
// which Caddy routes it.
func (r *relay) Write(e zapcore.Entry, fields []zap.Field) error {
	logger := r.to.Load()
	e.LoggerName = logger.Name()
	if checked := logger.Core().Check(e, nil); checked != nil {
		checked.Write(append(slices.Clip(r.fields), fields...)...)
	}
	return nil
}

// Sync implements zapcore.Core.
func (r *relay) Sync() error { return r.to.Load().Sync() }
