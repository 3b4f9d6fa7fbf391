package snapshot_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

var names = []struct {
	name                      string
	label, subdomain, dataKey bool
}{
	{"", false, false, false},
	{"a", true, true, true},
	{"0", true, true, true},
	{"shop", true, true, true},
	{"shop-1", true, true, true},
	{"a--b", true, true, true},
	{"-shop", false, false, true},
	{"shop-", false, false, true},
	{"-", false, false, true},
	{"Shop", false, false, true},
	{"shop_1", false, false, true},
	{"shop.eu", false, true, true},
	{"shop..eu", false, false, true},
	{"shop.-eu", false, false, true},
	{"shop-.eu", false, false, true},
	{".shop", false, false, true},
	{"shop.", false, false, true},
	{".", false, false, false},
	{"..", false, false, false},
	{"..data", false, false, false},
	{"...", false, false, false},
	{"a..", false, false, true},
	{"sh op", false, false, false},
	{"shop\n", false, false, false},
	{"shop\x00", false, false, false},
	{"shop/1", false, false, false},
	{"b\u00fccher", false, false, false},
	{"\uff41", false, false, false},
	{label63, true, true, true},
	{label64, false, true, true},
	{name253, false, true, true},
	{name254, false, false, false},
	{strings.Repeat("a", 253), false, true, true},
	{strings.Repeat("a", 254), false, false, false},
}

func TestNamesAreThoseOfKubernetes(t *testing.T) {
	for _, tt := range names {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.label, snapshot.ValidLabel(tt.name), "label")
			assert.Equal(t, tt.subdomain, snapshot.ValidSubdomain(tt.name), "subdomain")
			assert.Equal(t, tt.dataKey, snapshot.ValidDataKey(tt.name), "data key")
			requireAsKubernetes(t, tt.name)
		})
	}
}

// requireAsKubernetes compares with what the API server itself calls.
func requireAsKubernetes(t *testing.T, name string) {
	t.Helper()
	require.Equal(t, len(validation.IsDNS1123Label(name)) == 0, snapshot.ValidLabel(name), "label %q", name)
	require.Equal(t, len(validation.IsDNS1123Subdomain(name)) == 0, snapshot.ValidSubdomain(name), "subdomain %q", name)
	require.Equal(t, len(validation.IsConfigMapKey(name)) == 0, snapshot.ValidDataKey(name), "data key %q", name)
}

func FuzzNames(f *testing.F) {
	for _, tt := range names {
		f.Add(tt.name)
	}
	f.Fuzz(requireAsKubernetes)
}
