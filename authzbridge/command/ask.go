package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
)

// asker asks a running Caddy.
type asker struct{ address, config, adapter *string }

// askerFlags are those of Caddy's own commands.
func askerFlags(cmd *cobra.Command) asker {
	return asker{
		address: cmd.Flags().String("address", "", "Address of Caddy's admin API"),
		config:  cmd.Flags().StringP("config", "c", "", "Configuration that has the address"),
		adapter: cmd.Flags().StringP("adapter", "a", "", "Adapter of the configuration"),
	}
}

// mostAnswered bounds an answer, in bytes: 10,000 Apps with long lists of hostnames
// are a tenth.
const mostAnswered = 256 << 20

// ask reads the answer to a question into a struct of the admin API.
func (a asker) ask(path string, query url.Values, into any) error {
	address, err := caddycmd.DetermineAdminAPIAddress(*a.address, nil, *a.config, *a.adapter)
	if err != nil {
		return fmt.Errorf("admin address: %w", err)
	}
	uri := "/authz_bridge" + path
	if len(query) > 0 {
		uri += "?" + query.Encode()
	}
	response, err := caddycmd.AdminAPIRequest(address, http.MethodGet, uri, http.Header{"Connection": {"close"}}, nil)
	if err != nil {
		return inWords(address, err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(io.LimitReader(response.Body, mostAnswered)).Decode(into); err != nil {
		return fmt.Errorf("%s: no answer of authz_bridge: %w", address, err)
	}
	return nil
}

var refused = regexp.MustCompile(`(?s)HTTP (\d+): (.*)`)

// inWords takes what was said out of Caddy's error.
func inWords(address string, err error) error {
	parts := refused.FindStringSubmatch(err.Error())
	if parts == nil {
		return fmt.Errorf("no Caddy answers at %s: %w; say where with --address or --config", address, err)
	}
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal([]byte(parts[2]), &said) != nil || said.Error == "" {
		return fmt.Errorf("%s: HTTP %s; is this a Caddy with authz_bridge?", address, parts[1])
	}
	return errors.New(said.Error)
}
