// fast-check generators of owners, with every part that a record can lack.
import * as fc from "fast-check";

import type { Owner } from "../../src/ipam/owner.ts";

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?$/);
const port = fc.constantFrom("eth0", "net1", "enp1s0");
const named = { namespace: label, name: label };

export const owner: fc.Arbitrary<Owner> = fc.oneof(
  fc.record({ kind: fc.constant("pod" as const), uid: fc.constantFrom("", "u-1", "u-2"), ...named, interface: port }),
  fc.record({ kind: fc.constant("pod" as const), uid: fc.uuid(), ...named, interface: port, containerId: fc.uuid() }),
  fc.record({ kind: fc.constant("claim" as const), uid: fc.uuid(), ...named }),
  fc.record({ kind: fc.constant("nic" as const), uid: fc.uuid(), ...named, nic: port }),
);

/** Also the later parts of one interface, which the entries of a pool cannot say. */
export const anyOwner: fc.Arbitrary<Owner> = fc.oneof(
  owner,
  fc.record({
    kind: fc.constant("pod" as const),
    uid: fc.uuid(),
    ...named,
    interface: port,
    part: fc.nat(9).map((n) => n + 1),
  }),
  fc.record({ kind: fc.constant("claim" as const), uid: fc.uuid(), ...named, part: fc.nat(9).map((n) => n + 1) }),
);

export const dnsLabel = label;
