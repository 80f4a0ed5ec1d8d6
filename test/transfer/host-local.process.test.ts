// Moving in from host-local, with the binary that Debian ships (containernetworking-plugins): it gives the addresses
// and writes the files, and `holdfast import host-local` takes them over.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, it } from "vitest";

import { takeOver } from "../../bin/transfer.ts";
import { type Api, openApi } from "../../src/apiserver/api.ts";
import { serve, type Served } from "../../src/apiserver/serve/server.ts";
import { pods, reservations } from "../../src/cluster/resources.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { definition, installDefinitions, settleIn, system } from "./fixtures.ts";

const hostLocal = "/usr/lib/cni/host-local";
const folder = mkdtempSync(join(tmpdir(), "holdfast-host-local-"));
const kubeconfig = join(folder, "kubeconfig");
let api: Api;
let served: Served;
let client: KubeClient;

beforeAll(async () => {
  api = openApi({ path: ":memory:" });
  served = await serve(api, { host: "127.0.0.1", port: 0, kubeconfigPath: kubeconfig });
  client = new KubeClient({ transport: api.transport });
  await installDefinitions(client);
});
afterAll(async () => {
  await served?.close();
  api?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** As a plugin calls it: the addresses that it gave. */
function call(command: "ADD" | "DEL", containerId: string, ifname: string): string[] {
  const ranges = [[{ subnet: "10.1.0.0/24" }], [{ subnet: "fd00:1::/64" }]];
  const ipam = { type: "host-local", dataDir: folder, ranges };
  const env = {
    CNI_COMMAND: command,
    CNI_CONTAINERID: containerId,
    CNI_NETNS: "/proc/self/ns/net",
    CNI_IFNAME: ifname,
    CNI_PATH: "/usr/lib/cni",
    CNI_ARGS: "IgnoreUnknown=1",
  };
  const input = JSON.stringify({ cniVersion: "1.0.0", name: "lan", ipam });
  const { status, stdout } = spawnSync(hostLocal, [], { env, input, encoding: "utf8" });
  expect(status, stdout).toBe(0);
  if (command === "DEL") return [];
  return (JSON.parse(stdout) as { ips: { address: string }[] }).ips.map(({ address }) => address.split("/")[0]!);
}

async function running(name: string, ips: readonly string[]): Promise<void> {
  const status = JSON.stringify([{ name: "blue/lan", interface: "net1", ips }]);
  const metadata = { namespace: "blue", name, annotations: { "k8s.v1.cni.cncf.io/network-status": status } };
  await client.create(pods, { metadata, spec: { containers: [{ name: "c", image: "i" }] } } as never);
}

const records = async () =>
  (await client.list(reservations)).items.map(({ metadata, spec }) => `${metadata.name} ${spec.podref}`).sort();

it("every address that it has given is taken over, once, and none that it took back", async () => {
  await settleIn(client, [
    definition("blue", "lan", { ipRanges: [{ range: "10.1.0.0/24" }, { range: "fd00:1::/64" }] }),
  ]);
  const [web, gone, stray] = ["web", "gone", "stray"].map((name) => call("ADD", `sandbox-of-${name}`, "net1"));
  expect([web, gone, stray].map((ips) => ips!.length)).toEqual([2, 2, 2]);
  call("DEL", "sandbox-of-gone", "net1");
  await running("web", web!);

  const lan = join(folder, "lan");
  // What it keeps beside the addresses is no address.
  expect(readdirSync(lan)).toEqual(expect.arrayContaining(["lock", "last_reserved_ip.0", "last_reserved_ip.1"]));
  const said: string[] = [];
  const take = (more: object = {}) =>
    takeOver(
      {
        kubeconfig,
        source: "host-local",
        systemNamespace: system,
        compare: false,
        dryRun: false,
        definition: "blue/lan",
        folder: lan,
        nodeName: "otter",
        ...more,
      },
      { line: (text: string) => void said.push(text), error: (text: string) => void said.push(text) } as never,
    );
  await take({ compare: true });
  expect(said.splice(0).at(-1)).toBe("Recorded for the pods that use them: 2 of 2 addresses.");
  await take();
  expect(said.splice(0).at(-1)).toBe("4 addresses taken over, 0 were recorded already, 0 refused.");
  expect(await records()).toEqual([
    "10.1.0.2 blue/web",
    "10.1.0.4 /sandbox-of-stray",
    "fd00-0001-0000-0000-0000-0000-0000-0002 blue/web",
    "fd00-0001-0000-0000-0000-0000-0000-0004 /sandbox-of-stray",
  ]);
  expect([...web!, ...stray!]).toEqual(["10.1.0.2", "fd00:1::2", "10.1.0.4", "fd00:1::4"]);
  await take();
  expect(said.at(-1)).toBe("0 addresses taken over, 4 were recorded already, 0 refused.");
});
