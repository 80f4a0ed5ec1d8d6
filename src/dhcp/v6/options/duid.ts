// DUIDs (RFC 8415 section 11): who a client says that it is, and who we say that we are. A server compares all of the
// bytes and nothing else; the MAC within is read only where nothing better tells it (src/dhcp/v6/server/client.ts).
import { createHash } from "node:crypto";

import { uint16 } from "../../../frame/bytes.ts";
import { concatenate } from "../bytes.ts";

const type = { linkLayerTime: 1, linkLayer: 3, uuid: 4 } as const;
const ethernet = 1;
const macBytes = 6;
/** Type and at least one byte; type and 128 bytes at most (section 11.1). */
const duidBytesMin = 3;
const duidBytesMax = 130;

export function isDuid(bytes: Uint8Array): boolean {
  return bytes.length >= duidBytesMin && bytes.length <= duidBytesMax;
}

/** The MAC of a DUID-LLT or DUID-LL of Ethernet (sections 11.2 and 11.4), as a view; undefined for all others. */
export function macOfDuid(duid: Uint8Array): Uint8Array | undefined {
  if (duid.length < 4 || uint16(duid, 2) !== ethernet) return undefined;
  const kind = uint16(duid, 0);
  const from = kind === type.linkLayerTime ? 8 : 4;
  const isKnown = kind === type.linkLayerTime || kind === type.linkLayer;
  return isKnown && duid.length === from + macBytes ? duid.subarray(from) : undefined;
}

/** Bytes that are the same for every server of a pool, and others for every other pool. `use` keeps uses apart. */
export function identityBytes(use: string, poolName: string, subnet: string): Uint8Array {
  return createHash("sha256")
    .update(JSON.stringify(["holdfast", use, poolName, subnet]))
    .digest();
}

/**
 * A DUID-UUID (RFC 6355) with a UUID of version 8 (RFC 9562 section 5.8), made from the pool's name and subnet: each
 * server of the pool answers for the others, after a restart and on another node too.
 */
export function serverDuid(poolName: string, subnet: string): Uint8Array {
  const uuid = identityBytes("server DUID", poolName, subnet).slice(0, 16);
  uuid[6] = (uuid[6]! & 0x0f) | 0x80;
  uuid[8] = (uuid[8]! & 0x3f) | 0x80;
  return concatenate([Uint8Array.of(0, type.uuid), uuid]);
}
