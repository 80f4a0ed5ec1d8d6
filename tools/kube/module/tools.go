//go:build tools

// Package tools names the programs that the test cluster is made of, so that `go mod tidy` keeps them and all they need.
package tools

import (
	_ "github.com/containernetworking/cni/cnitool"
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
