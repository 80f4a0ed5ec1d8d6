// What an administrator applies before Holdfast runs, taken from deploy/: kinds, accounts, rights, fair queuing. What
// would start pods of ours (the DaemonSet and the Deployment) is left out: the lab starts the same programs by itself.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { parseAllDocuments } from "yaml";

import type { Cluster } from "../cluster.ts";

const file = join(import.meta.dirname, "..", "..", "..", "deploy", "holdfast.yaml");
const workloads: ReadonlySet<string> = new Set(["DaemonSet", "Deployment", "Job", "PodDisruptionBudget"]);

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

export async function applyManifests(lab: Cluster): Promise<void> {
  const objects = parseAllDocuments(readFileSync(file, "utf8"))
    .map((document) => document.toJS() as Manifest | null)
    .filter((object) => object !== null && !workloads.has(object.kind));
  const list = { apiVersion: "v1", kind: "List", items: objects };
  await lab.kubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], { input: JSON.stringify(list) });
  await lab.kubectl(["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);
}
