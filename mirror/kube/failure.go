package kube

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/authz-bridge/authz-bridge/mirror"
)

// maxDetail bounds what is repeated of somebody else's words, in bytes.
const maxDetail = 300

// causeDecoding is how client-go marks an error of its own in a watch's stream.
const causeDecoding metav1.CauseType = "ClientWatchDecoding"

const unauthorizedDetail = "the API server does not accept the credential (401); renew the token or the client certificate"

// classify says what kind of failure an error is. denied is what to say when a
// permission is missing.
func classify(err error, denied string) mirror.Failure {
	switch {
	case apierrors.IsUnauthorized(err):
		return mirror.Failure{Kind: mirror.FailureUnauthorized, Detail: unauthorizedDetail}
	case apierrors.IsForbidden(err):
		return mirror.Failure{Kind: mirror.FailureForbidden, Detail: denied}
	}
	return mirror.Failure{Kind: mirror.FailureContact, Detail: shorten(describe(err))}
}

// isOutdated reports whether the API server only refused a resource version. A
// list follows, and nothing is out of order.
func isOutdated(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) ||
		apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// isSecretNotFound tells an absent Secret from a server or a proxy that does not
// know the path.
func isSecretNotFound(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// describe leaves out the URL, which says nothing new, and the body of an answer
// that is not the API server's own, which may hold anything.
func describe(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return describeStatus(status.Status())
	}
	if request, ok := errors.AsType[*url.Error](err); ok {
		return request.Err.Error()
	}
	return err.Error()
}

func describeStatus(status metav1.Status) string {
	unexpected := false
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			if cause.Type == causeDecoding {
				return cause.Message
			}
			unexpected = unexpected || cause.Type == metav1.CauseTypeUnexpectedServerResponse
		}
	}
	if unexpected {
		return fmt.Sprintf("the server answered %d %s", status.Code, status.Reason)
	}
	return fmt.Sprintf("the server answered %d %s: %s", status.Code, status.Reason, status.Message)
}

func shorten(text string) string {
	if len(text) > maxDetail {
		return strings.ToValidUTF8(text[:maxDetail], "") + "..."
	}
	return text
}

// mostDelay bounds what a server may ask for: longer, and news of a revoked Secret
// would be missed for as long as anything in between pleases.
const mostDelay = 30 * time.Second

// retryAfter is how long the server asks to be left alone, zero if it does not.
func retryAfter(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return min(time.Duration(seconds)*time.Second, mostDelay)
}
