package kubetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

const fieldManager = "kubetest"

// Apply applies a multi-document YAML by server-side apply, in order, as the
// field manager "kubetest" with force and strict field validation. With dryRun
// the API server checks everything and stores nothing; namespaces that the
// manifests make must exist then. An object without a namespace goes to
// default. It stops at the first error, which names the object.
func (c *Cluster) Apply(ctx context.Context, manifests []byte, dryRun bool) error {
	objects, err := decodeManifests(manifests)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.client.Discovery()))
	for _, object := range objects {
		if err := c.applyObject(ctx, mapper, object, dryRun); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), objectName(object), err)
		}
	}
	return nil
}

func (c *Cluster) applyObject(ctx context.Context, mapper meta.RESTMapper, object *unstructured.Unstructured, dryRun bool) error {
	if object.GetName() == "" {
		return errors.New("metadata.name is empty")
	}
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{
		FieldManager:    fieldManager,
		Force:           new(true),
		FieldValidation: metav1.FieldValidationStrict,
	}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	resource := c.resource(mapping, object)
	body, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = resource.Patch(ctx, object.GetName(), types.ApplyYAMLPatchType, body, options)
	return err
}

func (c *Cluster) resource(mapping *meta.RESTMapping, object *unstructured.Unstructured) dynamic.ResourceInterface {
	resource := c.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return resource
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	return resource.Namespace(object.GetNamespace())
}

func objectName(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}

// decodeManifests returns the objects of all documents, those of a List one by one.
func decodeManifests(manifests []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests)))
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("manifest document %d: %w", number, err)
		}
		found, err := decodeDocument(document)
		if err != nil {
			return nil, fmt.Errorf("manifest document %d: %w", number, err)
		}
		objects = append(objects, found...)
	}
}

func decodeDocument(document []byte) ([]*unstructured.Unstructured, error) {
	content := map[string]any{}
	if err := yaml.UnmarshalStrict(document, &content); err != nil {
		return nil, err
	}
	if len(content) == 0 {
		return nil, nil // comments only
	}
	object := &unstructured.Unstructured{Object: content}
	if object.GetKind() == "" || object.GetAPIVersion() == "" {
		return nil, errors.New("apiVersion or kind is absent")
	}
	if !object.IsList() {
		return []*unstructured.Unstructured{object}, nil
	}
	list, err := object.ToList()
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for i := range list.Items {
		objects = append(objects, &list.Items[i])
	}
	return objects, nil
}
