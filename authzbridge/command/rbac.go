package command

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/authz-bridge/authz-bridge/mirror/kube"
	"github.com/authz-bridge/authz-bridge/snapshot"
)

func rbacCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rbac <registry file>",
		Short: "Prints the least Roles for a Registry, for scope referenced",
		Long: `
Prints the least rights that a bridge with scope referenced needs to serve a
Registry: in each namespace a Role that may list and watch the Secrets of the
Apps by their names, and a RoleBinding for the service account. In the
Registry's namespace the Role names the Registry too.

The file is the document (*.yaml, *.json, or with .gz), or the manifest of a
Secret that holds it. Apply anew when Apps refer to other Secrets:

  $ caddy authz-bridge rbac registry.yaml | kubectl apply -f -

Where an overlay is applied, write them into its rbac.yaml instead, or the next
"kubectl apply -k" takes them back. Nothing removes the Roles of a namespace
whose last App has gone; this lists all there are:

  $ kubectl get roles,rolebindings -A -l app.kubernetes.io/name=authz-bridge

Exit codes: 0 printed, 1 printed, but for Apps whose entry is wrong or for more
Secrets than the scope watches, 2 nothing is printed.`,
		Example: "  $ caddy authz-bridge rbac registry.yaml --registry edge/registry",
		Args:    arguments(1, 1, "rbac <registry file>"),
	}
	asJSON := jsonFlag(cmd)
	registry := cmd.Flags().String("registry", "", "Name of the Registry, <namespace>/<name>")
	account := cmd.Flags().String("service-account", "authz-bridge/authz-bridge", "Who runs it (authz-bridge/authz-bridge)")
	role := cmd.Flags().String("name", "authz-bridge", "Name of the Roles (authz-bridge)")
	for _, told := range []string{"service-account", "name"} {
		cmd.Flags().Lookup(told).DefValue = "" // it is in the line, which would be too long
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		to, err := newGrantee(*registry, *account, *role)
		if err != nil {
			return noAnswer(cmd, err)
		}
		d, err := readDocument(args[0], to.registry)
		if err != nil {
			return noAnswer(cmd, err)
		}
		parsed, err := snapshot.ParseRegistry(d.secret)
		if err != nil {
			return noAnswer(cmd, fmt.Errorf("%s: %w; see caddy %s lint", args[0], err, name))
		}
		if err := to.print(cmd.OutOrStdout(), parsed, *asJSON); err != nil {
			return noAnswer(cmd, err)
		}
		return exitWith(cmd, warn(newPage(cmd.ErrOrStderr()), d, parsed))
	}
	return cmd
}

// grantee is who gets the rights.
type grantee struct {
	registry, account snapshot.Key
	role              string
}

func newGrantee(registry, account, role string) (grantee, error) {
	to := grantee{role: role}
	var err error
	if to.registry, err = parseRegistryName(registry); err != nil {
		return to, err
	}
	if to.account, err = parseKey("--service-account", account); err != nil {
		return to, err
	}
	if !snapshot.ValidSubdomain(role) {
		return to, fmt.Errorf("--name: %.64q is no name; use lower-case letters, digits and hyphens", role)
	}
	return to, nil
}

// These are the objects of the API group rbac.authorization.k8s.io/v1, as far as they
// are needed here.
type (
	rbacObject struct {
		APIVersion string        `json:"apiVersion"`
		Kind       string        `json:"kind"`
		Metadata   rbacMeta      `json:"metadata"`
		Rules      []rbacRule    `json:"rules,omitempty"`
		RoleRef    *rbacRoleRef  `json:"roleRef,omitempty"`
		Subjects   []rbacSubject `json:"subjects,omitempty"`
	}
	rbacMeta struct {
		Namespace string            `json:"namespace"`
		Name      string            `json:"name"`
		Labels    map[string]string `json:"labels"`
	}
	rbacRule struct {
		APIGroups     []string `json:"apiGroups"`
		Resources     []string `json:"resources"`
		ResourceNames []string `json:"resourceNames"`
		Verbs         []string `json:"verbs"`
	}
	rbacRoleRef struct {
		APIGroup string `json:"apiGroup"`
		Kind     string `json:"kind"`
		Name     string `json:"name"`
	}
	rbacSubject struct {
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	}
	rbacList struct {
		APIVersion string       `json:"apiVersion"`
		Kind       string       `json:"kind"`
		Items      []rbacObject `json:"items"`
	}
)

// rbacLabels are those of the manifests in xcaddy/deploy. They find what was printed
// for namespaces that have no App any more.
var rbacLabels = map[string]string{"app.kubernetes.io/name": "authz-bridge"}

const rbacGroup = "rbac.authorization.k8s.io"

func (g grantee) print(to io.Writer, parsed *snapshot.Registry, asJSON bool) error {
	objects := g.objects(parsed)
	if asJSON {
		printJSON(to, rbacList{APIVersion: "v1", Kind: "List", Items: objects})
		return nil
	}
	for i := range objects {
		text, err := yaml.Marshal(objects[i])
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprintln(to, "---")
		}
		fmt.Fprint(to, string(text))
	}
	return nil
}

func (g grantee) objects(parsed *snapshot.Registry) []rbacObject {
	names := map[string][]string{parsed.Key().Namespace: {parsed.Key().Name}}
	for key := range parsed.References() {
		names[key.Namespace] = append(names[key.Namespace], key.Name)
	}
	var all []rbacObject
	for _, namespace := range slices.Sorted(maps.Keys(names)) {
		slices.Sort(names[namespace])
		meta := rbacMeta{Namespace: namespace, Name: g.role, Labels: rbacLabels}
		all = append(all, rbacObject{
			APIVersion: rbacGroup + "/v1", Kind: "Role", Metadata: meta,
			Rules: []rbacRule{{
				APIGroups: []string{""}, Resources: []string{"secrets"},
				ResourceNames: slices.Compact(names[namespace]), Verbs: []string{"list", "watch"},
			}},
		}, rbacObject{
			APIVersion: rbacGroup + "/v1", Kind: "RoleBinding", Metadata: meta,
			RoleRef:  &rbacRoleRef{APIGroup: rbacGroup, Kind: "Role", Name: g.role},
			Subjects: []rbacSubject{{Kind: "ServiceAccount", Namespace: g.account.Namespace, Name: g.account.Name}},
		})
	}
	return all
}

// warn says beside the manifests what they are not enough for, and returns the exit
// code.
func warn(p *page, d *document, parsed *snapshot.Registry) int {
	code := ExitFine
	if d.assumed {
		p.paragraph(0, fmt.Sprintf("Note: the Registry is taken for %s; --registry says another.", parsed.Key()))
	}
	var wrong []error
	for _, e := range parsed.Entries() {
		if e.Err != nil {
			wrong = append(wrong, fmt.Errorf("app %s: %w", e.Name, e.Err))
		}
	}
	if len(wrong) > 0 {
		code = ExitTrouble
		p.paragraph(0, fmt.Sprintf("Warning: no rights for %s whose entry is wrong; see caddy %s lint. The first is %v",
			plural(len(wrong), "App", "Apps"), name, wrong[0]))
	}
	if n := len(parsed.References()); n > kube.MostWatches {
		code = ExitTrouble
		p.paragraph(0, fmt.Sprintf("Warning: %d Secrets; the scope referenced watches %d, and Apps with others do not serve. Use another scope.", n, kube.MostWatches))
	}
	return code
}
