package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// serveWebhook answers with a handler of controller-runtime under a certificate of its own; the authority comes in PEM.
func serveWebhook(handler admission.HandlerFunc, names ...string) (*httptest.Server, []byte, error) {
	hook := &admission.Webhook{Handler: handler}
	http1, err := admission.StandaloneWebhook(hook, admission.StandaloneOptions{})
	if err != nil {
		return nil, nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	certificate := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, certificate, certificate, &key.PublicKey, key)
	if err != nil {
		return nil, nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/review", http1)
	server := httptest.NewUnstartedServer(mux)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	return server, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// forMaps are rules about the config maps of one case.
func (w *world) forMaps(name string) ([]admissionv1.RuleWithOperations, *metav1.LabelSelector, *metav1.LabelSelector) {
	rules := []admissionv1.RuleWithOperations{{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}
	here := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}}
	return rules, here, &metav1.LabelSelector{MatchLabels: map[string]string{"case": name}}
}

// A configuration is seen by the server after a moment.
func (w *world) refusedMap(name string) (string, error) {
	said := ""
	err := w.until("the webhook", func() (bool, error) {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"case": name}}}
		_, err := w.kube.CoreV1().ConfigMaps(w.namespace).Create(w.ctx, object, metav1.CreateOptions{})
		if err != nil {
			said = reasonOf(err)
			return true, nil
		}
		return false, w.kube.CoreV1().ConfigMaps(w.namespace).Delete(w.ctx, name, metav1.DeleteOptions{})
	})
	return said, err
}

func (w *world) validating(name string, clientConfig admissionv1.WebhookClientConfig) (func(), error) {
	rules, here, selected := w.forMaps(name)
	full := w.namespace + "." + name + ".test"
	configurations := w.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := configurations.Create(w.ctx, &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: full},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "hook.holdfast.test", ClientConfig: clientConfig, Rules: rules, NamespaceSelector: here, ObjectSelector: selected,
			SideEffects: ref(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: ref(int32(5)),
		}},
	}, metav1.CreateOptions{})
	return func() { _ = configurations.Delete(w.ctx, full, metav1.DeleteOptions{}) }, err
}

func deny(_ context.Context, request admission.Request) admission.Response {
	return admission.Denied("not " + request.Name)
}

var webhookCases = map[string]scene{
	"a validating webhook by its address denies": func(w *world) (any, error) {
		server, authority, err := serveWebhook(deny)
		if err != nil {
			return nil, err
		}
		defer server.Close()
		remove, err := w.validating("by-url", admissionv1.WebhookClientConfig{URL: ref(server.URL + "/review"), CABundle: authority})
		defer remove()
		if err != nil {
			return nil, err
		}
		return w.refusedMap("by-url")
	},
	"a webhook by its service is asked under the service's name": func(w *world) (any, error) {
		name := "reviewer"
		server, authority, err := serveWebhook(deny, name+"."+w.namespace+".svc")
		if err != nil {
			return nil, err
		}
		defer server.Close()
		_, portText, _ := net.SplitHostPort(server.Listener.Addr().String())
		port, _ := strconv.Atoi(portText)
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeExternalName, ExternalName: "localhost", Ports: []corev1.ServicePort{{Port: int32(port)}},
		}}
		if _, err = w.kube.CoreV1().Services(w.namespace).Create(w.ctx, service, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
		remove, err := w.validating("by-service", admissionv1.WebhookClientConfig{
			Service: &admissionv1.ServiceReference{Namespace: w.namespace, Name: name, Path: ref("/review"), Port: ref(int32(port))}, CABundle: authority,
		})
		defer remove()
		if err != nil {
			return nil, err
		}
		return w.refusedMap("by-service")
	},
	"a webhook whose service is not there stops what it is about": func(w *world) (any, error) {
		remove, err := w.validating("no-service", admissionv1.WebhookClientConfig{
			Service: &admissionv1.ServiceReference{Namespace: w.namespace, Name: "nobody", Path: ref("/review")},
		})
		defer remove()
		if err != nil {
			return nil, err
		}
		return w.refusedMap("no-service")
	},
	"a webhook under a certificate that its bundle does not know is not believed": func(w *world) (any, error) {
		server, _, err := serveWebhook(deny)
		if err != nil {
			return nil, err
		}
		defer server.Close()
		another, other, err := serveWebhook(deny)
		if err != nil {
			return nil, err
		}
		another.Close()
		remove, err := w.validating("stranger", admissionv1.WebhookClientConfig{URL: ref(server.URL + "/review"), CABundle: other})
		defer remove()
		if err != nil {
			return nil, err
		}
		said, err := w.refusedMap("stranger")
		return said[:len("InternalError")], err
	},
	"a mutating webhook changes what is made": func(w *world) (any, error) {
		server, authority, err := serveWebhook(func(_ context.Context, request admission.Request) admission.Response {
			changed := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"changed","labels":{"case":"changed"}},"data":{"by":"hook"}}`)
			return admission.PatchResponseFromRaw(request.Object.Raw, changed)
		})
		if err != nil {
			return nil, err
		}
		defer server.Close()
		rules, here, selected := w.forMaps("changed")
		configurations := w.kube.AdmissionregistrationV1().MutatingWebhookConfigurations()
		full := w.namespace + ".changed.test"
		_, err = configurations.Create(w.ctx, &admissionv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: full},
			Webhooks: []admissionv1.MutatingWebhook{{
				Name: "hook.holdfast.test", Rules: rules, NamespaceSelector: here, ObjectSelector: selected, AdmissionReviewVersions: []string{"v1"},
				SideEffects: ref(admissionv1.SideEffectClassNone), ClientConfig: admissionv1.WebhookClientConfig{URL: ref(server.URL + "/review"), CABundle: authority},
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		defer configurations.Delete(w.ctx, full, metav1.DeleteOptions{})
		var data map[string]string
		err = w.until("the webhook", func() (bool, error) {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "changed", Labels: map[string]string{"case": "changed"}}}
			made, err := w.kube.CoreV1().ConfigMaps(w.namespace).Create(w.ctx, object, metav1.CreateOptions{})
			if err != nil {
				return false, err
			}
			data = made.Data
			return len(data) > 0, w.kube.CoreV1().ConfigMaps(w.namespace).Delete(w.ctx, "changed", metav1.DeleteOptions{})
		})
		return data, err
	},
}
