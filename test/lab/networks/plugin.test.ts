// The delegating plugin against plugins that note how they were called, and an API server of a few lines.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { addNetworks, type Api, checkNetworks, deleteNetworks, type PluginSettings, type Sandbox } from "./plugin.ts";
import { networksAnnotation } from "./selection.ts";
import { type NetworkStatus, statusAnnotation } from "./status.ts";

let folder: string;
let sandbox: Sandbox;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-networks-"));
  mkdirSync(join(folder, "bin"));
  const args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=pods;K8S_POD_NAME=web;K8S_POD_UID=uid-1";
  sandbox = { containerId: "box", netns: "/run/netns/box", interface: "eth0", args, path: join(folder, "bin") };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const previous = {
  cniVersion: "1.0.0",
  interfaces: [{ name: "eth0", mac: "0a:00:00:00:00:01", sandbox: "/run/netns/box" }],
  ips: [{ address: "10.88.1.2/24", interface: 0 }],
};
const settings: PluginSettings = { cniVersion: "1.0.0", name: "lab", prevResult: previous, kubeconfig: "" };
const records = () => join(folder, "records");

/** A plugin that notes its command, interface and input, and prints `result`; `failing` names commands it fails. */
function plugin(type: string, result: object, failing: readonly string[] = []): void {
  const fails = failing.map(
    (command) => `[ $CNI_COMMAND = ${command} ] && { echo '{"code":7,"msg":"cannot"}'; exit 1; }`,
  );
  writeFileSync(
    join(folder, "bin", type),
    `#!/bin/sh
input=$(cat)
printf '%s\\n' "{\\"type\\":\\"${type}\\",\\"command\\":\\"$CNI_COMMAND\\",\\"interface\\":\\"$CNI_IFNAME\\",\\"args\\":\\"$CNI_ARGS\\",\\"input\\":$input}" >> ${folder}/calls
${fails.join("\n")}
[ $CNI_COMMAND = ADD ] && echo '${JSON.stringify(result)}'
exit 0
`,
    { mode: 0o755 },
  );
}

interface Call {
  readonly type: string;
  readonly command: string;
  readonly interface: string;
  readonly args: string;
  readonly input: Record<string, unknown>;
}
const calls = (): Call[] =>
  existsSync(join(folder, "calls"))
    ? readFileSync(join(folder, "calls"), "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Call)
    : [];
const told = () => calls().map(({ command, type, interface: on }) => `${command} ${type} ${on}`);

const resultOf = (name: string, address: string) => ({
  cniVersion: "1.0.0",
  interfaces: [{ name: "host-end" }, { name, mac: "0a:00:00:00:00:02", sandbox: "/run/netns/box" }],
  ips: [{ address, interface: 1 }],
});

class FakeApi implements Api {
  readonly written: NetworkStatus[][] = [];
  readonly #objects: Record<string, unknown>;
  readonly #patchFails: boolean;

  constructor(annotation: string | undefined, definitions: Record<string, object>, patchFails = false) {
    this.#patchFails = patchFails;
    const annotations = annotation === undefined ? {} : { [networksAnnotation]: annotation };
    this.#objects = { "/api/v1/namespaces/pods/pods/web": { metadata: { uid: "uid-1", annotations } } };
    for (const [key, config] of Object.entries(definitions)) {
      const [namespace, name] = key.split("/");
      const path = `/apis/k8s.cni.cncf.io/v1/namespaces/${namespace}/network-attachment-definitions/${name}`;
      this.#objects[path] = { metadata: { namespace, name }, spec: { config: JSON.stringify(config) } };
    }
  }

  async get<T>(path: string): Promise<T> {
    const found = this.#objects[path];
    if (found === undefined) throw new Error(`GET ${path} was answered 404`);
    return found as T;
  }

  async patch<T>(path: string, body: unknown): Promise<T> {
    if (this.#patchFails) throw new Error("PATCH was answered 500");
    expect(path).toBe("/api/v1/namespaces/pods/pods/web/status");
    const { annotations } = (body as { metadata: { annotations: Record<string, string> } }).metadata;
    this.written.push(JSON.parse(annotations[statusAnnotation]!) as NetworkStatus[]);
    return undefined as T;
  }
}

const add = (api: Api, more: Partial<PluginSettings> = {}) =>
  addNetworks(sandbox, { ...settings, ...more }, api, records());

test("a pod that asks for nothing gets the default network's status, and its result unchanged", async () => {
  const api = new FakeApi(undefined, {});
  expect(await add(api)).toEqual(previous);
  expect(api.written).toEqual([
    [{ name: "lab", interface: "eth0", ips: ["10.88.1.2"], mac: "0a:00:00:00:00:01", default: true, dns: {} }],
  ]);
  expect(calls()).toEqual([]);
});

test("networks are attached in order and detached in reverse, chains inside them too", async () => {
  plugin("first", resultOf("net1", "10.1.0.2/24"));
  plugin("second", resultOf("net1", "10.1.0.2/24"));
  plugin("third", resultOf("lan0", "fd00::2/64"));
  const api = new FakeApi("red,other/blue@lan0", {
    "pods/red": { cniVersion: "1.0.0", name: "red-net", plugins: [{ type: "first" }, { type: "second" }] },
    "other/blue": { type: "third" },
  });
  await add(api);
  expect(told()).toEqual(["ADD first net1", "ADD second net1", "ADD third lan0"]);
  expect(calls()[1]?.input).toMatchObject({ name: "red-net", prevResult: resultOf("net1", "10.1.0.2/24") });
  expect(calls()[2]?.input).toMatchObject({ name: "blue", cniVersion: "1.0.0" });
  expect(calls()[0]?.args).toContain("K8S_POD_NAME=web");
  expect(api.written[0]?.slice(1)).toEqual([
    { name: "pods/red", interface: "net1", ips: ["10.1.0.2"], mac: "0a:00:00:00:00:02", dns: {} },
    { name: "other/blue", interface: "lan0", ips: ["fd00::2"], mac: "0a:00:00:00:00:02", dns: {} },
  ]);

  await checkNetworks(sandbox, records());
  await deleteNetworks(sandbox, records());
  expect(told().slice(3)).toEqual([
    "CHECK first net1",
    "CHECK second net1",
    "CHECK third lan0",
    "DEL third lan0",
    "DEL second net1",
    "DEL first net1",
  ]);
  expect(calls().at(-1)?.input).toMatchObject({ prevResult: resultOf("net1", "10.1.0.2/24") });
  expect(readdirSync(records())).toEqual([]);
  await deleteNetworks(sandbox, records());
  expect(calls()).toHaveLength(9);
});

test("requests reach a plugin as runtimeConfig where it declares them, arguments always", async () => {
  plugin("capable", resultOf("net1", "10.1.0.2/24"));
  plugin("plain", resultOf("net1", "10.1.0.2/24"));
  const annotation = JSON.stringify([
    { name: "red", ips: ["10.1.0.9"], mac: "02:00:00:00:00:09", "cni-args": { vlan: 7 } },
    { name: "blue", "ipam-claim-reference": "vm.blue" },
  ]);
  const red = {
    plugins: [
      { type: "capable", capabilities: { ips: true, mac: true }, args: { cni: { kept: true } } },
      { type: "plain", capabilities: { ips: false } },
    ],
  };
  await add(new FakeApi(annotation, { "pods/red": red, "pods/blue": { type: "plain" } }));
  const [capable, plain, blue] = calls();
  expect(capable?.input).toMatchObject({
    runtimeConfig: { ips: ["10.1.0.9"], mac: "02:00:00:00:00:09" },
    args: { cni: { kept: true, vlan: 7 } },
  });
  expect(capable?.input).not.toHaveProperty("capabilities");
  expect(plain?.input).not.toHaveProperty("runtimeConfig");
  expect(blue?.input).toMatchObject({ args: { cni: { "ipam-claim-reference": "vm.blue" } } });
});

test("a network that fails takes back those before it, and itself", async () => {
  plugin("good", resultOf("net1", "10.1.0.2/24"));
  plugin("bad", {}, ["ADD"]);
  const api = new FakeApi("red,blue", { "pods/red": { type: "good" }, "pods/blue": { type: "bad" } });
  await expect(add(api)).rejects.toThrow("ADD of pods/blue (bad, net2) failed: cannot");
  expect(told()).toEqual(["ADD good net1", "ADD bad net2", "DEL bad net2", "DEL good net1"]);
  expect(api.written).toEqual([]);
  expect(readdirSync(records())).toEqual([]);
});

test("a status that cannot be written takes everything back", async () => {
  plugin("good", resultOf("net1", "10.1.0.2/24"));
  await expect(add(new FakeApi("red", { "pods/red": { type: "good" } }, true))).rejects.toThrow("500");
  expect(told()).toEqual(["ADD good net1", "DEL good net1"]);
});

test("a DEL that fails is owed: the others are done, and the next DEL does it", async () => {
  plugin("good", resultOf("net1", "10.1.0.2/24"));
  plugin("stubborn", resultOf("net2", "10.1.0.3/24"), ["DEL"]);
  await add(new FakeApi("red,blue", { "pods/red": { type: "good" }, "pods/blue": { type: "stubborn" } }));
  await expect(deleteNetworks(sandbox, records())).rejects.toThrow("DEL of pods/blue");
  expect(told().slice(2)).toEqual(["DEL stubborn net2", "DEL good net1"]);
  plugin("stubborn", {});
  await deleteNetworks(sandbox, records());
  expect(told().slice(4)).toEqual(["DEL stubborn net2"]);
});

test.each([
  ["a definition that is not there", "gone", {}, {}, "404"],
  ["a plugin that is not there", "red", { "pods/red": { type: "absent" } }, {}, "no plugin absent"],
  ["a plugin named by a path", "red", { "pods/red": { type: "../evil" } }, {}, "not a path"],
  ["another namespace's network", "other/red", {}, { onlyOwnNamespaceAnd: ["default"] }, "may not use the network"],
  ["a definition without a type", "red", { "pods/red": {} }, {}, "without a type"],
])("refuses %s", async (_, annotation, definitions, more, reason) => {
  await expect(add(new FakeApi(annotation, definitions), more)).rejects.toThrow(reason);
});

test("refuses a pod that is another one by now", async () => {
  sandbox = { ...sandbox, args: sandbox.args.replace("uid-1", "uid-0") };
  await expect(add(new FakeApi(undefined, {}))).rejects.toThrow("is another one by now");
});
