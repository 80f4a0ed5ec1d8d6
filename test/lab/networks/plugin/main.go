// The lab's delegating CNI plugin. It stands in the place of Multus and does, call by call, what the real one (4.3.0, thin) was
// recorded doing; docs/testing.md says what was compared. Of the standard library alone, so that it builds in seconds.
//
// Promised: the default network first, then the pod's networks in the order of its annotation, one after another; DEL in reverse; a failed
// ADD is taken back; DEL goes by what was saved at the ADD, and where that is used up by the pod, and where that is gone it
// succeeds. Not promised: default-route, devices, events, STATUS and GC.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// What the runtime gives on standard input; the keys are Multus' own.
type settings struct {
	CNIVersion         string           `json:"cniVersion"`
	Name               string           `json:"name"`
	Kubeconfig         string           `json:"kubeconfig"`
	CNIDir             string           `json:"cniDir"`
	BinDir             string           `json:"binDir"`
	Delegates          []map[string]any `json:"delegates"`
	NamespaceIsolation bool             `json:"namespaceIsolation"`
	GlobalNamespaces   string           `json:"globalNamespaces"`
}

// One call of the runtime.
type call struct {
	settings
	command, container, netns, ifname, path string
	// CNI_ARGS, in the runtime's order.
	args [][2]string
}

// A plugin's own codes begin at 100; Multus says 999 for everything.
const failed = 999

func main() {
	answer, err := serve()
	if err != nil {
		print(map[string]any{"code": failed, "msg": err.Error()})
		os.Exit(1)
	}
	if answer != nil {
		print(answer)
	}
}

func serve() (any, error) {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return nil, err
	}
	one := call{
		settings:  settings{CNIDir: "/var/lib/cni/lab-networks", BinDir: "/opt/cni/bin"},
		command:   os.Getenv("CNI_COMMAND"),
		container: os.Getenv("CNI_CONTAINERID"),
		netns:     os.Getenv("CNI_NETNS"),
		ifname:    os.Getenv("CNI_IFNAME"),
		path:      os.Getenv("CNI_PATH"),
		args:      pairs(os.Getenv("CNI_ARGS")),
	}
	if err := json.Unmarshal(input, &one.settings); err != nil {
		return nil, fmt.Errorf("the configuration is no JSON: %w", err)
	}
	switch one.command {
	case "ADD":
		return one.add()
	case "DEL":
		return nil, one.del()
	case "CHECK":
		return nil, one.check()
	case "VERSION":
		versions := []string{"0.3.0", "0.3.1", "0.4.0", "1.0.0"}
		return map[string]any{"cniVersion": one.CNIVersion, "supportedVersions": versions}, nil
	}
	return nil, nil
}

func (c *call) add() (any, error) {
	pod, err := c.pod()
	if errors.Is(err, errGone) {
		return map[string]any{"cniVersion": c.CNIVersion}, nil
	}
	if err != nil {
		return nil, err
	}
	networks, err := c.networksOf(pod)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.who(), err)
	}
	if err := c.save(networks); err != nil {
		return nil, err
	}
	var first map[string]any
	statuses := []status{}
	for index, one := range networks {
		result, err := c.attach(one)
		if err != nil {
			c.detachAll(networks[:index+1]) // whose errors nobody hears: DEL comes again
			return nil, fmt.Errorf("[%s:%s]: error adding container to network %q: %w", c.who(), one.Name, one.Name, err)
		}
		if index == 0 {
			first = result
		}
		statuses = append(statuses, statusesOf(one.Shown, result, index == 0)...)
	}
	if err := c.tell(statuses); err != nil && !errors.Is(err, errGone) {
		return nil, fmt.Errorf("%s: error setting the networks status: %w", c.who(), err)
	}
	return first, nil
}

func (c *call) del() error {
	networks, err := c.saved()
	if err != nil {
		pod, err := c.pod()
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: neither what was added nor the pod is known (%v): nothing can be deleted\n", c.who(), err)
			return nil
		}
		if networks, err = c.networksOf(pod); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v; the default network alone is deleted\n", c.who(), err)
			if networks, err = c.defaults(); err != nil {
				return err
			}
		}
	}
	err = c.detachAll(networks)
	c.forget() // also after a failure: the next DEL asks for the pod
	return err
}

// The default network alone.
func (c *call) check() error {
	networks, err := c.defaults()
	if err != nil {
		return err
	}
	for _, one := range networks {
		for index := range one.Plugins {
			if _, err := c.run("CHECK", one, index, c.cached(one)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *call) arg(key string) string {
	for _, pair := range c.args {
		if pair[0] == key {
			return pair[1]
		}
	}
	return ""
}

func (c *call) who() string {
	return c.arg("K8S_POD_NAMESPACE") + "/" + c.arg("K8S_POD_NAME") + "/" + c.arg("K8S_POD_UID")
}

func pairs(text string) [][2]string {
	found := [][2]string{}
	for _, part := range strings.Split(text, ";") {
		if key, value, ok := strings.Cut(part, "="); ok {
			found = append(found, [2]string{key, value})
		}
	}
	return found
}

func print(value any) {
	text, _ := json.MarshalIndent(value, "", "    ")
	os.Stdout.Write(text)
}
