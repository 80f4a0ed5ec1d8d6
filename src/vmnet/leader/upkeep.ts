// What nobody asks for: objects of addresses that have cooled are deleted, and holds whose network config is gone are
// released, after a second look and a read of the server. Promised: nothing is freed where network configs cannot be
// read (the kind is gone, or was never listed), nor where very many would be at once.
import { holdName } from "../../api/holds/hold-object.ts";
import { preconditionsOf } from "../../api/holds/version.ts";
import { heldBack } from "../../cluster/mass-release-breaker.ts";
import * as kinds from "../../cluster/resources.ts";
import { stateReference } from "../../cluster/state.ts";
import { sleep } from "../../kube/clock.ts";
import { inParallel } from "../../kube/in-parallel.ts";
import { removeObject } from "../../ledger/reservation/guarded-delete.ts";
import { describeNicOwner, type NicHold } from "../plan/nic-hold.ts";
import { Strays } from "../plan/strays.ts";
import type { Allocator } from "./allocation.ts";
import type { VmnetCaches } from "./caches.ts";
import type { NicHolds } from "./holds/nic-holds.ts";
import type { VmnetOptions, VmnetPace } from "./options.ts";

export interface UpkeepOptions extends Pick<
  VmnetOptions,
  "client" | "clock" | "log" | "events" | "metrics" | "systemNamespace" | "allowMassRelease"
> {
  readonly caches: VmnetCaches;
  readonly holds: NicHolds;
  readonly allocator: Allocator;
  readonly pace: VmnetPace;
  readonly isPaused: (signal: AbortSignal) => Promise<boolean>;
}

/** At once; with 4 ms a delete, about 2,000 a second at most. */
const parallel = 8;
/** In one round: more wait for the next. */
const roundMax = 1000;

export class Upkeep {
  readonly #options: UpkeepOptions;
  readonly #strays: Strays;
  #heldBack: string | undefined;

  constructor(options: UpkeepOptions) {
    this.#options = options;
    this.#strays = new Strays(options.pace.strayAfterMs);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { pace } = this.#options;
    await Promise.all([
      this.#every(pace.sweepMs, "deleting what has cooled", signal, () => this.#sweep(signal)),
      this.#every(pace.straysMs, "looking for holds without a network config", signal, () => this.#look(signal)),
    ]);
  }

  async #every(ms: number, what: string, signal: AbortSignal, round: () => Promise<void>): Promise<void> {
    const { clock, log, isPaused } = this.#options;
    while (await sleep(clock, ms, signal)) {
      try {
        if (!(await isPaused(signal))) await round();
      } catch (error) {
        if (!signal.aborted) log.warn(`${what} failed; it is tried again`, { error });
      }
    }
  }

  /** Each delete is guarded: an object that an owner has taken back meanwhile stays. */
  async #sweep(signal: AbortSignal): Promise<void> {
    const { holds, clock, client, systemNamespace: namespace } = this.#options;
    const nowMs = clock.wallMs();
    const due = holds.cooling().filter(({ cooling }) => cooling !== undefined && cooling.untilMs <= nowMs);
    await inParallel(parallel, due.take(roundMax).toArray(), async ({ domain, address }) => {
      const name = holdName(domain, address);
      // As the watch showed it: what this process wrote itself has another version.
      const held = this.#options.caches.holds.at(domain, address);
      if (signal.aborted || held?.cooling === undefined || held.cooling.untilMs > nowMs) return;
      const metadata = { namespace, name, ...preconditionsOf(held.version) };
      await removeObject(client, kinds.holds, { metadata }, signal);
    });
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { caches, clock, log, allocator, metrics } = this.#options;
    if (!caches.configs.isListed) return;
    const due = this.#strays.look(this.#orphans(), clock.monotonicMs(), clock.wallMs());
    if (!this.#mayFree()) return;
    for (const hold of due) {
      if (signal.aborted) return;
      if (!(await this.#isSurelyGone(hold, signal))) continue;
      if (!(await allocator.release(hold, signal))) continue;
      metrics?.did("release-stray");
      const about = { address: `${hold.address}`, domain: hold.domain, owner: describeNicOwner(hold.owner) };
      log.info("released an address whose network config is gone", about);
    }
  }

  /** Holds of which no network config has the UID. Config by config: of those that are there no hold is looked at. */
  *#orphans(): IterableIterator<NicHold> {
    const { caches, holds } = this.#options;
    for (const { uid, namespace, name } of holds.configs()) {
      if (uid !== "" && caches.configs.cache.keysBy("uid", uid).length > 0) continue;
      for (const hold of holds.ofName(`${namespace}/${name}`)) if (hold.owner.uid === uid) yield hold;
    }
  }

  /** A list, not a get: of a kind that is gone, a get says the same as of an object that is. */
  async #isSurelyGone({ owner: { namespace, name, uid } }: NicHold, signal: AbortSignal): Promise<boolean> {
    const scope = { namespace, fieldSelector: `metadata.name=${name}`, signal };
    const found = await this.#options.client.listServed(kinds.networkConfigs, scope);
    return found !== undefined && found.every(({ metadata }) => metadata.uid !== uid || uid === "");
  }

  #mayFree(): boolean {
    const { holds, log, events, metrics, systemNamespace, allowMassRelease = false } = this.#options;
    const why = allowMassRelease ? undefined : heldBack(this.#strays.suspected, holds.count);
    if (why !== this.#heldBack) {
      metrics?.heldBack(why !== undefined);
      if (why === undefined) log.info("addresses of VMs whose network config is gone are released again");
      else {
        log.error("no address of a VM is released", { why });
        events?.record(stateReference(systemNamespace), "Warning", "VmAddressesHeldBack", why);
      }
    }
    this.#heldBack = why;
    return why === undefined;
  }
}
