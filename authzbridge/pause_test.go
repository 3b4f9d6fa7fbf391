package authzbridge_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/stretchr/testify/require"
)

func init() {
	caddy.RegisterModule(new(pausing))
	httpcaddyfile.RegisterHandlerDirective("test_pause", func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		h.Next()
		return new(pausing), nil
	})
}

// pausing is the handler `test_pause`: it holds a request while there is a pause.
type pausing struct{}

func (*pausing) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.test_pause", New: func() caddy.Module { return new(pausing) }}
}

func (*pausing) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if p := current.Load(); p != nil {
		p.arrive.Do(func() { close(p.arrived) })
		<-p.ended
	}
	return next.ServeHTTP(w, r)
}

var current atomic.Pointer[pause]

// pause is a time in which requests go no further than test_pause.
type pause struct {
	arrive, finish sync.Once
	arrived, ended chan struct{}
}

func beginPause(t *testing.T) *pause {
	t.Helper()
	p := &pause{arrived: make(chan struct{}), ended: make(chan struct{})}
	require.True(t, current.CompareAndSwap(nil, p), "one pause at a time")
	t.Cleanup(p.end)
	return p
}

// reached waits until a request is there.
func (p *pause) reached(t *testing.T) {
	t.Helper()
	select {
	case <-p.arrived:
	case <-time.After(patience):
		require.FailNow(t, "no request comes as far as the pause")
	}
}

func (p *pause) end() {
	p.finish.Do(func() {
		current.Store(nil)
		close(p.ended)
	})
}
