// An object of the kind Hold as a hold of src/ipam, and back. Its name is SCOPE.NAMESPACE.NAME-ADDRESS: different for
// any two domains or addresses, since a namespace has no dot and the address at the end has a form of its own.
import type { Domain, Hold } from "../../ipam/ledger.ts";
import { type Address, parseAddress } from "../../net/address.ts";
import { attempt } from "../../net/coded-error.ts";
import { NetError } from "../../net/error.ts";
import { ObjectError } from "../error.ts";
import { apiVersionOf } from "../kind.ts";
import { describeObject } from "../metadata.ts";
import { legalName } from "../name.ts";
import { parseDomain } from "../pools/domain.ts";
import { vmNetworkLabelName } from "../vmnet/marks.ts";
import { addressName } from "./address-name.ts";
import { markedHold, marksOf, partOf } from "./hold-marks.ts";
import { holdKind, type HoldObject } from "./hold.ts";
import { hashLabel, ownerOfRecord, ownerRecord } from "./owner-record.ts";

export function holdName(domain: Domain, address: Address): string {
  const parts = parseDomain(domain);
  if (parts.scope === "network") {
    const words = `${JSON.stringify(domain)} is a network: record ${address} as an OverlappingRangeIPReservation, which whereabouts sees.`;
    throw new ObjectError("bad-domain", words);
  }
  const name = `${parts.scope}.${parts.namespace}.${parts.name}-${addressName(address)}`;
  return legalName("Hold", name, `domain ${domain} and address ${address}`);
}

/** The object to create. `node`: whose daemon writes it. */
export function holdObjectOf(hold: Omit<Hold, "version">, namespace: string, node?: string): HoldObject {
  const { domain, address, owner } = hold;
  const { port, containerId } = ownerRecord(owner);
  const { kind, uid, namespace: ownerNamespace, name } = owner;
  const marks = marksOf(owner, hold, node);
  const isOfVms = parseDomain(domain).scope === "vm-network";
  return {
    apiVersion: apiVersionOf(holdKind) as HoldObject["apiVersion"],
    kind: "Hold",
    metadata: {
      name: holdName(domain, address),
      namespace,
      ...marks,
      ...(isOfVms && { labels: { ...marks.labels, [vmNetworkLabelName]: hashLabel(domain) } }),
    },
    spec: {
      domain,
      address: address.toString(),
      owner: { kind, uid, namespace: ownerNamespace, name, port },
      ...(containerId !== "" && { containerId }),
    },
  };
}

/** Refuses an object whose name and content disagree: the name is what the API server kept unique. */
export function holdOfObject({ metadata, spec }: HoldObject): Hold {
  const object = describeObject("Hold", metadata);
  const read = () => parseAddress(spec.address);
  const address = attempt(NetError, read, (error) => {
    throw new ObjectError("bad-object", `${object}: spec.address: ${error.message}`, { cause: error });
  });
  const wanted = holdName(spec.domain, address);
  if (metadata.name !== wanted) {
    const words = `${object} says domain ${spec.domain} and address ${address}, and would be named ${wanted}: delete it, it holds nothing.`;
    throw new ObjectError("bad-object", words);
  }
  const { kind, uid, namespace, name, port } = spec.owner;
  const record = { kind, uid, podref: `${namespace}/${name}`, port, containerId: spec.containerId ?? "" };
  const owner = ownerOfRecord({ ...record, part: partOf(metadata) });
  return markedHold("Hold", metadata, { domain: spec.domain, address, owner });
}
