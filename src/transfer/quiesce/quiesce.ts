// Makes every writer rest: our daemons by the pause, whereabouts by its leases, its lease-free fork and everybody else
// by a policy of the API server; then watches that nothing changes any more.
// Promised where the server has policies: until `lift`, nobody but this migration writes, also after a crash of it.
// Elsewhere: everybody who heeds pause or lease rests, and a writer that heeds neither is noticed if it writes before
// the migration begins.
import { fetchState, readState } from "../../cluster/state.ts";
import { dropLeases, type HeldLeases, holdLeases, type LeasesOptions } from "./fence-leases.ts";
import { pause, pauseOwner, unpause } from "./fence-pause.ts";
import { lowerPolicy, raisePolicy } from "./fence-policy.ts";
import { settle } from "./settle.ts";

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
    const ending = { ...options, signal: AbortSignal.timeout(liftTimeoutMs) };
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
