// Adopt and takeover beside a slow oracle, in any cluster: nothing moves without proof, and nothing of a third party.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { planAdoption } from "./adopt.ts";
import { ClaimsError, type Move, type MoveDecision } from "./move.ts";
import { planTakeover } from "./takeover.ts";
import { claim, heldFor, instance, launcher, machine, scene, type SceneParts, user } from "./testing/snapshot.ts";

const dead = "vm-1";
const vm = machine("vm-2", ["blue", "dual"]);
const third = machine("vm-3", ["blue"], "web");
const vmi = instance("vmi-2", vm);
const stranger = launcher("p3", instance("vmi-3", third), ["blue"]);
const own = launcher("p2", vmi, ["blue", "dual"]);

const addresses = { blue: ["10.0.0.7", "10.0.0.8"], dual: ["10.1.0.7", "fd00::7"] } as const;
const nic = fc.constantFrom("blue" as const, "dual" as const);
const owner = fc.constantFrom(dead, "vm-2", "vm-3", "");
const claimUid = fc.constantFrom("c1", "c2", "c3", "c4");

const claimsOf = fc.uniqueArray(
  fc
    .record({ uid: claimUid, owner, nic, shows: fc.nat(2), isDeleting: fc.boolean(), isTheirs: fc.boolean() })
    .map(({ uid, owner: whose, nic: of, shows, isDeleting, isTheirs }) => {
      const reference = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "db", uid: whose };
      const theirs = {
        annotations: {},
        labels: {},
        finalizers: ["kubevirt.io/persistent-ipam"],
        ownerReferences: [reference],
      };
      return claim({
        uid,
        owner: whose,
        nic: of,
        name: `${isDeleting ? "x" : "db"}.${of}`,
        ips: addresses[of].slice(0, shows).map((each) => `${each}/24`),
        metadata: { ...(isTheirs && whose !== "" && theirs), ...(isDeleting && { deletionTimestamp: "x" }) },
      });
    }),
  { selector: ({ metadata }) => metadata.uid },
);

const holdsOf = fc.uniqueArray(
  fc
    .record({
      address: fc.constantFrom(...addresses.blue, ...addresses.dual),
      uid: fc.oneof(claimUid, fc.constant("gone")),
      identity: fc.option(fc.tuple(owner, nic), { nil: undefined }),
      users: fc.subarray([user(stranger), user(own)]),
    })
    .map(({ address, uid, identity, users }) =>
      heldFor(address, uid, { users, ...(identity && { note: { identity: identity.join("/") } }) }),
    ),
  { selector: ({ hold }) => `${hold.address}` },
);

const cluster = fc
  .record({ claims: claimsOf, held: holdsOf, runs: fc.boolean() })
  .map(({ claims, held, runs }): SceneParts => ({
    machines: [vm, third],
    instances: runs ? [vmi] : [],
    pods: runs ? [own, stranger] : [stranger],
    claims,
    held,
  }));

const movesOf = (verdicts: readonly MoveDecision[]): Move[] =>
  verdicts.flatMap((each) => (each.kind === "move" ? [each.move] : []));

/** Whose a claim is, as it stands on it. */
function recordedOwner(parts: SceneParts, uid: string): string | undefined {
  const found = parts.claims?.find(({ metadata }) => metadata.uid === uid);
  if (found === undefined) return undefined;
  return found.metadata.annotations?.["holdfast.io/claim-owner"] ?? found.metadata.ownerReferences?.[0]?.uid ?? "";
}

describe("whatever there is", () => {
  it("adopt moves only what the dead owner had, never from under a third or a stranger's pod", () => {
    fc.assert(
      fc.property(cluster, (parts) => {
        let verdicts: MoveDecision[];
        try {
          verdicts = planAdoption(scene(parts), { namespace: "shop", name: "db", from: dead });
        } catch (error) {
          expect(error).toBeInstanceOf(ClaimsError);
          return;
        }
        for (const { claim: change, pass, take } of movesOf(verdicts)) {
          for (const { held } of pass) {
            const holder = recordedOwner(parts, held.hold.owner.uid);
            const isProven = held.hold.note?.identity?.startsWith(`${dead}/`) === true || holder === dead;
            expect(isProven).toBe(true);
            expect([undefined, dead, "vm-2"]).toContain(holder);
            expect(held.hold.users?.some(({ uid }) => uid === stranger.metadata.uid)).not.toBe(true);
          }
          for (const { address } of take) {
            expect(parts.held?.some(({ hold }) => `${hold.address}` === `${address}`)).toBe(false);
          }
          const target = change.kind === "mark" ? recordedOwner(parts, change.claim.metadata.uid ?? "") : "vm-2";
          expect([dead, "vm-2"]).toContain(target);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("takeover takes only what nobody holds, for the living owner that the claim names", () => {
    fc.assert(
      fc.property(cluster, (parts) => {
        for (const { claim: change, pass, take } of movesOf(planTakeover(scene(parts)))) {
          expect(change.kind).toBe("mark");
          if (change.kind !== "mark") return;
          expect(change.claim.metadata.finalizers).toContain("kubevirt.io/persistent-ipam");
          expect(change.claim.metadata.ownerReferences?.[0]?.uid).toBe("vm-2");
          expect(pass).toEqual([]);
          const shown = new Set((change.claim.status?.ips ?? []).map((ip) => ip.split("/")[0]));
          for (const { address } of take) {
            expect(shown).toContain(`${address}`);
            expect(parts.held?.some(({ hold }) => `${hold.address}` === `${address}`)).toBe(false);
          }
        }
      }),
      { numRuns: 2000 },
    );
  });
});
