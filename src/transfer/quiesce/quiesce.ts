// Makes every writer rest: our daemons by the pause, whereabouts by its leases, its lease-free fork and everybody else
// by a policy of the API server; then watches that nothing changes any more. Promised where the server has policies:
// until `lift`, nobody but this migration writes, also after a crash of it. Elsewhere: everybody who heeds pause or
// lease rests, and a writer that heeds neither is noticed if it writes before the migration begins.
import { holds, ipPools, reservations } from "../../cluster/resources.ts";
import { fetchState, readState } from "../../cluster/state.ts";
import { deadline, sleep } from "../../kube/clock.ts";
import { keyOf, type KubeObject } from "../../kube/meta.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { TransferError } from "../error.ts";
import { dropLeases, type HeldLeases, holdLeases, type LeasesOptions } from "./fence-leases.ts";
import { type FenceOptions, pause, pauseOwner, unpause } from "./fence-pause.ts";
import { lowerPolicy, raisePolicy } from "./fence-policy.ts";

export interface QuiesceOptions extends Omit<LeasesOptions, "names"> {
  /** Leases of node slices, beside whereabouts' own. */
  readonly sliceLeases: readonly string[];
  readonly say: (line: string) => void;
  /** How long nothing may change, where the server itself keeps writers out, and where it does not. */
  readonly quietMs?: { readonly fenced: number; readonly unfenced: number } | undefined;
  /** Something is half moved already: a fence that cannot be completed stays as far as it is up. */
  readonly isHalfMoved: boolean;
}

export interface Fence {
  /** Aborts when the caller's does, or when the fence broke. */
  readonly signal: AbortSignal;
  /** Lets everybody write again. */
  lift(): Promise<void>;
  /** Ends what this process renews, and leaves pause, leases and policy in force; the leases bind for an hour. */
  leave(): Promise<void>;
}

/** whereabouts gives its requests ten seconds: whoever began one before the fence has ended it after eleven. */
const defaultQuietMs = { fenced: 1000, unfenced: 11_000 };
/** Long enough for four thousand slices' leases at 4 ms each, twice. */
const liftTimeoutMs = 60_000;

export async function quiesce(options: QuiesceOptions): Promise<Fence> {
  const { signal, say } = options;
  const quietMs = options.quietMs ?? defaultQuietMs;
  let leases: HeldLeases | undefined;
  const lift = async () => {
    using limit = deadline(options.clock, liftTimeoutMs);
    const ending = { ...options, signal: limit.signal };
    await lowerPolicy(ending);
    await leases?.release(ending.signal);
    await unpause(ending);
    say("lifted: everybody may write again");
  };
  try {
    await pause(options);
    say("paused: Holdfast's daemons hand nothing out (ConfigMap holdfast-state)");
    const names = ["whereabouts", ...options.sliceLeases];
    leases = await holdLeases({ ...options, names });
    say(`held: ${names.length === 1 ? "the Lease whereabouts" : `${names.length} Leases of whereabouts`}`);
    const fenced = AbortSignal.any([signal, leases.lost]);
    const isFenced = await raisePolicy({ ...options, signal: fenced });
    say(
      isFenced
        ? "fenced: the API server denies writes to pools and records by anybody else (ValidatingAdmissionPolicy holdfast-migrate)"
        : `this API server has no ValidatingAdmissionPolicy: watching for ${quietMs.unfenced / 1000} s that nothing changes instead`,
    );
    await settle({ ...options, signal: fenced }, isFenced ? quietMs.fenced : quietMs.unfenced);
    say("quiet: nothing changes any more");
    return { signal: fenced, lift, leave: async () => leases?.leave() };
  } catch (error) {
    if (!options.isHalfMoved) await lift();
    else await leases?.leave();
    throw error;
  }
}

/** Lifts what a migration left up that was killed when all was done but this. Nothing happens where it is not up. */
export async function liftLeftover(options: Omit<QuiesceOptions, "quietMs" | "isHalfMoved">): Promise<void> {
  const { client, systemNamespace: namespace, id, signal, say } = options;
  const paused = readState(await fetchState(client, { namespace, signal })).paused;
  if (pauseOwner(paused) !== id) return;
  await lowerPolicy(options);
  await dropLeases({ ...options, names: ["whereabouts", ...options.sliceLeases] });
  await unpause(options);
  say(`lifted: what migration ${id} had left up`);
}

/** Writers that were asked to rest end what they began; whoever goes on for this many rounds was not reached. */
const roundsMax = 6;
const listedMax = 5;

/** Waits until nothing that is to be moved changes any more, by reading all of it twice. */
async function settle({ client, clock, signal }: FenceOptions, quietMs: number): Promise<void> {
  let before = await versions(client, signal);
  let last: string[] = [];
  for (let round = 0; round < roundsMax; round++) {
    if (!(await sleep(clock, quietMs, signal))) signal.throwIfAborted();
    const now = await versions(client, signal);
    last = [...new Set([...before.keys(), ...now.keys()])].filter((key) => before.get(key) !== now.get(key));
    if (last.length === 0) return;
    before = now;
  }
  const more = last.length > listedMax ? ` and ${last.length - listedMax} more` : "";
  const words = `${last.slice(0, listedMax).join(", ")}${more} still change: something writes them that heeds neither pause nor lease. Stop it (its DaemonSet and its reconciler), and try again.`;
  throw new TransferError("not-quiet", words);
}

/** Key: kind and namespace/name. Value: its version. */
async function versions(client: KubeClient, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const all = [
    ...(await client.listAll(ipPools, { signal })),
    ...(await client.listAll(reservations, { signal })),
    ...(await client.listAll(holds, { signal })),
  ];
  const versionOf = ({ metadata }: KubeObject) => `${metadata.uid}@${metadata.resourceVersion}`;
  return new Map(all.map((object) => [`${object.kind} ${keyOf(object)}`, versionOf(object)]));
}
