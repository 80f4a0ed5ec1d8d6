// `npm run cluster`: a real Kubernetes for a person, on this machine, until Ctrl-C.
import { parseArgs } from "node:util";

import type { Cluster } from "../../test/lab/cluster.ts";
import { runHoldfast } from "../../test/lab/holdfast/holdfast.ts";
import { reap } from "../../test/lab/reaper.ts";
import { labDebianPackages } from "../../test/lab/requirements.ts";
import { cluster } from "../../test/lab/start.ts";
import { labRoot } from "../../test/lab/state.ts";
import { log, runCommand } from "../bootstrap/command.ts";
import { ensureDebianPackages } from "../bootstrap/debian.ts";

const usage = `npm run cluster -- [--nodes N] [--holdfast]   starts a control plane and N real nodes (0 to 5; 3 by default), until Ctrl-C;
                                 with --holdfast our daemons run on them, and networks may say "ipam": {"type": "holdfast", ...}
npm run cluster -- clean         removes what clusters of dead owners left behind

With nodes it needs root. The binaries are built once, from the Go module proxy: about 6 minutes on 2 cores.`;

await runCommand(main);

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      nodes: { type: "string", default: "3" },
      holdfast: { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
    allowPositionals: true,
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  if (positionals[0] === "clean") return clean();
  if (positionals.length > 0 || !/^[0-5]$/.test(values.nodes)) {
    console.error(usage);
    return 2;
  }
  return run(Number(values.nodes), values.holdfast ?? false);
}

async function clean(): Promise<number> {
  const names = await reap();
  console.log(names.length === 0 ? `nothing was left behind in ${labRoot()}` : `removed ${names.join(", ")}`);
  return 0;
}

async function run(nodes: number, withHoldfast: boolean): Promise<number> {
  const { reason } = ensureDebianPackages(labDebianPackages, log);
  if (reason !== undefined) throw new Error(reason);
  const leaving = new AbortController();
  const left = new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => {
        leaving.abort(new Error(`ended by ${signal}`));
        resolve();
      });
    }
  });
  const startedMs = Date.now();
  const lab = await cluster({ nodes, log, signal: leaving.signal, patient: true }).catch((error: unknown) => {
    if (!leaving.signal.aborted) throw error;
    return undefined;
  });
  if (lab === undefined) {
    log("ended before it was up; everything is removed");
    return 1;
  }
  if (withHoldfast) {
    await runHoldfast(lab).catch(async (error: unknown) => {
      await lab.stop();
      throw error;
    });
  }
  log(`up in ${((Date.now() - startedMs) / 1000).toFixed(1)} s`);
  console.log(instructions(lab));
  // A promise alone does not keep a process alive, and nothing else here does.
  const alive = setInterval(() => {}, 3_600_000);
  await left;
  clearInterval(alive);
  log("removing everything");
  await lab.stop();
  return 0;
}

function instructions(lab: Cluster): string {
  const lines = [`export KUBECONFIG=${lab.kubeconfig} PATH=${lab.binaries.folder}:$PATH`, "", "kubectl get namespaces"];
  if (lab.nodes.length > 0) {
    lines.push(
      "kubectl get nodes -o wide",
      "kubectl create deployment web --image=lab.local/busybox:1 --replicas=6 -- sleep infinity   # no registry: this image only",
      "kubectl get pods -o wide",
      "",
      "# its network, and the inside of each node:",
      `nsenter --net=/proc/${lab.networkPid}/ns/net ip addr`,
      ...lab.nodes.map(({ name, pid }) => `nsenter --target=${pid} --mount --pid --net --uts   # ${name}`),
    );
  }
  return [...lines, "", `logs: ${lab.folder}   Ctrl-C removes everything`].join("\n");
}
