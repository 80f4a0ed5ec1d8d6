package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var runtimeCases = map[string]scene{
	"an informer sees what comes, changes and goes": func(w *world) (any, error) {
		selected := func(options *metav1.ListOptions) { options.LabelSelector = "case=informer" }
		factory := informers.NewSharedInformerFactoryWithOptions(w.kube, 0, informers.WithNamespace(w.namespace), informers.WithTweakListOptions(selected))
		informer := factory.Core().V1().ConfigMaps().Informer()
		told := make(chan string, 10)
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { told <- "add " + object.(*corev1.ConfigMap).Data["a"] },
			UpdateFunc: func(_, object any) { told <- "update " + object.(*corev1.ConfigMap).Data["a"] },
			DeleteFunc: func(any) { told <- "delete" },
		})
		if err != nil {
			return nil, err
		}
		maps := w.kube.CoreV1().ConfigMaps(w.namespace)
		metadata := metav1.ObjectMeta{Name: "informed", Labels: map[string]string{"case": "informer"}}
		made, err := maps.Create(w.ctx, &corev1.ConfigMap{ObjectMeta: metadata, Data: map[string]string{"a": "1"}}, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		ctx, stop := context.WithCancel(w.ctx)
		defer stop()
		factory.Start(ctx.Done())
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return nil, fmt.Errorf("the informer did not sync")
		}
		made.Data["a"] = "2"
		if _, err = maps.Update(w.ctx, made, metav1.UpdateOptions{}); err != nil {
			return nil, err
		}
		var heard []string
		for len(heard) < 3 {
			select {
			case one := <-told:
				if heard = append(heard, one); one == "update 2" {
					err = maps.Delete(w.ctx, "informed", metav1.DeleteOptions{})
				}
			case <-ctx.Done():
				return heard, fmt.Errorf("not all of it was told")
			}
			if err != nil {
				return heard, err
			}
		}
		return heard, nil
	},
	"leader election takes, keeps and gives back": func(w *world) (any, error) {
		lock := &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: w.namespace, Name: "elected"},
			Client:     w.kube.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: "go"},
		}
		ctx, stop := context.WithCancel(w.ctx)
		defer stop()
		var taken, renewed *resourcelock.LeaderElectionRecord
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 2 * time.Second, RenewDeadline: 1500 * time.Millisecond, RetryPeriod: 100 * time.Millisecond, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(leading context.Context) {
					defer stop()
					taken, _, _ = lock.Get(leading)
					_ = w.until("a renewal", func() (bool, error) {
						now, _, err := lock.Get(leading)
						renewed = now
						return err == nil && taken != nil && now.RenewTime.After(taken.RenewTime.Time), nil
					})
				},
				OnStoppedLeading: func() {},
			},
		})
		if err != nil {
			return nil, err
		}
		elector.Run(ctx)
		after, _, err := lock.Get(w.ctx)
		if err != nil {
			return nil, err
		}
		return []any{taken.HolderIdentity, renewed.AcquireTime.Equal(&taken.AcquireTime), after.HolderIdentity}, nil
	},
	"controller-runtime's manager: a definition by its client, its cache, a reconciler under a lease": func(w *world) (any, error) {
		log.SetLogger(zap.New(zap.WriteTo(nullWriter{})))
		scheme := runtime.NewScheme()
		check(clientgoscheme.AddToScheme(scheme))
		check(apiextensionsv1.AddToScheme(scheme))
		manager, err := ctrl.NewManager(w.config, ctrl.Options{
			Scheme: scheme, Metrics: server.Options{BindAddress: "0"},
			LeaderElection: true, LeaderElectionID: "manager.holdfast.test", LeaderElectionNamespace: w.namespace, LeaderElectionReleaseOnCancel: true,
		})
		if err != nil {
			return nil, err
		}
		reconciled := make(chan string, 10)
		err = ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Complete(reconcilerOf(manager.GetClient(), w.namespace, reconciled))
		if err != nil {
			return nil, err
		}
		ctx, stop := context.WithCancel(w.ctx)
		ended := make(chan error, 1)
		go func() { ended <- manager.Start(ctx) }()
		defer func() { stop(); <-ended }()
		widgets := definition("managed.holdfast.test", "gadgets")
		if err = manager.GetClient().Create(w.ctx, widgets); err != nil {
			return nil, err
		}
		defer func() { _ = manager.GetClient().Delete(w.ctx, widgets) }()
		managed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "managed"}}
		made, err := controllerutil.CreateOrUpdate(w.ctx, manager.GetClient(), managed, func() error {
			managed.Data = map[string]string{"wanted": "yes"}
			return nil
		})
		if err != nil {
			return nil, err
		}
		select {
		case name := <-reconciled:
			seen := &corev1.ConfigMap{}
			err = manager.GetAPIReader().Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, seen)
			return []any{made, name, seen.Data}, err
		case <-w.ctx.Done():
			return nil, fmt.Errorf("nothing was reconciled")
		}
	},
}

// reconcilerOf answers a wish in a config map, and tells whose.
func reconcilerOf(kube client.Client, namespace string, done chan<- string) reconciler {
	return func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
		seen := &corev1.ConfigMap{}
		err := kube.Get(ctx, request.NamespacedName, seen)
		if request.Namespace != namespace || err != nil || seen.Data["wanted"] == "" || seen.Data["done"] != "" {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		patch := client.MergeFrom(seen.DeepCopy())
		seen.Data["done"] = seen.Data["wanted"]
		if err = kube.Patch(ctx, seen, patch); err == nil {
			done <- request.Name
		}
		return ctrl.Result{}, err
	}
}

type reconciler func(ctx context.Context, request ctrl.Request) (ctrl.Result, error)

func (r reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return r(ctx, request)
}

type nullWriter struct{}

func (nullWriter) Write(bytes []byte) (int, error) { return len(bytes), nil }
