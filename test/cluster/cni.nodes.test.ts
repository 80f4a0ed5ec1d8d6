// A cluster with the network that a test brings along: its own conflist per node, and its own plugins.
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import type { Cluster } from "../lab/cluster.ts";
import { defaultConflist, type NodeFacts } from "../lab/node-files.ts";
import { type ObservedPod, podSpec } from "../lab/pods.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";

const notes = "/var/lib/cni/notes";
/** Chained behind the default network: notes what it is called for, and passes the result on. */
const noting = `#!/bin/sh
input=$(cat)
echo "$CNI_COMMAND $CNI_IFNAME" >> ${notes}
[ "$CNI_COMMAND" = ADD ] && echo "$input" | ${process.execPath} -e 'process.stdin.on("data",(d)=>console.log(JSON.stringify(JSON.parse(d).prevResult)))'
exit 0
`;

function conflist(node: NodeFacts) {
  const list = defaultConflist(node) as { plugins: object[] };
  return { ...list, name: `of-${node.name}`, plugins: [...list.plugins, { type: "noting" }] };
}

let folder: string;
let lab: Cluster;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-cni-"));
  writeFileSync(join(folder, "noting"), noting);
  chmodSync(join(folder, "noting"), 0o755);
  lab = await cluster({ nodes: 2, networks: false, cni: { conflist, pluginFolder: folder }, log: console.error });
}, coldStartTimeoutMs);
afterAll(async () => {
  await lab?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("the given plugins are called, and each node has its own list", async () => {
  const pods = "/api/v1/namespaces/default/pods";
  const spec = { ...podSpec(["sleep", "infinity"]), nodeName: "node2" };
  await lab.rest.create(pods, { metadata: { name: "noted" }, spec });
  await until(async () => (await lab.rest.get<ObservedPod>(`${pods}/noted`)).status.phase === "Running", {
    what: "the pod",
  });
  expect(await lab.nodes[1]!.exec(["cat", notes])).toBe("ADD eth0\n");
  expect(await lab.nodes[1]!.exec(["ls", "/var/lib/cni/networks"])).toBe("of-node2\n");
  await lab.rest.delete(`${pods}/noted`);
  await until(async () => (await lab.nodes[1]!.exec(["cat", notes])).includes("DEL eth0"), { what: "the DEL" });
  await expect(lab.nodes[0]!.exec(["cat", notes])).rejects.toThrow("No such file");
});

test("nothing of it is on the machine itself", () => {
  expect(existsSync(notes)).toBe(false);
});
