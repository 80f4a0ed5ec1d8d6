// One network of the agent: what it serves, given to the wire; who answers at the server addresses of its pools; what
// the wire reports of it.
//
// Promised: a change is on the wire in the same turn of the event loop; many that come together are one batch. Nothing
// is, before all is known that was there at the start: a reservation may be of an address that a Hold gives to another.
import { partsOfServerIdentity, serverIdentity, serverLeaseName } from "../api/vmnet/marks.ts";
import type { Effect } from "../dhcp/server/outcome.ts";
import type { ReceivedFrame } from "../dhcp/socket/interface.ts";
import type { Wire } from "../dhcp/socket/wire.ts";
import type { EffectV6 } from "../dhcp/v6/server/outcome.ts";
import type { DhcpV6Server } from "../dhcp/v6/server/server.ts";
import { asError } from "../kube/abort.ts";
import type { Clock } from "../kube/clock.ts";
import type { EventRecorder } from "../kube/events/events.ts";
import { LeaseLock } from "../kube/lease.ts";
import { type ObjectKey, parseKey } from "../kube/meta.ts";
import type { KubeClient } from "../kube/rest.ts";
import type { Log } from "../log/log.ts";
import type { V4Address } from "../net/address.ts";
import type { Mac } from "../net/mac.ts";
import { BindingChecks } from "./address/binding-checks.ts";
import { ServerAddress } from "./address/server-address.ts";
import type { BindingRecord } from "./binding-records.ts";
import type { Findings } from "./compile/finding.ts";
import { Effects } from "./effects/effects.ts";
import { LeaseTable } from "./effects/lease-table.ts";
import type { QuarantineWriter } from "./effects/quarantine-writer.ts";
import { type ServedDifference, ServedNetwork } from "./served-network.ts";
import { ServiceV6 } from "./v6/service.ts";

interface LeaseTimes {
  readonly renewMs: number;
  readonly leaseDurationMs: number;
  /** On shutdown, how long it answers on for another to take over. */
  readonly handOverMs: number;
}

export interface NetworkAgentOptions {
  /** namespace/name of the NetworkAttachmentDefinition. */
  readonly name: string;
  readonly interface: string;
  readonly onlyPools: ReadonlySet<ObjectKey> | undefined;
  readonly trusted: ReadonlySet<string>;
  readonly acceptRelays: boolean;
  /** Of all networks of the agent. */
  readonly serverV6: DhcpV6Server;
  /** By way of a relay an effect may be of another network. */
  readonly takeV6: (effect: EffectV6) => void;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly systemNamespace: string;
  /** The agent's own name: its pod's. */
  readonly agent: string;
  readonly leaseTimes: LeaseTimes;
  readonly findings: Findings;
  readonly events: Pick<EventRecorder, "record">;
  readonly quarantines: Pick<QuarantineWriter, "write">;
  readonly count: (what: "conflict" | "foreign-server", network: string) => void;
  /** Something of it is to be saved. */
  readonly onChange: () => void;
}

interface Held {
  readonly address: V4Address;
  readonly mac: Mac;
  readonly holder: ServerAddress;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

export class NetworkAgent {
  readonly served: ServedNetwork;
  readonly leases = new LeaseTable();
  readonly v6: ServiceV6;
  readonly #options: NetworkAgentOptions;
  readonly #effects: Effects;
  readonly #checks: BindingChecks;
  /** Key: the pool, namespace/name. */
  readonly #held = new Map<ObjectKey, Held>();
  /** Those that were told to stop and have not yet. */
  readonly #ending = new Set<Promise<void>>();
  #wire: Wire | undefined;
  /** Of the interface, while it is up. */
  #mac: Mac | undefined;
  #isFlushing = false;
  /** All that was there is known, from the API server or from the file. */
  #hasBegun = false;
  /** What is listed first is not new: it was asked about when it was made. */
  #isListed = false;
  #isStopping = false;

  constructor(options: NetworkAgentOptions) {
    this.#options = options;
    const { clock, random, name, findings, onlyPools, trusted, events, quarantines } = options;
    this.served = new ServedNetwork({ name, onlyPools, trusted, findings });
    const count = (what: "conflict" | "foreign-server") => options.count(what, name);
    this.#effects = new Effects({ network: this.served, leases: this.leases, events, quarantines, clock, count });
    this.v6 = new ServiceV6({
      name,
      clock,
      random,
      send: (frame) => this.#wire?.send(name, frame),
      isHolder: (pool) => this.isHolder(pool),
      server: options.serverV6,
      acceptRelays: options.acceptRelays,
      take: options.takeV6,
    });
    this.#checks = new BindingChecks({
      clock,
      isHolder: (pool) => this.isHolder(pool),
      binding: (address) => this.served.v4.get(address),
      probe: ({ definition }, signal) => this.#probe(definition.address, signal),
      found: (record, verdict) => {
        const until = verdict.kind === "in-use" ? verdict.quarantine.untilMs : undefined;
        this.#wire?.setQuarantine(name, record.definition.address, until);
        this.#effects.takeVerdict(record, verdict);
      },
      onError: (error) => this.#failed("asking who has an address", error),
    });
  }

  get name(): string {
    return this.#options.name;
  }

  /** Its interface is up. */
  get isLinked(): boolean {
    return this.#mac !== undefined;
  }

  get checksPending(): number {
    return this.#checks.pending;
  }

  isHolder(pool: ObjectKey): boolean {
    return this.#held.get(pool)?.holder.isHolder ?? false;
  }

  /** A wire that has just been opened is told everything. */
  useWire(wire: Wire): void {
    const { name } = this.#options;
    this.#flush();
    this.#wire = wire;
    this.#setLink();
    for (const pool of this.served.pools) wire.setPool(name, pool);
    const records = [...this.served.v4.told];
    wire.replaceBindings(
      name,
      records.map(({ definition }) => definition),
    );
    for (const record of records) if (record.quarantine !== undefined) this.#quarantine(record);
    for (const { address, holder } of this.#held.values()) if (holder.isHolder) wire.answerFor(name, address, true);
  }

  /** Pools or Holds of `served` changed. */
  changed(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    setImmediate(() => this.#flush());
  }

  /** All pools and Holds are known, as they are or as they were last. */
  begin(): void {
    this.#hasBegun = true;
    this.#flush();
  }

  /** From now on, what comes is new. */
  listed(): void {
    this.begin();
    this.#isListed = true;
  }

  /** Undefined: its interface is down, or away. Then it gives its Leases up: others reach the clients. */
  linked(mac: Mac | undefined): void {
    this.#mac = mac;
    this.v6.linked(mac);
    this.#followPools();
  }

  take(effect: Effect | EffectV6): void {
    this.#effects.take(effect);
  }

  takeFrame(frame: ReceivedFrame): void {
    this.v6.take(frame);
  }

  /** Another host says that it has an address that we answer for. */
  contested(address: V4Address, mac: Mac): void {
    for (const { name, serverIdentifier } of this.served.pools) {
      if (serverIdentifier.value !== address.value || mac === this.#otherAgentOf(name)) continue;
      this.#effects.tellServerAddress(name, `${address}`, mac);
    }
  }

  /** Until the signal; then the server addresses are handed over. The wire must be there until it ends. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#checks.run(signal), this.v6.run(signal)]);
    this.#isStopping = true;
    for (const pool of Array.from(this.#held.keys())) this.#end(pool);
    await Promise.all(this.#ending);
  }

  #flush(): void {
    this.#isFlushing = false;
    if (!this.#hasBegun) return;
    const { v4, v6, isEmpty } = this.served.takeDifference();
    if (isEmpty) return;
    this.#flushV4(v4);
    this.#flushV6(v6);
    this.#options.onChange();
  }

  #flushV6({ setPools, deletePools, set, deleted, quarantines }: ServedDifference["v6"]): void {
    // First what there is: one that goes may have the same router.
    for (const pool of setPools) this.v6.setPool(pool);
    for (const pool of deletePools) this.v6.deletePool(pool, this.served.poolObject(pool)?.spec.paused === true);
    if (setPools.length + deletePools.length > 0) this.#setLink();
    this.v6.changeBindings(deleted, set);
    for (const { address } of deleted) if (this.served.v6.get(address) === undefined) this.leases.delete(address);
    for (const { address, definition } of quarantines) {
      this.v6.setQuarantine(definition.address, this.served.v6.get(address)?.quarantine?.untilMs);
    }
  }

  /** The same again changes nothing. Frames of IPv6 are taken where a pool has it. */
  #setLink(): void {
    const { name, interface: interfaceName, acceptRelays } = this.#options;
    const link = { network: name, interface: interfaceName, acceptRelays };
    const { isServing, groups } = this.v6;
    this.#wire?.setLink(isServing ? { ...link, ipv6: true, groups } : link);
  }

  #flushV4({ setPools, deletePools, set, deleted, quarantines }: ServedDifference["v4"]): void {
    const wire = this.#wire;
    const { name } = this.#options;
    for (const pool of deletePools) wire?.deletePool(name, pool);
    for (const pool of setPools) wire?.setPool(name, pool);
    if (set.length > 0 || deleted.length > 0) {
      const refused = wire?.changeBindings(name, {
        delete: deleted.map(({ definition }) => definition.address),
        set: set.map(({ definition }) => definition),
      });
      for (const { error } of refused ?? []) this.#failed("a binding", error);
    }
    for (const { address } of deleted) if (this.served.v4.get(address) === undefined) this.leases.delete(address);
    for (const record of quarantines) this.#quarantine(record);
    for (const record of set) if (this.#isListed && record.hold !== undefined) this.#checks.add(record.address);
    if (setPools.length + deletePools.length > 0) this.#followPools();
  }

  /** As the records say now; one that is in use is asked about again by whoever answers at the server's address. */
  #quarantine({ address, definition }: BindingRecord): void {
    const quarantine = this.served.v4.get(address)?.quarantine;
    this.#wire?.setQuarantine(this.#options.name, definition.address, quarantine?.untilMs);
    if (quarantine?.by === "probe") this.#checks.watch(address);
  }

  /** One server address for each pool that is served and has one of its own, while the interface is up. */
  #followPools(): void {
    for (const [pool, { address, mac }] of Array.from(this.#held)) {
      const now = this.served.hasServer(pool) ? this.served.pool(pool)?.serverIdentifier : undefined;
      if (now?.value !== address.value || mac !== this.#mac) this.#end(pool);
    }
    if (this.#mac === undefined || this.#isStopping) return;
    for (const { name, serverIdentifier } of this.served.pools) {
      if (!this.#held.has(name) && this.served.hasServer(name)) this.#begin(name, serverIdentifier, this.#mac);
    }
  }

  #begin(pool: ObjectKey, address: V4Address, mac: Mac): void {
    const { client, clock, random, systemNamespace, agent, leaseTimes, log } = this.#options;
    const { namespace = "", name: poolName } = parseKey(pool);
    const identity = serverIdentity(agent, mac);
    const lease = serverLeaseName({ namespace, name: poolName });
    const { leaseDurationMs } = leaseTimes;
    const lock = new LeaseLock({ client, namespace: systemNamespace, name: lease, identity, leaseDurationMs, clock });
    const holder: ServerAddress = new ServerAddress({
      lock,
      identity,
      clock,
      random,
      ...leaseTimes,
      probe: (signal) => this.#probe(address, signal),
      answer: (isOn) => this.#answer(address, isOn, holder),
      onForeign: (other) => this.#effects.tellServerAddress(pool, `${address}`, other),
      onChange: (isHolder) => {
        if (isHolder) this.v6.announce(pool);
        log.info(isHolder ? "answering at the server's address" : "no longer answering at the server's address", {
          pool,
          address: `${address}`,
        });
      },
      onError: (error) => this.#failed(`Lease ${lease}`, error),
    });
    const stop = new AbortController();
    const ended = holder.run(stop.signal).catch((error: unknown) => this.#failed(`Lease ${lease}`, asError(error)));
    this.#held.set(pool, { address, mac, holder, stop, ended });
  }

  /** One that ends does not silence its follower at the same address: the interface was made anew, say. */
  #answer(address: V4Address, isOn: boolean, by: ServerAddress): void {
    const isOthers = [...this.#held.values()].some(
      ({ holder, address: other }) => holder !== by && holder.isHolder && other.value === address.value,
    );
    if (isOn || !isOthers) this.#wire?.answerFor(this.#options.name, address, isOn);
  }

  #end(pool: ObjectKey): void {
    const held = this.#held.get(pool);
    if (held === undefined) return;
    this.#held.delete(pool);
    held.stop.abort();
    const ended = held.ended.finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  #otherAgentOf(pool: ObjectKey): string {
    return partsOfServerIdentity(this.#held.get(pool)?.holder.lastHolder ?? "").mac;
  }

  async #probe(address: V4Address, signal: AbortSignal): Promise<Mac | undefined> {
    if (this.#wire === undefined) throw new Error(`${this.name} has no wire yet.`);
    const result = await this.#wire.probe(this.name, address, { signal, timeoutMs: probeMs });
    return result.kind === "in-use" ? result.mac : undefined;
  }

  #failed(what: string, error: Error): void {
    this.#options.log.warn("in the background", { network: this.name, what, error });
  }
}

/** Three questions. A takeover after a crash is 3 s of the Lease, up to a second to see it, and this. */
const probeMs = 500;
