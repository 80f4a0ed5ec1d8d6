// Speaks to an API server as operators written in Go do: typed clients in protobuf, informers, leader election, controller-runtime's
// manager, webhooks. Prints one line of JSON per case: what was asked for and what the server has then. Nothing is judged here; the test
// that starts it compares servers with each other.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// world is what a case works on: a server, a namespace of its own, and clients that send protobuf.
type world struct {
	ctx       context.Context
	namespace string
	config    *rest.Config
	kube      kubernetes.Interface
	kinds     apiextensions.Interface
	plain     dynamic.Interface
}

type result struct {
	Case string `json:"case"`
	// What went wrong: the reason of the API, or the words of Go. Empty if nothing did.
	Error string `json:"error,omitempty"`
	Seen  any    `json:"seen,omitempty"`
}

// One that stands still is a finding too.
const caseTimeout = 60 * time.Second

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: client KUBECONFIG NAMESPACE")
		os.Exit(2)
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	check(err)
	config.QPS, config.Burst = 200, 400
	binary := rest.CopyConfig(config)
	binary.ContentType = protobuf
	binary.AcceptContentTypes = protobuf + ",application/json"
	check(apiutil.AddToProtobufScheme(apiextensionsv1.AddToScheme))
	kube, err := kubernetes.NewForConfig(binary)
	check(err)
	kinds, err := apiextensions.NewForConfig(binary)
	check(err)
	plain, err := dynamic.NewForConfig(config)
	check(err)
	cases := allCases()
	names := make([]string, 0, len(cases))
	for name := range cases {
		names = append(names, name)
	}
	sort.Strings(names)
	out := json.NewEncoder(os.Stdout)
	for _, name := range names {
		ctx, cancel := context.WithTimeout(context.Background(), caseTimeout)
		w := &world{ctx, os.Args[2], config, kube, kinds, plain}
		seen, err := cases[name](w)
		cancel()
		check(out.Encode(result{name, reasonOf(err), seen}))
	}
}

type scene func(w *world) (any, error)

func allCases() map[string]scene {
	all := map[string]scene{}
	for _, group := range []map[string]scene{kindCases, definitionCases, runtimeCases, webhookCases} {
		for name, one := range group {
			all[name] = one
		}
	}
	return all
}

// stored is the object as a client that asks for JSON sees it, without what differs from one run to the next.
func (w *world) stored(group, version, plural, namespace, name string) (any, error) {
	where := w.plain.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: plural})
	get := where.Get
	if namespace != "" {
		get = where.Namespace(namespace).Get
	}
	object, err := get(w.ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	metadata := object.Object["metadata"].(map[string]any)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink", "namespace"} {
		delete(metadata, field)
	}
	return withoutNulls(object.Object), nil
}

// Go writes null for a time that is not set; a server that leaves it out says the same.
func withoutNulls(value any) any {
	switch known := value.(type) {
	case map[string]any:
		for key, item := range known {
			if known[key] = withoutNulls(item); item == nil {
				delete(known, key)
			}
		}
	case []any:
		for at, item := range known {
			known[at] = withoutNulls(item)
		}
	}
	return value
}

// until asks again until the answer is yes, or the case's time is over.
func (w *world) until(what string, ask func() (bool, error)) error {
	for {
		done, err := ask()
		if err != nil || done {
			return err
		}
		select {
		case <-w.ctx.Done():
			return fmt.Errorf("%s did not come", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return string(reason) + ": " + err.Error()
	}
	return err.Error()
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ref[T any](value T) *T { return &value }
