// Calls of plugins: what they are given, what is kept of what they said.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// In the order of the network's list, each with the result of the one before.
func (c *call) attach(one network) (map[string]any, error) {
	var result map[string]any
	for index := range one.Plugins {
		output, err := c.run("ADD", one, index, result)
		if err != nil {
			return nil, err
		}
		result = nil
		if err := json.Unmarshal(output, &result); err != nil {
			return nil, fmt.Errorf("the plugin %v answers no JSON: %w", one.Plugins[index]["type"], err)
		}
		tidy(result, one.Version)
	}
	return result, c.keep(one, result)
}

// Last first. All networks are tried; inside one the first failure is the end.
func (c *call) detachAll(networks []network) error {
	words := []string{}
	for _, one := range slices.Backward(networks) {
		if err := c.detach(one); err != nil {
			words = append(words, err.Error())
		}
	}
	if len(words) == 0 {
		return nil
	}
	return errors.New(strings.Join(words, " / "))
}

func (c *call) detach(one network) error {
	previous := c.cached(one)
	if !knowsPrevious(one.Version) {
		previous = nil
	}
	for index := len(one.Plugins) - 1; index >= 0; index-- {
		if _, err := c.run("DEL", one, index, previous); err != nil {
			return fmt.Errorf("error deleting %q: %w", one.Name, err)
		}
	}
	os.Remove(c.resultFile(one))
	return nil
}

func (c *call) run(command string, one network, index int, previous map[string]any) ([]byte, error) {
	kind, _ := one.Plugins[index]["type"].(string)
	folders := c.path + ":" + c.BinDir
	program, err := find(kind, folders)
	if err != nil {
		return nil, err
	}
	input, err := json.Marshal(inputOf(one, index, previous))
	if err != nil {
		return nil, err
	}
	plugin := exec.Command(program)
	plugin.Stdin = bytes.NewReader(input)
	plugin.Stderr = os.Stderr
	plugin.Env = append(os.Environ(),
		"CNI_COMMAND="+command, "CNI_CONTAINERID="+c.container, "CNI_NETNS="+c.netns, "CNI_IFNAME="+one.Interface,
		"CNI_ARGS="+c.argsFor(command, one), "CNI_PATH="+folders)
	output, err := plugin.Output()
	if err != nil {
		return nil, wordsOf(output, err)
	}
	return output, nil
}

// Keys are sorted by the encoder. Only what the plugin declares is in runtimeConfig; a claim's reference is nowhere.
func inputOf(one network, index int, previous map[string]any) map[string]any {
	input := maps.Clone(one.Plugins[index])
	input["name"] = one.Name
	input["cniVersion"] = one.Version
	if one.Args != nil {
		args, _ := input["args"].(map[string]any)
		args = maps.Clone(args)
		if args == nil {
			args = map[string]any{}
		}
		cni, _ := args["cni"].(map[string]any)
		cni = maps.Clone(cni)
		if cni == nil {
			cni = map[string]any{}
		}
		maps.Copy(cni, one.Args)
		args["cni"] = cni
		input["args"] = args
	}
	capabilities, _ := input["capabilities"].(map[string]any)
	requested := map[string]any{}
	if len(one.IPs) > 0 && capabilities["ips"] == true {
		requested["ips"] = one.IPs
	}
	if one.MAC != "" && capabilities["mac"] == true {
		requested["mac"] = one.MAC
	}
	if len(requested) > 0 {
		input["runtimeConfig"] = requested
	}
	if previous != nil {
		input["prevResult"] = previous
	}
	return input
}

// Its own keys first, then all of the runtime's once more; what was asked for comes last, and at the ADD only.
func (c *call) argsFor(command string, one network) string {
	list := [][2]string{
		{"IgnoreUnknown", "true"},
		{"K8S_POD_NAMESPACE", c.arg("K8S_POD_NAMESPACE")},
		{"K8S_POD_NAME", c.arg("K8S_POD_NAME")},
		{"K8S_POD_INFRA_CONTAINER_ID", c.arg("K8S_POD_INFRA_CONTAINER_ID")},
		{"K8S_POD_UID", c.arg("K8S_POD_UID")},
	}
	list = append(list, c.args...)
	if command == "ADD" && one.MAC != "" {
		list = append(list, [2]string{"MAC", one.MAC})
	}
	if command == "ADD" && len(one.IPs) > 0 {
		list = append(list, [2]string{"IP", strings.Join(one.IPs, ",")})
	}
	words := make([]string, len(list))
	for index, pair := range list {
		words[index] = pair[0] + "=" + pair[1]
	}
	return strings.Join(words, ";")
}

// A DEL is given the earlier result from CNI 0.4.0 on.
func knowsPrevious(version string) bool {
	return version != "" && !strings.HasPrefix(version, "0.1") && !strings.HasPrefix(version, "0.2") && !strings.HasPrefix(version, "0.3")
}

// As the result comes out of a CNI library that has read it: nothing empty, no interfaces before 0.3.0, no family from 1.0.0 on.
func tidy(result map[string]any, version string) {
	if version == "" || strings.HasPrefix(version, "0.1") || strings.HasPrefix(version, "0.2") {
		delete(result, "interfaces")
		delete(result, "ips")
	}
	for key, value := range result {
		switch each := value.(type) {
		case map[string]any:
			if len(each) == 0 {
				delete(result, key)
			}
		case []any:
			if len(each) == 0 {
				delete(result, key)
			}
		}
	}
	ips, _ := result["ips"].([]any)
	for _, each := range ips {
		if ip, ok := each.(map[string]any); ok && !strings.HasPrefix(version, "0.") {
			delete(ip, "version")
		}
	}
}

func find(kind string, folders string) (string, error) {
	if kind == "" || strings.Contains(kind, "/") {
		return "", fmt.Errorf("a plugin's type is a name: %q", kind)
	}
	for _, folder := range filepath.SplitList(folders) {
		file := filepath.Join(folder, kind)
		if about, err := os.Stat(file); err == nil && about.Mode().IsRegular() && about.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("failed to find plugin %q in path %s", kind, folders)
}

// What a plugin that fails says of itself, else how it ended.
func wordsOf(output []byte, err error) error {
	var said struct{ Msg, Details string }
	if json.Unmarshal(output, &said) != nil || said.Msg == "" {
		return err
	}
	if said.Details == "" {
		return errors.New(said.Msg)
	}
	return errors.New(said.Msg + "; " + said.Details)
}

func (c *call) resultFile(one network) string {
	return filepath.Join(c.CNIDir, "results", one.Name+"-"+c.container+"-"+one.Interface)
}

func (c *call) keep(one network, result map[string]any) error {
	return writeJSON(c.resultFile(one), result)
}

func (c *call) cached(one network) map[string]any {
	var result map[string]any
	if readJSON(c.resultFile(one), &result) != nil {
		return nil
	}
	return result
}

// What was added, by sandbox: written before the first ADD, used up by the DEL.
func (c *call) scratch() string               { return filepath.Join(c.CNIDir, c.container) }
func (c *call) save(networks []network) error { return writeJSON(c.scratch(), networks) }
func (c *call) forget()                       { os.Remove(c.scratch()) }
func (c *call) saved() ([]network, error) {
	networks := []network{}
	err := readJSON(c.scratch(), &networks)
	return networks, err
}

func writeJSON(file string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

func readJSON(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
