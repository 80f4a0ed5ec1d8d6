// What the wire reports, carried out: Events about conflicts and other servers, quarantines told to the other agents,
// the table of leases. Nothing here decides about an address except that it is not offered for a while.
import { apiVersionOf } from "../../api/kind.ts";
import { harvesterGroup } from "../../api/vmnet/managed-pool.ts";
import { networkConfigKind } from "../../api/vmnet/network-config.ts";
import type { Effect } from "../../dhcp/server/outcome.ts";
import type { EffectV6 } from "../../dhcp/v6/server/outcome.ts";
import type { Clock } from "../../kube/clock.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import type { DeepReadonly, KubeObject } from "../../kube/meta.ts";
import { isToBeWritten } from "../address/binding-check.ts";
import type { BindingVerdict } from "../address/binding-check.ts";
import type { BindingRecord, BindingRecordV6 } from "../binding-records.ts";
import type { ServedNetwork } from "../served-network.ts";
import type { LeaseTable } from "./lease-table.ts";
import type { QuarantineWriter } from "./quarantine-writer.ts";

export interface EffectsOptions {
  readonly network: ServedNetwork;
  readonly leases: LeaseTable;
  readonly events: Pick<EventRecorder, "record">;
  readonly quarantines: Pick<QuarantineWriter, "write">;
  readonly clock: Clock;
  readonly count: (what: "conflict" | "foreign-server") => void;
}

/** Of one other server: a client that prefers it takes its address at every start. */
const foreignMs = 60_000;
/** A link with more servers than that has other worries. */
const serversMax = 64;

export class Effects {
  readonly #options: EffectsOptions;
  /** Server (its address, or its DUID in hexadecimal) -> when it was told of last. */
  readonly #foreign = new Map<string, number>();

  constructor(options: EffectsOptions) {
    this.#options = options;
  }

  take(effect: Effect | EffectV6): void {
    const { network, leases, clock, quarantines, count } = this.#options;
    switch (effect.kind) {
      case "leased":
      case "released":
        if (network.binding(effect.address) !== undefined) leases.take(effect, clock.wallMs());
        return;
      case "quarantined": {
        const hold = network.binding(effect.address)?.hold;
        if (hold !== undefined) quarantines.write(hold, { untilMs: effect.untilMs, by: "decline" });
        return;
      }
      case "conflict": {
        count("conflict");
        const record = network.binding(effect.address);
        const note = "note" in effect && effect.note !== undefined ? ` It says: ${effect.note}` : "";
        const words = `${effect.mac} declined ${effect.address}: another host on ${network.name} uses it. Find it and take the address away from it; until then the address is not offered.${note}`;
        if (record !== undefined) this.#tell(record, "AddressConflict", words);
        return;
      }
      case "foreign-server":
        count("foreign-server");
        return this.#tellForeign(`${effect.server}`, effect.mac);
    }
  }

  /** What a probe of a binding's address found. */
  takeVerdict(record: BindingRecord, verdict: BindingVerdict): void {
    const { network, quarantines, clock, count } = this.#options;
    const { hold, definition, mac } = record;
    if (verdict.kind === "over" && hold !== undefined) quarantines.write(hold, undefined);
    if (verdict.kind !== "in-use" || !isToBeWritten(record.quarantine, clock.wallMs())) return;
    if (hold !== undefined) quarantines.write(hold, verdict.quarantine);
    if (record.quarantine !== undefined) return;
    count("conflict");
    const words = `${definition.address} is ${mac}'s, and ${verdict.mac} on ${network.name} answers for it: take it away from that host, or exclude the address in the pool. It is not offered until it is silent.`;
    this.#tell(record, "AddressInUse", words);
  }

  /** A host that is no agent has the server's address. */
  tellServerAddress(pool: string, address: string, mac: string): void {
    const words = `${mac} on ${this.#options.network.name} has the server's address ${address}, and is no agent: take it away from that host. Clients cannot renew by unicast until then.`;
    this.#tellPool(pool, "ServerAddressInUse", words);
  }

  #tellForeign(server: string, mac: string): void {
    const { network, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - (this.#foreign.get(server) ?? -Infinity) < foreignMs) return;
    if (this.#foreign.size >= serversMax) this.#foreign.clear();
    this.#foreign.set(server, nowMs);
    const words = `Another DHCP server, ${server}, answers on ${network.name}: ${mac} took its offer. Turn one of the two off.`;
    for (const { name } of network.pools) this.#tellPool(name, "ForeignDhcpServer", words);
  }

  /** On the network config of the VM and on the pool. */
  #tell({ hold, definition }: BindingRecord | BindingRecordV6, reason: string, words: string): void {
    if (hold?.owner.kind === "nic") {
      const { uid, namespace, name } = hold.owner;
      const { kind } = networkConfigKind;
      const about: KubeObject = {
        apiVersion: apiVersionOf(networkConfigKind),
        kind,
        metadata: { uid, namespace, name },
      };
      this.#options.events.record(about, "Warning", reason, words);
    }
    this.#tellPool(definition.pool, reason, words);
  }

  #tellPool(key: string, reason: string, words: string): void {
    const pool = this.#options.network.poolObject(key);
    if (pool === undefined) return;
    const about: DeepReadonly<KubeObject> = {
      apiVersion: `${harvesterGroup}/v1alpha1`,
      kind: "IPPool",
      metadata: pool.metadata,
    };
    this.#options.events.record(about, "Warning", reason, words);
  }
}
