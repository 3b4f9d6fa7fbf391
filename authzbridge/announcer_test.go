package authzbridge_test

import (
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/authz-bridge/authz-bridge/authzbridge"
	"github.com/authz-bridge/authz-bridge/mirror"
)

// stuck is a writer that blocks until it is free.
type stuck struct {
	free    chan struct{}
	written chan string
}

// Write implements io.Writer.
func (s *stuck) Write(line []byte) (int, error) {
	<-s.free
	s.written <- string(line)
	return len(line), nil
}

var _ io.Writer = (*stuck)(nil)

func TestALogThatBlocksDelaysNoneWhoTellsOfAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &stuck{make(chan struct{}), make(chan string, 10)}
		encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
		told, end := authzbridge.Announce(zap.New(zapcore.NewCore(encoder, zapcore.AddSync(log), zapcore.DebugLevel)))
		for range 2000 {
			told(mirror.Condition{Type: mirror.ContactLost}, true) // where it waits the test ends in a deadlock
		}
		synctest.Wait()
		assert.Empty(t, log.written)
		close(log.free)
		synctest.Wait()
		assert.Len(t, log.written, 1)
		assert.Contains(t, <-log.written, `"msg":"events are dropped; a subscriber does not keep up","waiting":1024`)
		end()
	})
}
