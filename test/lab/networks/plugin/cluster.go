// The API server: the pod, the definitions, the pod's status.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const statusAnnotation = "k8s.v1.cni.cncf.io/network-status"

var errGone = errors.New("not found")

type pod struct {
	Metadata struct {
		Name, Namespace, UID string
		Annotations          map[string]string
	}
}

// The lab writes it as JSON, which is YAML.
type kubeconfig struct {
	Clusters []struct {
		Cluster struct {
			Server string
			CA     string `json:"certificate-authority-data"`
		}
	}
	Users []struct{ User struct{ Token string } }
}

// One that starts under load, or restarts, takes seconds.
const (
	requestTimeout = 10 * time.Second
	tries          = 4
	pause          = 500 * time.Millisecond
)

func (c *call) pod() (pod, error) {
	one := pod{}
	err := c.ask("GET", c.podPath(), nil, &one)
	if err != nil {
		return one, err
	}
	if uid := c.arg("K8S_POD_UID"); uid != "" && uid != one.Metadata.UID {
		return one, fmt.Errorf("%s: the pod is another one by now: %s", c.who(), one.Metadata.UID)
	}
	return one, nil
}

func (c *call) definition(namespace, name string) (string, error) {
	var found struct{ Spec struct{ Config string } }
	path := "/apis/k8s.cni.cncf.io/v1/namespaces/" + namespace + "/network-attachment-definitions/" + name
	if err := c.ask("GET", path, nil, &found); err != nil {
		return "", fmt.Errorf("cannot find a network-attachment-definition (%s) in namespace (%s): %w", name, namespace, err)
	}
	return found.Spec.Config, nil
}

func (c *call) tell(statuses []status) error {
	parts := make([]string, len(statuses))
	for index, one := range statuses {
		text, err := json.MarshalIndent(one, "", "    ")
		if err != nil {
			return err
		}
		parts[index] = string(text)
	}
	annotations := map[string]string{statusAnnotation: "[" + strings.Join(parts, ",") + "]"}
	return c.ask("PATCH", c.podPath()+"/status", map[string]any{"metadata": map[string]any{"annotations": annotations}}, nil)
}

func (c *call) podPath() string {
	return "/api/v1/namespaces/" + c.arg("K8S_POD_NAMESPACE") + "/pods/" + c.arg("K8S_POD_NAME")
}

func (c *call) ask(method, path string, body any, into any) error {
	for count := 1; ; count++ {
		again, err := c.once(method, path, body, into)
		if !again || count == tries {
			return err
		}
		time.Sleep(pause)
	}
}

// Whether it is worth asking again, and what came of it.
func (c *call) once(method, path string, body any, into any) (bool, error) {
	var config kubeconfig
	if err := readJSON(c.Kubeconfig, &config); err != nil {
		return false, err
	}
	if len(config.Clusters) == 0 || len(config.Users) == 0 {
		return false, fmt.Errorf("%s names no cluster and user", c.Kubeconfig)
	}
	content, err := json.Marshal(body)
	if err != nil {
		return false, err
	}
	cluster := config.Clusters[0].Cluster
	request, err := http.NewRequest(method, cluster.Server+path, bytes.NewReader(content))
	if err != nil {
		return false, err
	}
	request.Header.Set("Authorization", "Bearer "+config.Users[0].User.Token)
	request.Header.Set("Content-Type", "application/merge-patch+json")
	response, err := clientFor(cluster.CA).Do(request)
	if err != nil {
		return true, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return true, err
	case response.StatusCode == http.StatusNotFound:
		return false, errGone
	case response.StatusCode >= 300:
		return response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests,
			fmt.Errorf("%s %s was answered %d: %.300s", method, path, response.StatusCode, text)
	case into == nil:
		return false, nil
	}
	return false, json.Unmarshal(text, into)
}

var client *http.Client

// One connection for all requests of the process.
func clientFor(authority string) *http.Client {
	if client == nil {
		certificate, _ := base64.StdEncoding.DecodeString(authority)
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(certificate)
		client = &http.Client{
			Timeout:   requestTimeout,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}},
		}
	}
	return client
}
