package main

import (
	"testing"

	"github.com/authz-bridge/authz-bridge/mirror/kube/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }
