package main

import (
	"os"
	"testing"

	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
)

// asCaddy makes the test binary the program that it tests.
const asCaddy = "AUTHZ_BRIDGE_TEST_AS_CADDY"

func TestMain(m *testing.M) {
	if os.Getenv(asCaddy) != "" {
		main()
		return
	}
	kubetest.Main(m)
}
