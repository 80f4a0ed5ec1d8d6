// What the way there (apply.ts) and the way back (rollback.ts) of a migration have in common.
import { leaseName } from "../api/slices/slice-name.ts";
import { namespaces } from "../cluster/resources.ts";
import type { KubeClient } from "../kube/rest.ts";
import { TransferError } from "./error.ts";
import { type PerformOptions, perform } from "./perform.ts";
import { matchPools } from "./plan/match.ts";
import { networksOf } from "./plan/network.ts";
import { type Phase, describeStep } from "./plan/step.ts";
import { readSurvey } from "./plan/survey.ts";
import { type QuiesceOptions, liftLeftover, quiesce } from "./quiesce/quiesce.ts";
import type { MigrationRecord, RecordStore } from "./record/record.ts";

type Fencing = Pick<QuiesceOptions, "client" | "clock" | "systemNamespace" | "signal" | "say" | "quietMs">;

export interface MigrationOptions extends Fencing {
  readonly store: RecordStore;
  /** Of a new migration; 8 characters and more of [0-9a-z-]. */
  readonly newId: () => string;
}

/** A create costs the server 4 ms; this many at once keep two cores busy and nobody else waiting. */
const atOnce = 8;

type Performing = Omit<PerformOptions, "client">;

export async function performPhases(migration: MigrationOptions, phases: readonly Phase[], options: Performing) {
  const { client, say } = migration;
  const total = phases.reduce((sum, { steps }) => sum + steps.length, 0);
  let done = 0;
  // A step that was begun is ended (each call has its deadline): a write cut off could arrive after it was taken back.
  const begun = new AbortController().signal;
  for (const { about, steps } of phases) {
    if (steps.length > 0) say(`${about}: ${steps.length}`);
    const queue = steps.values();
    const work = async () => {
      for (const step of queue) {
        options.signal.throwIfAborted();
        const outcome = await perform({ ...options, client, signal: begun }, step);
        done += 1;
        say(`  [${done}/${total}] ${describeStep(step)}${outcome === "already" ? " (was done)" : ""}`);
      }
    };
    // All of them end before the first failure is told: no step is under way while others are taken back.
    const ended = await Promise.allSettled(Array.from({ length: Math.min(atOnce, steps.length) }, work));
    const failed = ended.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}

export async function fenceFor(options: MigrationOptions, { id }: MigrationRecord, isHalfMoved: boolean) {
  return quiesce({ ...options, id, ...(await leasesOf(options)), isHalfMoved });
}

/** A migration that ended, and was killed before it let everybody in again. */
export async function liftDead(options: MigrationOptions, { id }: MigrationRecord): Promise<void> {
  await liftLeftover({ ...options, id, ...(await leasesOf(options)) });
}

async function leasesOf({ client, systemNamespace, signal }: MigrationOptions) {
  const survey = await readSurvey(client, systemNamespace, signal);
  const matches = [...matchPools(survey, networksOf(survey.definitions)).values()].flat();
  const names = matches.flatMap(({ identity }) => (identity.node === "" ? [] : [leaseName(identity)]));
  return { sliceLeases: [...new Set(names)], poolNamespace: survey.systemNamespace };
}

export function assertCluster(record: MigrationRecord, cluster: string, store: RecordStore): void {
  if (record.cluster === cluster) return;
  const words = `${store.place} is the record of another cluster: choose the right one with --kubeconfig and --context.`;
  throw new TransferError("wrong-cluster", words);
}

export async function clusterId(client: KubeClient, signal: AbortSignal): Promise<string> {
  const { metadata } = await client.get(namespaces, { name: "kube-system" }, { signal });
  return metadata.uid ?? "";
}
