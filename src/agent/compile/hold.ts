// From a Hold of a VM network, as the API server has it, to the binding that the DHCP server serves. Pure.
//
// Promised: a Hold whose name, domain, address or MAC cannot be what it says is not served, and says why. Name and spec
// decide; labels and annotations only add.
import { macLabelName } from "../../api/claims/claim-marks.ts";
import { coolingLabelName, poolAnnotation } from "../../api/holds/hold-marks.ts";
import { holdName } from "../../api/holds/hold-object.ts";
import { quarantineAnnotation } from "../../api/vmnet/marks.ts";
import type { StoredHold } from "../../cluster/resources.ts";
import { type BindingDefinition, compileBinding } from "../../dhcp/server/binding.ts";
import { type BindingDefinitionV6, compileBindingV6 } from "../../dhcp/v6/server/binding.ts";
import type { Domain } from "../../ipam/ledger.ts";
import { type DeepReadonly, picked } from "../../kube/meta.ts";
import { parseAddress } from "../../net/address.ts";
import { CodedError } from "../../net/coded-error.ts";
import { type Mac, parseMac } from "../../net/mac.ts";
import { hostNameOf } from "./host-name.ts";

/** Whose the address is, for events. */
export interface BindingOwner {
  readonly kind: "pod" | "claim" | "nic";
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

interface CompiledOf<Family extends 4 | 6, Definition> {
  readonly family: Family;
  readonly definition: Definition;
  readonly mac: Mac;
  readonly owner: BindingOwner;
  /** 0 where the object does not say. */
  readonly createdMs: number;
  readonly quarantine: Quarantined | undefined;
}

export type CompiledHold = CompiledOf<4, BindingDefinition> | CompiledOf<6, BindingDefinitionV6>;

export interface Quarantined {
  readonly untilMs: number;
  /** Who found the address in use: the client (DECLINE), or an agent that asked (ARP). */
  readonly by: "decline" | "probe";
}

/** A binding; nothing, since it cools; or a sentence that says why it cannot be served. */
export function compileHold(hold: DeepReadonly<StoredHold>, domain: Domain): CompiledHold | undefined | string {
  const { metadata, spec } = hold;
  try {
    const address = parseAddress(spec.address);
    if (spec.domain !== domain) return `It is of ${spec.domain}, and stands among those of ${domain}.`;
    const name = holdName(spec.domain, address);
    if (metadata.name !== name) return `It says ${address} of ${spec.domain}, and would be named ${name}: delete it.`;
    const { [macLabelName]: label = "", [coolingLabelName]: cooling } = metadata.labels ?? {};
    if (cooling !== undefined) return undefined;
    const { kind, uid, namespace, name: ownerName, port } = spec.owner;
    const mac = parseMac(kind === "nic" ? port : label);
    const pool = metadata.annotations?.[poolAnnotation];
    if (pool === undefined) return `It does not say of which pool it is: annotation ${poolAnnotation} is missing.`;
    const rest = {
      mac,
      owner: { kind, uid, namespace, name: ownerName },
      createdMs: Date.parse(metadata.creationTimestamp ?? "") || 0,
      quarantine: quarantineOf(metadata.annotations?.[quarantineAnnotation]),
    };
    if (address.family === 6) {
      const definition = { address, pool, mac };
      compileBindingV6(definition);
      return { family: 6, definition, ...rest };
    }
    const hostName = kind === "nic" ? hostNameOf(ownerName) : undefined;
    const definition = { address, pool, mac, ...(hostName !== undefined && { hostName }) };
    compileBinding(definition);
    return { family: 4, definition, ...rest };
  } catch (error) {
    if (error instanceof CodedError) return error.message;
    throw error;
  }
}

/** `2026-11-18T04:00:00.000Z decline`. A time that nobody can read has no end: the address is in doubt. */
export function quarantineOf(text: string | undefined): Quarantined | undefined {
  if (text === undefined || text === "") return undefined;
  const [time = "", by] = text.split(" ");
  const untilMs = Date.parse(time);
  return { untilMs: Number.isNaN(untilMs) ? Infinity : untilMs, by: by === "decline" ? by : "probe" };
}

export function quarantineText({ untilMs, by }: Quarantined): string {
  return `${new Date(untilMs).toISOString()} ${by}`;
}

/** Without what no agent reads: 10,000 of them are cached, and in the state file. */
export function trimHold(hold: StoredHold): StoredHold {
  const { labels, annotations, ...rest } = hold.metadata;
  const { kind, uid, namespace, name, port } = hold.spec.owner;
  return {
    metadata: {
      ...picked(rest, "name", "namespace", "uid", "resourceVersion", "creationTimestamp"),
      // The NIC is the MAC already.
      ...(kind !== "nic" && { labels: picked(labels, macLabelName) }),
      annotations: picked(annotations, poolAnnotation, quarantineAnnotation),
    },
    spec: {
      ...picked(hold.spec, "domain", "address"),
      owner: { kind, uid, namespace, name, port },
    } as StoredHold["spec"],
  };
}
