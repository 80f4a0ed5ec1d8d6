// An object of the kind Hold as a hold of src/ipam, and back. Its name is SCOPE.NAMESPACE.NAME-ADDRESS: different for any two
// domains or addresses, since a namespace has no dot and the address at the end has a form of its own.
import type { Domain, Hold } from "../../ipam/ledger.ts";
import { parseAddress } from "../../net/address.ts";
import type { Address } from "../../net/address.ts";
import { NetError } from "../../net/error.ts";
import { ObjectError } from "../error.ts";
import { apiVersionOf } from "../kind.ts";
import { describeObject } from "../metadata.ts";
import { legalName } from "../name.ts";
import { parseDomain } from "../pools/domain.ts";
import { addressName } from "./address-name.ts";
import { marksOf, noteOf, partOf, usersOf } from "./hold-marks.ts";
import type { HoldObject } from "./hold.ts";
import { holdKind } from "./hold.ts";
import { ownerOfRecord, ownerRecord } from "./owner-record.ts";
import { versionOf } from "./version.ts";

export function holdName(domain: Domain, address: Address): string {
  const parts = parseDomain(domain);
  if (parts.scope === "network") {
    throw new ObjectError(
      "bad-domain",
      `${JSON.stringify(domain)} is a network: record ${address} as an OverlappingRangeIPReservation, which whereabouts sees.`,
    );
  }
  const name = `${parts.scope}.${parts.namespace}.${parts.name}-${addressName(address)}`;
  return legalName("Hold", name, `domain ${domain} and address ${address}`);
}

/** The object to create. `node`: whose daemon writes it. */
export function holdObjectOf(hold: Omit<Hold, "version">, namespace: string, node?: string): HoldObject {
  const { port, containerId } = ownerRecord(hold.owner);
  const { kind, uid, namespace: ownerNamespace, name } = hold.owner;
  return {
    apiVersion: apiVersionOf(holdKind) as HoldObject["apiVersion"],
    kind: "Hold",
    metadata: {
      name: holdName(hold.domain, hold.address),
      namespace,
      ...marksOf(hold.owner, hold, node),
    },
    spec: {
      domain: hold.domain,
      address: hold.address.toString(),
      owner: { kind, uid, namespace: ownerNamespace, name, port },
      ...(containerId !== "" && { containerId }),
    },
  };
}

/** Refuses an object whose name and content disagree: the name is what the API server kept unique. */
export function holdOfObject({ metadata, spec }: HoldObject): Hold {
  const object = describeObject("Hold", metadata);
  const address = addressOf(object, spec.address);
  const wanted = holdName(spec.domain, address);
  if (metadata.name !== wanted) {
    throw new ObjectError(
      "bad-object",
      `${object} says domain ${spec.domain} and address ${address}, and would be named ${wanted}: delete it, it holds nothing.`,
    );
  }
  const { kind, uid, namespace, name, port } = spec.owner;
  const record = { kind, uid, podref: `${namespace}/${name}`, port, containerId: spec.containerId ?? "" };
  const owner = ownerOfRecord({ ...record, part: partOf(metadata) });
  const note = noteOf(metadata);
  const users = usersOf(metadata);
  const version = versionOf("Hold", metadata);
  return { domain: spec.domain, address, owner, version, ...(note && { note }), ...(users && { users }) };
}

function addressOf(object: string, text: string): Address {
  try {
    return parseAddress(text);
  } catch (error) {
    if (!(error instanceof NetError)) throw error;
    throw new ObjectError("bad-object", `${object}: spec.address: ${error.message}`, { cause: error });
  }
}
