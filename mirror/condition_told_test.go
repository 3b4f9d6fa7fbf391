package mirror_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/authz-bridge/authz-bridge/mirror"
)

func TestEachConditionIsToldWhenItBeginsAndWhenItEnds(t *testing.T) {
	var told []string
	note := func(c mirror.Condition, began bool) {
		what := "-"
		if began {
			what = "+"
		}
		told = append(told, what+string(c.Type)+" "+c.Subject+": "+c.Message)
	}
	inWorld(t, func(t *testing.T, w *world) {
		w.serve("shop")
		w.fail(watch, mirror.FailureContact, "refused")
		assert.Empty(t, told, "one attempt is everyday")
		w.fail(watch, mirror.FailureContact, "refused")
		w.fail(watch, mirror.FailureContact, "timed out")
		w.fail(watch, mirror.FailureForbidden, "may not list")
		w.source.sink.Recovered(watch)
		w.source.sink.Recovered(watch)
		assert.Equal(t, []string{
			"+ContactLost " + watch + ": refused",
			"-ContactLost " + watch + ": timed out",
			"+Forbidden " + watch + ": may not list",
			"-Forbidden " + watch + ": may not list",
		}, told)
	}, func(o *mirror.Options) { o.OnCondition = note })
}
