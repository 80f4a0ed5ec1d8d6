// Which networks a pod has: the default one, and those of its annotation (Network Custom Resource Definition De-facto Standard, 4.1).
package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

const networksAnnotation = "k8s.v1.cni.cncf.io/networks"

type network struct {
	// In the status: the definition's namespace/name; of the default network its CNI name.
	Shown     string
	Name      string
	Version   string
	Interface string
	Plugins   []map[string]any
	MAC       string
	IPs       []string
	Args      map[string]any
}

type selection struct {
	Name         string         `json:"name"`
	Namespace    string         `json:"namespace"`
	Interface    string         `json:"interface"`
	MAC          string         `json:"mac"`
	IPs          []string       `json:"ips"`
	CNIArgs      map[string]any `json:"cni-args"`
	DefaultRoute []string       `json:"default-route"`
}

func (c *call) defaults() ([]network, error) {
	networks := []network{}
	for _, config := range c.Delegates {
		one, err := c.networkOf(config, "")
		if err != nil {
			return nil, fmt.Errorf("the default network %w", err)
		}
		one.Shown, one.Interface = one.Name, c.ifname
		networks = append(networks, one)
	}
	return networks, nil
}

func (c *call) networksOf(pod pod) ([]network, error) {
	networks, err := c.defaults()
	if err != nil {
		return nil, err
	}
	wanted, err := selectionsOf(pod.Metadata.Annotations[networksAnnotation])
	if err != nil {
		return nil, fmt.Errorf("the annotation %s %w", networksAnnotation, err)
	}
	for _, each := range wanted {
		if each.Namespace == "" {
			each.Namespace = pod.Metadata.Namespace
		}
		if each.Interface == "" {
			each.Interface = fmt.Sprintf("net%d", len(networks))
		}
		one, err := c.resolve(each, pod.Metadata.Namespace)
		if err != nil {
			return nil, err
		}
		networks = append(networks, one)
	}
	return networks, nil
}

func (c *call) resolve(each selection, podNamespace string) (network, error) {
	shared := strings.Split(c.GlobalNamespaces, ",")
	if c.NamespaceIsolation && each.Namespace != podNamespace && !slices.Contains(shared, each.Namespace) {
		return network{}, fmt.Errorf(
			"namespace isolation enabled: a pod of namespace %s refers to the target namespace %s", podNamespace, each.Namespace)
	}
	if len(each.DefaultRoute) > 0 {
		return network{}, fmt.Errorf("the lab's plugin knows no default-route, which %s asks for", each.Name)
	}
	text, err := c.definition(each.Namespace, each.Name)
	if err != nil {
		return network{}, err
	}
	shown := each.Namespace + "/" + each.Name
	var config map[string]any
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return network{}, fmt.Errorf("the network-attachment-definition %s is no JSON: %w", shown, err)
	}
	one, err := c.networkOf(config, each.Name)
	if err != nil {
		return network{}, fmt.Errorf("the network-attachment-definition %s %w", shown, err)
	}
	one.Shown, one.Interface, one.MAC, one.IPs, one.Args = shown, each.Interface, each.MAC, each.IPs, each.CNIArgs
	return one, nil
}

// A list takes the plugin's own version where it has none; a single one is handed on as it is.
func (c *call) networkOf(config map[string]any, name string) (network, error) {
	one := network{Name: name}
	if given, _ := config["name"].(string); given != "" {
		one.Name = given
	}
	one.Version, _ = config["cniVersion"].(string)
	list, isList := config["plugins"].([]any)
	if !isList {
		list = []any{config}
	} else if one.Version == "" {
		one.Version = c.CNIVersion
	}
	for _, each := range list {
		plugin, ok := each.(map[string]any)
		if kind, _ := plugin["type"].(string); !ok || kind == "" {
			return one, fmt.Errorf("has a plugin without a type")
		}
		one.Plugins = append(one.Plugins, plugin)
	}
	if len(one.Plugins) == 0 {
		return one, fmt.Errorf("has no plugins")
	}
	return one, nil
}

func selectionsOf(text string) ([]selection, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	wanted := []selection{}
	if strings.ContainsAny(text, "[{\"") {
		if err := json.Unmarshal([]byte(text), &wanted); err != nil {
			return nil, fmt.Errorf("is no list of networks: %w", err)
		}
	} else {
		for _, part := range strings.Split(text, ",") {
			wanted = append(wanted, short(strings.TrimSpace(part)))
		}
	}
	for _, each := range wanted {
		if each.Name == "" || strings.ContainsAny(each.Name+each.Namespace+each.Interface, "/@ ") {
			return nil, fmt.Errorf("has %q, which is not [namespace/]name[@interface]", text)
		}
	}
	return wanted, nil
}

// [namespace/]name[@interface]
func short(text string) selection {
	one := selection{}
	if namespace, rest, ok := strings.Cut(text, "/"); ok {
		one.Namespace, text = namespace, rest
	}
	one.Name, one.Interface, _ = strings.Cut(text, "@")
	return one
}
