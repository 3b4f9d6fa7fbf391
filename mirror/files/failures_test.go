package files

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/authz-bridge/authz-bridge/mirror"
)

func TestHowOftenAFailureIsTold(t *testing.T) {
	failing := func(detail string) map[string]mirror.Failure {
		return map[string]mirror.Failure{"file a": {Kind: mirror.FailureContact, Detail: detail}}
	}
	start := time.Now()
	steps := []struct {
		after   time.Duration
		current map[string]mirror.Failure
		told    []string
		why     string
	}{
		{0, failing("x"), []string{"failed file a"}, "new"},
		{1, failing("x"), []string{"failed file a"}, "one attempt alone does not count as lost contact"},
		{2, failing("x"), nil, "told"},
		{failEvery, failing("x"), nil, "told"},
		{failEvery + 1, failing("x"), []string{"failed file a"}, "goes on"},
		{failEvery + 2, failing("x"), nil, "told"},
		{failEvery + 3, failing("y"), []string{"failed file a"}, "another detail"},
		{failEvery + 4, nil, []string{"recovered file a"}, "over"},
		{failEvery + 5, nil, nil, "told"},
	}
	var f failures
	for _, step := range steps {
		r := newRecorder()
		f.tell(r, start.Add(step.after), step.current)
		assert.Equal(t, step.told, r.calls(), step.why)
	}
}
