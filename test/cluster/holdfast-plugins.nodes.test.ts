// Debian's bridge and macvlan with our addresses, called as a runtime calls them: by hand, and by the real cnitool. On
// the real API server and on the embedded one.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { ensureKubeBinaries } from "../../tools/kube/build.ts";
import { apis, type LabApi } from "../lab/holdfast/api.ts";
import { type LabHost, startHost, wire } from "../lab/holdfast/host.ts";
import type { CniResult } from "../lab/networks/status.ts";
import { coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";
import { toldState } from "../ledger/told-state.ts";

const reservations = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/overlappingrangeipreservations";
const links = {
  bridge: { type: "bridge", bridge: "br0" },
  macvlan: { type: "macvlan", master: wire, mode: "bridge" },
} as const;

describe.each(["real", "embedded"] as const)("on the %s API", (kind) => {
  let api: LabApi;
  let host: LabHost;
  let cnitool: string;
  beforeAll(async () => {
    api = await apis[kind]();
    // `holdfast up` leads; beside the real server nobody does.
    if (kind === "real") await api.rest.create("/api/v1/namespaces/kube-system/configmaps", toldState());
    host = await startHost({ kubeconfig: api.nodeKubeconfig, nodeName: "host" });
    cnitool = (await ensureKubeBinaries({ only: ["cnitool"] })).path("cnitool");
  }, coldStartTimeoutMs);
  afterAll(async () => {
    await host?.stop();
    await api?.stop();
  });

  /** What is held, by address; what rests is not. */
  async function held(): Promise<string[]> {
    const query = `labelSelector=${encodeURIComponent("!holdfast.io/cooling")}`;
    const { items } = await api.rest.get<{ items: { metadata: { name: string } }[] }>(`${reservations}?${query}`);
    return items.map(({ metadata }) => metadata.name).sort();
  }

  const argumentsOf = (pod: string) => `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=${pod}`;

  /** One call of one plugin, as the specification has it. */
  function call(command: string, config: object, pod: string, path: string) {
    const environment = {
      PATH: process.env["PATH"],
      CNI_COMMAND: command,
      CNI_CONTAINERID: `sandbox-${pod}`,
      CNI_NETNS: path,
      CNI_IFNAME: "net1",
      CNI_ARGS: argumentsOf(pod),
      CNI_PATH: host.bin,
    };
    const { type } = config as { type: string };
    return host.attempt([join(host.bin, type)], { input: JSON.stringify(config), env: environment });
  }

  const ping = (from: string, address: string) =>
    host.exec(["ip", "netns", "exec", from, "busybox", "ping", "-c", "1", "-W", "5", address]);

  test.each(["bridge", "macvlan"] as const)("%s by hand: ADD, CHECK, ping, DEL, DEL again", async (link) => {
    const third = link === "bridge" ? 40 : 41;
    const config = {
      cniVersion: "1.0.0",
      name: `by-hand-${link}`,
      ...links[link],
      ipam: { type: "holdfast", range: `10.${third}.0.0/24`, ipRanges: [{ range: `fd${third}::/64` }] },
    };
    const before = await held();
    const results = new Map<string, CniResult>();
    for (const pod of [`${link}-a`, `${link}-b`]) {
      const path = await host.makeSandbox(pod);
      const { status, stdout } = await call("ADD", config, pod, path);
      expect({ status, stdout }).toMatchObject({ status: 0 });
      const result = JSON.parse(stdout) as CniResult;
      results.set(pod, result);
      expect(result.ips?.map(({ address }) => address)).toEqual([
        expect.stringMatching(new RegExp(`^10\\.${third}\\.0\\.\\d+/24$`)),
        expect.stringMatching(new RegExp(`^fd${third}::[0-9a-f]+/64$`)),
      ]);
      expect(await call("CHECK", { ...config, prevResult: result }, pod, path)).toMatchObject({ status: 0 });
    }
    const target = results.get(`${link}-b`)!.ips!.map(({ address }) => address.split("/")[0]!);
    // An IPv6 address may still be looking for its double; the kernel sends nothing from it before.
    for (const address of target) await until(() => ping(`${link}-a`, address), { what: `${address} to answer` });
    expect((await held()).length).toBe(before.length + 4);
    for (const [pod, prevResult] of results) {
      for (const _ of ["first", "again"]) {
        expect(await call("DEL", { ...config, prevResult }, pod, `/run/netns/${pod}`)).toMatchObject({ status: 0 });
      }
    }
    expect(await held()).toEqual(before);
  });

  test("CHECK finds that the address in the sandbox is not the one on record", async () => {
    const config = {
      cniVersion: "1.0.0",
      name: "checked",
      ...links.bridge,
      ipam: { type: "holdfast", range: "10.42.0.0/24" },
    };
    const path = await host.makeSandbox("checked");
    const result = JSON.parse((await call("ADD", config, "checked", path)).stdout) as CniResult;
    const wrong = { ...result, ips: result.ips!.map((ip) => ({ ...ip, address: "10.42.0.200/24" })) };
    const { status, stdout } = await call("CHECK", { ...config, prevResult: wrong }, "checked", path);
    expect(status).toBe(1);
    expect(stdout).toContain("10.42.0.200");
    expect(await call("DEL", { ...config, prevResult: result }, "checked", path)).toMatchObject({ status: 0 });
  });

  test("a failed link gives its address back", async () => {
    const broken = { type: "macvlan", master: "no-such-link", mode: "bridge" };
    const config = {
      cniVersion: "1.0.0",
      name: "broken",
      ...broken,
      ipam: { type: "holdfast", range: "10.43.0.0/24" },
    };
    const before = await held();
    const path = await host.makeSandbox("broken");
    expect((await call("ADD", config, "broken", path)).status).not.toBe(0);
    await call("DEL", config, "broken", path); // a runtime does so after every failed ADD
    expect(await held()).toEqual(before);
  });

  test.each(["0.3.1", "0.4.0", "1.0.0"])(
    "cnitool, a list of version %s: add, check, del, an address by number",
    async (cniVersion) => {
      const name = `tool-${cniVersion.replaceAll(".", "")}`;
      const plugin = {
        ...links.bridge,
        capabilities: { ips: true },
        ipam: { type: "holdfast", range: "10.44.0.0/24" },
      };
      const list = { cniVersion, name, plugins: [plugin, { type: "tuning" }] };
      writeFileSync(join(host.configurations, `${name}.conflist`), JSON.stringify(list));
      const path = await host.makeSandbox(name);
      const tool = (command: string, ips?: readonly string[]) =>
        host.exec([cnitool, command, name, path], {
          env: {
            PATH: process.env["PATH"],
            CNI_PATH: host.bin,
            NETCONFPATH: host.configurations,
            CNI_IFNAME: "net1",
            CNI_ARGS: argumentsOf(name),
            ...(ips && { CAP_ARGS: JSON.stringify({ ips }) }),
          },
        });
      const before = await held();
      const first = JSON.parse(await tool("add")) as CniResult;
      const [address = ""] = first.ips!.map((ip) => ip.address);
      expect(address).toMatch(/^10\.44\.0\.\d+\/24$/);
      expect(await host.exec(["ip", "netns", "exec", name, "ip", "-4", "-o", "addr", "show", "net1"])).toContain(
        address,
      );
      if (cniVersion !== "0.3.1") await tool("check");
      await tool("del");
      expect(await held()).toEqual(before);
      const second = JSON.parse(await tool("add", ["10.44.0.99"])) as CniResult;
      expect(second.ips!.map((ip) => ip.address)).toEqual(["10.44.0.99/24"]);
      expect(await held()).toContain("10.44.0.99");
      await tool("del", ["10.44.0.99"]);
      expect(await held()).toEqual(before);
    },
  );

  test("cnitool's own status and gc: ready, and nothing is left of what it has attached", async () => {
    const name = "tool-gc";
    const plugin = { type: "holdfast", ipam: { type: "holdfast", range: "10.46.0.0/24" } };
    const list = { cniVersion: "1.1.0", name, plugins: [plugin] };
    writeFileSync(join(host.configurations, `${name}.conflist`), JSON.stringify(list));
    const tool = (command: string, pod: string, path: string) =>
      host.attempt([cnitool, command, name, path], {
        env: {
          PATH: process.env["PATH"],
          CNI_PATH: host.bin,
          NETCONFPATH: host.configurations,
          CNI_IFNAME: "net1",
          CNI_ARGS: argumentsOf(pod),
        },
      });
    const before = await held();
    const paths = [await host.makeSandbox("gc1"), await host.makeSandbox("gc2")];
    for (const [index, path] of paths.entries()) {
      expect(await tool("add", `gc${index + 1}`, path)).toMatchObject({ status: 0 });
    }
    expect(await held()).toHaveLength(before.length + 2);
    expect(await tool("status", "gc1", paths[0]!)).toMatchObject({ status: 0, stdout: "" });
    // It deletes what it has on record, and asks the plugin to collect without a list, which may free nothing else.
    expect(await tool("gc", "gc1", paths[0]!)).toMatchObject({ status: 0 });
    expect(await held()).toEqual(before);
    await host.daemon.kill();
    const { status, stdout, stderr } = await tool("status", "gc1", paths[0]!);
    await host.daemon.start();
    expect(status).not.toBe(0);
    expect(`${stdout}${stderr}`).toContain("holdfast node");
  });

  test("without a daemon a runtime is told to try again, and with it again it works", async () => {
    const config = {
      cniVersion: "1.0.0",
      name: "alone",
      ...links.bridge,
      ipam: { type: "holdfast", range: "10.45.0.0/24" },
    };
    const path = await host.makeSandbox("alone");
    await host.daemon.kill();
    const { status, stdout } = await call("ADD", config, "alone", path);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ code: 11, msg: expect.stringContaining("holdfast node") });
    await host.daemon.start();
    // The bridge plugin leaves its half-made link to the DEL that every runtime sends after a failed ADD.
    expect(await call("DEL", config, "alone", path)).toMatchObject({ status: 0 });
    const added = await call("ADD", config, "alone", path);
    expect(added).toMatchObject({ status: 0 });
    const prevResult = JSON.parse(added.stdout) as CniResult;
    expect(await call("DEL", { ...config, prevResult }, "alone", path)).toMatchObject({ status: 0 });
  });
});
