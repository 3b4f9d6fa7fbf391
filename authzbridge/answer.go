package authzbridge

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

// answers are the errors that a handler returns, made once: caddyhttp.Error would
// allocate for each request. They are values, unwrapped, as Caddy's error routes
// expect, and say no more than the status.
type answers [snapshot.ReasonCount]answer

type answer struct {
	err        error
	retryAfter string
}

func newAnswers(unknownStatus int) answers {
	var all answers
	for _, reason := range snapshot.Reasons() {
		status := reason.Status()
		if reason == snapshot.ReasonUnknownHost {
			status = unknownStatus
		}
		all[reason].err = caddyhttp.HandlerError{
			StatusCode: status,
			Err:        errors.New(http.StatusText(status)),
		}
		if status == http.StatusServiceUnavailable {
			all[reason].retryAfter = strconv.Itoa(snapshot.RetryAfter)
		}
	}
	return all
}

func (a *answers) write(w http.ResponseWriter, d snapshot.Decision) error {
	if retry := a[d.Reason].retryAfter; retry != "" {
		w.Header().Set("Retry-After", retry)
	}
	if d.Reason.Status() == http.StatusUnauthorized && d.App != nil {
		w.Header()["Www-Authenticate"] = slices.Clone(d.App.Challenges())
	}
	return a[d.Reason].err
}
