package authzbridge

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

// problem is an answer of the admin API that is no success.
func problem(status int, words string) error {
	return caddy.APIError{HTTPStatus: status, Err: errors.New(words)}
}

func badRequest(format string, args ...any) error {
	return problem(http.StatusBadRequest, fmt.Sprintf(format, args...))
}

// parameters returns the query of a request. One that is not known is refused: what
// it was meant to leave out would be taken for what is there.
func parameters(r *http.Request, known ...string) (map[string]string, error) {
	values := make(map[string]string)
	for name, all := range r.URL.Query() {
		switch {
		case len(known) == 0:
			return nil, badRequest("%.64q: there are no parameters here; remove it", name)
		case !slices.Contains(known, name):
			return nil, badRequest("%.64q is no parameter; use %s", name, strings.Join(known, ", "))
		case len(all) > 1:
			return nil, badRequest("%s: is there %d times; write it once", name, len(all))
		}
		values[name] = all[0]
	}
	return values, nil
}
