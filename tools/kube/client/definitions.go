package main

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const text = "string"

// A definition whose schema has something of every form that protobuf has for schemas.
func definition(group, plural string) *apiextensionsv1.CustomResourceDefinition {
	kind := strings.ToUpper(plural[:1]) + plural[1:len(plural)-1]
	spec := apiextensionsv1.JSONSchemaProps{
		Type:     "object",
		Required: []string{"size"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"size":  {Type: "integer", Minimum: ref(0.0), Maximum: ref(10.0), ExclusiveMaximum: true},
			"color": {Type: text, Enum: []apiextensionsv1.JSON{{Raw: []byte(`"red"`)}, {Raw: []byte(`"blue"`)}}, Default: &apiextensionsv1.JSON{Raw: []byte(`"red"`)}},
			"port":  {XIntOrString: true},
			"free":  {Type: "object", XPreserveUnknownFields: ref(true)},
			"names": {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: text, MinLength: ref(int64(1))}}, XListType: ref("set")},
			"parts": {
				Type: "array", XListType: ref("map"), XListMapKeys: []string{"name"},
				Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Required: []string{"name"}, XMapType: ref("granular"),
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"name": {Type: text}, "count": {Type: "integer", Nullable: true}},
				}},
			},
			"tags": {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &apiextensionsv1.JSONSchemaProps{Type: text}}},
		},
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind, ShortNames: []string{plural[:2]}},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type:       "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec, "status": {Type: "object", XPreserveUnknownFields: ref(true)}},
				}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{
					{Name: "Size", Type: "integer", JSONPath: ".spec.size"},
				},
			}},
		},
	}
}

// define makes it and waits until it is served.
func (w *world) define(definition *apiextensionsv1.CustomResourceDefinition) (func(), error) {
	definitions := w.kinds.ApiextensionsV1().CustomResourceDefinitions()
	if _, err := definitions.Create(w.ctx, definition, metav1.CreateOptions{}); err != nil {
		return func() {}, err
	}
	remove := func() { _ = definitions.Delete(w.ctx, definition.Name, metav1.DeleteOptions{}) }
	where := w.plain.Resource(schema.GroupVersionResource{Group: definition.Spec.Group, Version: "v1", Resource: definition.Spec.Names.Plural})
	return remove, w.until("the kind", func() (bool, error) {
		seen, err := definitions.Get(w.ctx, definition.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, condition := range seen.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				_, err = where.Namespace(w.namespace).List(w.ctx, metav1.ListOptions{})
				return err == nil, nil
			}
		}
		return false, nil
	})
}

func custom(group, kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

var definitionCases = map[string]scene{
	"a definition of the typed client, its update, its objects": func(w *world) (any, error) {
		group := "typed.holdfast.test"
		remove, err := w.define(definition(group, "widgets"))
		defer remove()
		if err != nil {
			return nil, err
		}
		definitions := w.kinds.ApiextensionsV1().CustomResourceDefinitions()
		// Somebody else writes the conditions: a conflict is tried again.
		err = w.until("the update", func() (bool, error) {
			current, err := definitions.Get(w.ctx, "widgets."+group, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			current.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["late"] = apiextensionsv1.JSONSchemaProps{Type: text}
			_, err = definitions.Update(w.ctx, current, metav1.UpdateOptions{})
			return err == nil, nil
		})
		if err != nil {
			return nil, err
		}
		where := w.plain.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"}).Namespace(w.namespace)
		// A server may take a moment to go by a new schema.
		err = w.until("the new schema", func() (bool, error) {
			trial := custom(group, "Widget", "trial", map[string]any{"size": int64(1), "late": "x"})
			made, err := where.Create(w.ctx, trial, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err == nil && made.Object["spec"].(map[string]any)["late"] == "x", err
		})
		if err != nil {
			return nil, err
		}
		var answers []any
		for _, spec := range []map[string]any{
			{"size": int64(1), "port": "http", "late": "x", "dropped": true},
			{"size": int64(10)},
			{"size": int64(2), "color": "green"},
			{"size": int64(3), "names": []any{"a", "a"}},
			{"color": "blue"},
		} {
			made, err := where.Create(w.ctx, custom(group, "Widget", "w", spec), metav1.CreateOptions{})
			if err != nil {
				answers = append(answers, reasonOf(err)[:len("Invalid")])
				continue
			}
			answers = append(answers, made.Object["spec"])
			_ = where.Delete(w.ctx, "w", metav1.DeleteOptions{})
		}
		seen, err := w.stored("apiextensions.k8s.io", "v1", "customresourcedefinitions", "", "widgets."+group)
		if err != nil {
			return nil, err
		}
		return []any{seen.(map[string]any)["spec"], answers}, nil
	},
	"a definition that is wrong is refused": func(w *world) (any, error) {
		wrong := definition("wrong.holdfast.test", "widgets")
		wrong.Spec.Versions[0].Storage = false
		_, err := w.kinds.ApiextensionsV1().CustomResourceDefinitions().Create(w.ctx, wrong, metav1.CreateOptions{})
		return reasonOf(err)[:len("Invalid")], nil
	},
}
