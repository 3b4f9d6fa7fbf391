// Package kubetest is to Kubernetes what net/http/httptest is to HTTP: it runs
// a real kube-apiserver with its etcd on free loopback ports, as users of its
// own with RBAC on, and a TCP proxy that cuts and freezes connections.
//
// The two are separate processes, so that either can be killed, frozen or put
// back to an older state alone. They end with the test process, however that
// ends. No controllers run: nothing collects garbage, finishes the deletion of
// a namespace or makes Pods of a Deployment.
//
//	func TestMain(m *testing.M) { kubetest.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		cluster := kubetest.Shared(t)
//		namespace := cluster.Namespace(t, "shop")
//		cluster.PutSecret(t, namespace, "clients", map[string]string{"token": "s3cret"})
//		kubeconfig := cluster.Kubeconfig(t, cluster.User("reader"))
//		...
//	}
//
// It is imported by tests and by the command in up only. It must never import
// a package of this project: those are what it is used to test.
package kubetest
