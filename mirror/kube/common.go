package kube

import (
	"fmt"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// commonTitle names the watches of single Secrets together.
const commonTitle = "secrets by name"

// common is the trouble of watches of single Secrets that is not one's own, such as an
// API server that does not answer. A thousand may have it at once; the Sink is told of
// one, by one of them. The lock of the ledger guards it.
type common struct {
	failing map[*area]struct{}
	speaker *area // nil until one fails again
}

func newCommon() common { return common{failing: make(map[*area]struct{})} }

func (c *common) fail(a *area, f mirror.Failure, sink mirror.Sink) {
	c.failing[a] = struct{}{}
	if c.speaker == nil {
		c.speaker = a
	}
	if c.speaker == a {
		f.Detail = fmt.Sprintf("%s, of %d: %s", a.target.title, len(c.failing), f.Detail)
		sink.Failed(commonTitle, f)
	}
}

// end tells the Sink with the last.
func (c *common) end(a *area, sink mirror.Sink) {
	if _, was := c.failing[a]; !was {
		return
	}
	delete(c.failing, a)
	if c.speaker == a {
		c.speaker = nil
	}
	if len(c.failing) == 0 {
		sink.Recovered(commonTitle)
	}
}
