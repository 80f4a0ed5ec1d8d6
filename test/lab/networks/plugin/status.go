// What a pod got, for its annotation (section 5 of the same standard).
package main

import (
	"encoding/json"
	"strings"
)

type status struct {
	Name      string          `json:"name"`
	Interface string          `json:"interface,omitempty"`
	IPs       []string        `json:"ips,omitempty"`
	MAC       string          `json:"mac,omitempty"`
	MTU       int             `json:"mtu,omitempty"`
	Default   bool            `json:"default,omitempty"`
	DNS       json.RawMessage `json:"dns"`
	Gateway   []string        `json:"gateway,omitempty"`
}

type result struct {
	Interfaces []struct {
		Name, MAC, Sandbox string
		MTU                int
	}
	IPs []struct {
		Address   string
		Interface *int
		Gateway   string
	}
	Routes []struct{ Dst, GW string }
	DNS    json.RawMessage
}

// One for each interface inside the pod; of several the one with a gateway, else the first, is the default network's.
func statusesOf(name string, answer map[string]any, isDefault bool) []status {
	var got result
	text, _ := json.Marshal(answer)
	if json.Unmarshal(text, &got) != nil {
		return nil
	}
	if got.DNS == nil {
		got.DNS = json.RawMessage("{}")
	}
	if len(got.Interfaces) == 1 {
		got.Interfaces[0].Sandbox = "the pod's"
	}
	chosen := -1
	for _, ip := range got.IPs {
		if chosen == -1 && ip.Gateway != "" && ip.Interface != nil {
			chosen = *ip.Interface
		}
	}
	statuses := []status{}
	for index, link := range got.Interfaces {
		if link.Sandbox == "" {
			continue
		}
		one := status{Name: name, Interface: link.Name, MAC: link.MAC, MTU: link.MTU, DNS: got.DNS, Gateway: gatewaysOf(got)}
		one.Default = isDefault && (index == chosen || (chosen == -1 && len(statuses) == 0) || len(got.Interfaces) == 1)
		for _, ip := range got.IPs {
			if ip.Interface == nil || *ip.Interface == index || len(got.Interfaces) == 1 {
				address, _, _ := strings.Cut(ip.Address, "/")
				one.IPs = append(one.IPs, address)
			}
		}
		statuses = append(statuses, one)
	}
	return statuses
}

// Of default routes; one without a gateway says so in Go's own word.
func gatewaysOf(got result) []string {
	found := []string{}
	for _, route := range got.Routes {
		if strings.HasSuffix(route.Dst, "/0") {
			if route.GW == "" {
				route.GW = "<nil>"
			}
			found = append(found, route.GW)
		}
	}
	return found
}
