// Memory of a DHCP agent without bindings and with 10,000, and how long nobody answers when the holder is killed
//
//   npm run bench -- dhcp-agent [--bindings 10000] [--starts 3] [--takeovers 5] [--node-options "..."]
//
// The agent is the image's program, with the environment of the agents' Deployment, on an interface of a namespace
// of its own; the embedded API is another process. Measured: VmRSS at rest (it uses less than a twentieth of a core)
// and VmHWM, of --starts starts each; then, with two agents and all bindings, from SIGKILL of the one that answers at
// the server's address until the other says that it does, --takeovers times: 3 s of the Lease, up to a second to see
// that it is over, and an ARP probe of half a second. No peer: the seed's figure for an agent is 10 to 15 MiB.
// --node-options replaces the Deployment's NODE_OPTIONS ("" for none). Root.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { managedPools } from "../src/cluster/resources.ts";
import { connect } from "../src/kube/config/connect.ts";
import { loadKubeconfig } from "../src/kube/config/kubeconfig.ts";
import { Wire } from "../test/kernel/wire.ts";
import { progress } from "./cni/table.ts";
import { ApiProcess } from "./dhcp-pool/api.ts";
import { poolKey, poolSpec } from "./dhcp-pool/plan.ts";
import { AgentProcess } from "./dhcp/agent.ts";
import { close } from "./measure.ts";
import { shippedProgram } from "./shipped-program.ts";

const { values } = parseArgs({
  options: {
    bindings: { type: "string", default: "10000" },
    starts: { type: "string", default: "3" },
    takeovers: { type: "string", default: "5" },
    "node-options": { type: "string" },
  },
});
const bindings = Number(values.bindings);
const starts = Number(values.starts);
const takeovers = Number(values.takeovers);
const nodeOptions = values["node-options"];

const log = progress("dhcp-agent");
const folder = mkdtempSync(join(tmpdir(), "holdfast-dhcp-agent-"));

async function run(wire: Wire, api: ApiProcess) {
  const program = await shippedProgram(folder);
  const { kubeconfig } = api;
  const place = (name: string) => ({ name, netns: wire.netns(name), folder, program, kubeconfig, nodeOptions });
  const memory = async () => {
    const all: { rssMiB: number; peakMiB: number }[] = [];
    for (let round = 0; round < starts; round++) {
      await using agent = await AgentProcess.start(place("a"));
      await agent.holds();
      const { rssBytes, peakRssBytes } = await agent.rest();
      all.push({ rssMiB: mebibytes(rssBytes), peakMiB: mebibytes(peakRssBytes) });
    }
    return all.toSorted((one, other) => one.rssMiB - other.rssMiB);
  };
  await makePool(api);
  const empty = await memory();
  log(`no bindings: ${JSON.stringify(empty)}`);
  await api.seed({ bindings, nics: 10 });
  const full = await memory();
  log(`${bindings} bindings: ${JSON.stringify(full)}`);
  const takenOverMs: number[] = [];
  let holder = await AgentProcess.start(place("a"));
  await holder.holds();
  for (let round = 0; round < takeovers; round++) {
    const other = await AgentProcess.start(place(holder.name === "a" ? "b" : "a"));
    await other.rest();
    const killedMs = performance.now();
    await holder.kill();
    await other.holds();
    takenOverMs.push(Math.round(other.heldAtMs! - killedMs));
    holder = other;
  }
  await holder[Symbol.asyncDispose]();
  log(`takeovers: ${takenOverMs.join(", ")} ms`);
  close({
    bench: "dhcp-agent",
    ours: middle(full).rssMiB,
    peer: null,
    ratio: null,
    reason: "no agent of Harvester's is at hand; the seed says 10 to 15 MiB",
    unit: `MiB of RSS at rest with ${bindings} bindings`,
    empty,
    full,
    takenOverMs: takenOverMs.toSorted((one, other) => one - other),
  });
}

async function makePool(api: ApiProcess): Promise<void> {
  const [namespace = "", name = ""] = poolKey.split("/");
  await using connection = connect(await loadKubeconfig({ path: api.kubeconfig }), { userAgent: "bench" });
  await connection.client.create(managedPools, { metadata: { namespace, name }, spec: poolSpec });
}

const mebibytes = (bytes: number) => Math.round(bytes / 2 ** 20);
const middle = <Item>(sorted: readonly Item[]) => sorted[sorted.length >> 1]!;

const wire = await Wire.of([{ name: "a" }, { name: "b" }]);
try {
  await using api = await ApiProcess.start(folder);
  await run(wire, api);
} finally {
  await wire.remove();
  rmSync(folder, { recursive: true, force: true });
}
