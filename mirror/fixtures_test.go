package mirror_test

import (
	"fmt"
	"strings"

	"github.com/authz-bridge/authz-bridge/snapshot"
)

var registryKey = snapshot.Key{Namespace: "bridge", Name: "registry"}

// registry is the Registry's Secret with the given entries.
func registry(version string, entries ...string) *snapshot.Secret {
	return document("uid-1", version, `{"version":1,"apps":[`+strings.Join(entries, ",")+`]}`)
}

func document(uid, version, text string) *snapshot.Secret {
	return snapshot.NewSecret(
		snapshot.SecretMeta{Key: registryKey, UID: uid, Version: version, Type: "Opaque"},
		map[string][]byte{"registry.yaml": []byte(text)},
	)
}

// app is an entry whose hostname and Secret are named after it. More fields are
// written as in JSON.
func app(name string, more ...string) string {
	fields := append([]string{
		fmt.Sprintf(`"name":%q`, name),
		fmt.Sprintf(`"hostnames":[%q]`, host(name)),
		fmt.Sprintf(`"secretRef":{"name":%q}`, name),
	}, more...)
	return "{" + strings.Join(fields, ",") + "}"
}

func host(app string) string { return app + ".example.com" }

func key(name string) snapshot.Key {
	return snapshot.Key{Namespace: registryKey.Namespace, Name: name}
}

func keys(names ...string) map[snapshot.Key]struct{} {
	set := make(map[snapshot.Key]struct{}, len(names))
	for _, name := range names {
		set[key(name)] = struct{}{}
	}
	return set
}

// token is the state of a Secret with bytes in it.
func token(name, version string) snapshot.SecretState {
	return value(name, version, "bytes of "+name)
}

func value(name, version, bytes string) snapshot.SecretState {
	return snapshot.Present(snapshot.NewSecret(
		snapshot.SecretMeta{Key: key(name), UID: "uid-" + name, Version: version, Type: "Opaque"},
		map[string][]byte{"token": []byte(bytes)},
	))
}

// sprintf fills in a message that is a constant of the test.
func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }
