package mirror_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/authz-bridge/authz-bridge/mirror"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func TestBuildThatHangsKeepsNothingOpen(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*world)
		open      bool // once the build ends
	}{
		"the Source is silent": {
			meanwhile: func(*world) { pass(mostAge) },
		},
		"the Source has contact": {
			meanwhile: func(w *world) { pass(mostAge); w.fresh(mirror.Freshness{Contact: time.Now()}) },
		},
		"the Source says all the while that what it told is right": {
			meanwhile: func(w *world) { w.keepValidating(mostAge) },
			open:      true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				end := make(chan struct{})
				s := newSpy("hangs")
				w.register(s)
				w.serve("shop", "blog")
				w.validate()
				s.makes(func(snapshot.Objects) (any, error) { <-end; return "late", nil })
				w.put("shop", snapshot.Absent())
				c.meanwhile(w)
				w.assertStale("shop", "blog")

				var shop, blog record[string]
				w.mirror.OnPublish(func(*snapshot.Snapshot) {
					shop.add(w.reason("shop"))
					blog.add(w.reason("blog"))
				})
				close(end)
				w.idle()
				assert.NotContains(t, shop.list(), "allowed", "it does not open before the change is in service")
				if !c.open {
					assert.NotContains(t, blog.list(), "allowed", "not even for a moment")
					w.assertStale("shop", "blog")
					return
				}
				w.assertOpen("blog")
				assert.Equal(t, "secret_absent", w.reason("shop"))
			}, maxAge(mostAge))
		})
	}
}

func TestStaleByWhatIsNotAccepted(t *testing.T) {
	for name, c := range map[string]struct {
		refuse, accept func(*world, *spy)
		oldest         string
	}{
		"a Registry that stays malformed": {
			refuse: func(w *world, _ *spy) { w.tell(document("uid-1", "2", "version: 2")) },
			accept: func(w *world, _ *spy) { w.tell(registry("3", app("shop"))) },
			oldest: "registry",
		},
		"a Builder that goes on failing": {
			refuse: func(w *world, s *spy) { s.fails(errors.New("no")); w.put("shop", token("shop", "2")) },
			accept: func(w *world, s *spy) { s.recovers(); w.put("shop", token("shop", "3")) },
			oldest: "builder bad",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				bad := newSpy("bad")
				w.register(bad)
				w.serve("shop")
				w.validate()
				c.refuse(w, bad)
				w.keepValidating(mostAge - time.Second)
				require.Equal(t, "allowed", w.reason("shop"))
				w.keepValidating(time.Second)
				w.assertStale("shop")
				stale, _ := w.condition(mirror.Stale, "")
				assert.Contains(t, stale.Message, "("+c.oldest+"), longer ago than max_age 10m0s")

				c.accept(w, bad)
				w.assertOpen("shop")
			}, maxAge(mostAge))
		})
	}
}
