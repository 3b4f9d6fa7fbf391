package kubetest

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv(orphanVariable) != "" {
		runOrphanParent()
		return
	}
	Main(m)
}
