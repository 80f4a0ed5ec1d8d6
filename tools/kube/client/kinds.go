package main

import (
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
)

// A moment with all of its six digits.
var moment = metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 123_456_000, time.UTC))

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"empty": ""}}
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{
		TerminationGracePeriodSeconds: ref(int64(0)),
		AutomountServiceAccountToken:  ref(false),
		Volumes: []corev1.Volume{
			{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		},
		Containers: []corev1.Container{{
			Name:    "web",
			Image:   "web:1",
			Command: []string{"serve", ""},
			Env:     []corev1.EnvVar{{Name: "A", Value: "1"}},
			Ports:   []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("64Mi")},
			},
			LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
				HTTPGet: &corev1.HTTPGetAction{Path: "/live", Port: intstr.FromString("http")},
			}},
			SecurityContext: &corev1.SecurityContext{RunAsUser: ref(int64(0)), Privileged: ref(false)},
		}},
	}
}

var kindCases = map[string]scene{
	"a config map, its update, a patch and its end": func(w *world) (any, error) {
		maps := w.kube.CoreV1().ConfigMaps(w.namespace)
		made, err := maps.Create(w.ctx, &corev1.ConfigMap{
			ObjectMeta: named("map"),
			Data:       map[string]string{"a": "1", "empty": ""},
			BinaryData: map[string][]byte{"b": {0, 255}},
		}, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		made.Data["a"] = "2"
		if _, err = maps.Update(w.ctx, made, metav1.UpdateOptions{}); err != nil {
			return nil, err
		}
		_, conflict := maps.Update(w.ctx, made, metav1.UpdateOptions{})
		patch := []byte(`{"data":{"c":"3"}}`)
		if _, err = maps.Patch(w.ctx, "map", types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return nil, err
		}
		applied := applycorev1.ConfigMap("map", w.namespace).WithData(map[string]string{"d": "4"})
		if _, err = maps.Apply(w.ctx, applied, metav1.ApplyOptions{FieldManager: "go", Force: true}); err != nil {
			return nil, err
		}
		seen, err := w.stored("", "v1", "configmaps", w.namespace, "map")
		if err != nil {
			return nil, err
		}
		grace := metav1.DeleteOptions{GracePeriodSeconds: ref(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(made.UID))}
		if err = maps.Delete(w.ctx, "map", grace); err != nil {
			return nil, err
		}
		_, gone := maps.Get(w.ctx, "map", metav1.GetOptions{})
		return []any{seen, reasonOf(conflict) != "", reasonOf(gone) != ""}, nil
	},
	"a secret": func(w *world) (any, error) {
		secret := &corev1.Secret{ObjectMeta: named("secret"), Type: "Opaque", Data: map[string][]byte{"a": []byte("b")}, Immutable: ref(false)}
		if _, err := w.kube.CoreV1().Secrets(w.namespace).Create(w.ctx, secret, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
		return w.stored("", "v1", "secrets", w.namespace, "secret")
	},
	"a pod, and its status": func(w *world) (any, error) {
		pods := w.kube.CoreV1().Pods(w.namespace)
		pod, err := pods.Create(w.ctx, &corev1.Pod{ObjectMeta: named("pod"), Spec: podSpec()}, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.PodIPs = []corev1.PodIP{{IP: "10.1.2.3"}}
		pod.Status.PodIP = "10.1.2.3"
		since := metav1.NewTime(moment.Time)
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}}
		if _, err = pods.UpdateStatus(w.ctx, pod, metav1.UpdateOptions{}); err != nil {
			return nil, err
		}
		return w.stored("", "v1", "pods", w.namespace, "pod")
	},
	"a node, its taint and its conditions": func(w *world) (any, error) {
		name := w.namespace + "-node"
		node := &corev1.Node{ObjectMeta: named(name), Spec: corev1.NodeSpec{PodCIDR: "10.9.0.0/24", PodCIDRs: []string{"10.9.0.0/24"}}}
		made, err := w.kube.CoreV1().Nodes().Create(w.ctx, node, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		defer w.kube.CoreV1().Nodes().Delete(w.ctx, name, metav1.DeleteOptions{})
		made.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}}
		if made, err = w.kube.CoreV1().Nodes().Update(w.ctx, made, metav1.UpdateOptions{}); err != nil {
			return nil, err
		}
		made.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Tested"}}
		made.Status.Capacity = corev1.ResourceList{"cpu": resource.MustParse("2")}
		if _, err = w.kube.CoreV1().Nodes().UpdateStatus(w.ctx, made, metav1.UpdateOptions{}); err != nil {
			return nil, err
		}
		seen, err := w.kube.CoreV1().Nodes().Get(w.ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return []any{seen.Spec.PodCIDRs, len(seen.Spec.Taints), seen.Status.Conditions[0].Reason, seen.Status.Capacity.Cpu().String()}, nil
	},
	"a namespace": func(w *world) (any, error) {
		name := w.namespace + "-other"
		made, err := w.kube.CoreV1().Namespaces().Create(w.ctx, &corev1.Namespace{ObjectMeta: named(name)}, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		defer w.kube.CoreV1().Namespaces().Delete(w.ctx, name, metav1.DeleteOptions{})
		return []any{made.Status.Phase, made.Spec.Finalizers}, nil
	},
	"a deployment": func(w *world) (any, error) {
		template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: podSpec()}
		template.Spec.TerminationGracePeriodSeconds = nil
		deployment := &appsv1.Deployment{ObjectMeta: named("deployment"), Spec: appsv1.DeploymentSpec{
			Replicas: ref(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: template,
			Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: ref(intstr.FromInt32(1))}},
		}}
		made, err := w.kube.AppsV1().Deployments(w.namespace).Create(w.ctx, deployment, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		return []any{made.Spec.Replicas, made.Spec.Strategy, made.Spec.Template.Spec.Containers[0].Resources, made.Generation}, nil
	},
	"a lease keeps its six digits": func(w *world) (any, error) {
		leases := w.kube.CoordinationV1().Leases(w.namespace)
		_, err := leases.Create(w.ctx, &coordinationv1.Lease{ObjectMeta: named("lease"), Spec: coordinationv1.LeaseSpec{
			HolderIdentity:       ref(""),
			LeaseDurationSeconds: ref(int32(15)),
			LeaseTransitions:     ref(int32(0)),
			RenewTime:            &moment,
		}}, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		again, err := leases.Get(w.ctx, "lease", metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		seen, err := w.stored("coordination.k8s.io", "v1", "leases", w.namespace, "lease")
		return []any{seen, again.Spec.RenewTime.Equal(&moment)}, err
	},
	"an event of the old group": func(w *world) (any, error) {
		about := corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: "map"}
		event := &corev1.Event{
			ObjectMeta: named("old-event"), InvolvedObject: about, Reason: "Tested", Message: "a word", Type: "Normal", Count: 1,
			FirstTimestamp: metav1.NewTime(moment.Time), LastTimestamp: metav1.NewTime(moment.Time),
		}
		if _, err := w.kube.CoreV1().Events(w.namespace).Create(w.ctx, event, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
		seen, err := w.kube.CoreV1().Events(w.namespace).Get(w.ctx, "old-event", metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return []any{seen.InvolvedObject.Kind, seen.Count, seen.LastTimestamp.UTC(), seen.EventTime.IsZero()}, nil
	},
	"an event of the new group": func(w *world) (any, error) {
		about := corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: "map"}
		event := &eventsv1.Event{
			ObjectMeta: named("new-event"), EventTime: moment, ReportingController: "holdfast.test/go", ReportingInstance: "go-1",
			Action: "Testing", Reason: "Tested", Regarding: about, Note: "a word", Type: "Normal",
		}
		if _, err := w.kube.EventsV1().Events(w.namespace).Create(w.ctx, event, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
		return w.stored("events.k8s.io", "v1", "events", w.namespace, "new-event")
	},
	"a role": func(w *world) (any, error) {
		role := &rbacv1.Role{ObjectMeta: named("role"), Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}}
		if _, err := w.kube.RbacV1().Roles(w.namespace).Create(w.ctx, role, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
		return w.stored("rbac.authorization.k8s.io", "v1", "roles", w.namespace, "role")
	},
	"webhook configurations get their defaults": func(w *world) (any, error) {
		name := w.namespace + ".defaults.test"
		client := admissionv1.WebhookClientConfig{
			Service:  &admissionv1.ServiceReference{Namespace: w.namespace, Name: "nobody", Path: ref("/review")},
			CABundle: []byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"),
		}
		rules := []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{"CREATE"},
			Rule:       admissionv1.Rule{APIGroups: []string{"nobody.test"}, APIVersions: []string{"v1"}, Resources: []string{"nothings"}},
		}}
		_, refused := w.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(w.ctx, &admissionv1.ValidatingWebhookConfiguration{
			ObjectMeta: named(name), Webhooks: []admissionv1.ValidatingWebhook{{
				Name: name, ClientConfig: client, Rules: rules, AdmissionReviewVersions: []string{"v1"},
			}},
		}, metav1.CreateOptions{})
		client.CABundle = nil
		configurations := w.kube.AdmissionregistrationV1().MutatingWebhookConfigurations()
		_, err := configurations.Create(w.ctx, &admissionv1.MutatingWebhookConfiguration{
			ObjectMeta: named(name), Webhooks: []admissionv1.MutatingWebhook{{
				Name: name, ClientConfig: client, Rules: rules, AdmissionReviewVersions: []string{"v1"},
				SideEffects: ref(admissionv1.SideEffectClassNone),
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		defer configurations.Delete(w.ctx, name, metav1.DeleteOptions{})
		made, err := configurations.Get(w.ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		hook := made.Webhooks[0]
		hook.Name, hook.ClientConfig.Service.Namespace = "", ""
		return []any{hook, reasonOf(refused) != ""}, nil
	},
}
