// `holdfast adopt` and `holdfast claims takeover` while a leader works on the same claims: what they move, it keeps.
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import * as marks from "../../src/api/claims/claim-marks.ts";
import { planAdoption } from "../../src/claims/moves/adopt.ts";
import { moveAll, type MovingReport } from "../../src/claims/moves/move-all.ts";
import type { MoveDecision } from "../../src/claims/moves/move.ts";
import type { SnapshotIndex } from "../../src/claims/moves/snapshot.ts";
import { planTakeover } from "../../src/claims/moves/takeover.ts";
import * as kinds from "../../src/cluster/resources.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { movingOptions } from "./cli-moving.ts";
import { shop, Fixture } from "./leader-fixture.ts";

let fixture: Fixture;
beforeEach(async () => {
  fixture = await Fixture.open(await embeddedServer());
  await fixture.define("blue");
});
afterEach(() => fixture.close());

const address = () => [...fixture.node.given.values()][0];

function move(plan: (books: SnapshotIndex) => readonly MoveDecision[]): Promise<MovingReport> {
  return moveAll(movingOptions(fixture.client, plan));
}

describe("beside a leader", () => {
  it("a VM that was restored with its claim adopts its address, and starts with it", async () => {
    const before = fixture.lead();
    const machine = await fixture.started("vm1");
    const first = address();
    const from = machine.vmUid!;
    const backup = await fixture.claimIs(
      "vm1.blue",
      "shows its address",
      ({ status }) => status?.ips[0] === `${first}/24`,
    );
    await fixture.kubevirt.delete(machine);
    await fixture.claimGoes("vm1.blue");
    await fixture.booksAre();

    // A claim's status comes after the claim: without it, a leader ends what it finds without owner and address.
    await before.stop();
    const { labels = {}, annotations = {} } = backup.metadata;
    const metadata = { namespace: shop, name: "vm1.blue", labels, annotations, finalizers: [marks.claimFinalizer] };
    await fixture.client.create(kinds.ipamClaims, { metadata, spec: backup.spec });
    const status = { type: "merge", body: { status: { ips: [`${first}/24`] } } } as const;
    await fixture.client.patch(kinds.ipamClaims, metadata, status, { subresource: "status" });
    const restored = await fixture.machine("vm1");
    fixture.lead();
    expect(restored.vmUid).not.toBe(from);
    await fixture.booksAre(`${first} vm1.blue 0`);

    // The leader may pass the hold on itself, once the claim says whose it is.
    expect((await move((books) => planAdoption(books, { namespace: shop, name: "vm1", from }))).refused).toBe(0);
    expect(await fixture.kubevirt.start(restored)).toBe(true);
    expect(address()).toBe(first);
    await fixture.booksAre(`${first} vm1.blue 1`);
    const claim = await fixture.claim("vm1.blue");
    expect(claim?.metadata.annotations).toMatchObject({ [marks.claimOwnerAnnotation]: restored.vmUid });
    expect(claim?.metadata.ownerReferences).toMatchObject([{ uid: restored.vmUid }]);
    await fixture.kubevirt.delete(restored);
    await fixture.claimGoes("vm1.blue");
    await fixture.booksAre();
  });

  it("a claim of ipam-extensions that was taken over keeps its address over starts, and is freed with its VM", async () => {
    const machine = await fixture.machine("vm1");
    const reference = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "vm1", uid: machine.vmUid! };
    const ownerReferences = [{ ...reference, controller: true, blockOwnerDeletion: true }];
    const labels = { [marks.vmLabelName]: "vm1" };
    const metadata = {
      namespace: shop,
      name: "vm1.blue",
      labels,
      ownerReferences,
      finalizers: [marks.upstreamClaimFinalizer],
    };
    await fixture.client.create(kinds.ipamClaims, { metadata, spec: { network: "blue", interface: "" } });
    const status = { type: "merge", body: { status: { ips: ["10.9.0.77/24"] } } } as const;
    await fixture.client.patch(kinds.ipamClaims, metadata, status, { subresource: "status" });
    fixture.lead();
    expect(await move(planTakeover)).toMatchObject({ moved: 1, refused: 0 });
    await fixture.booksAre("10.9.0.77 vm1.blue 0");
    expect(await fixture.kubevirt.start(machine)).toBe(true);
    expect(address()).toBe("10.9.0.77");
    await fixture.kubevirt.stop(machine);
    await fixture.booksAre("10.9.0.77 vm1.blue 0");
    await fixture.kubevirt.delete(machine);
    await fixture.claimGoes("vm1.blue");
    await fixture.booksAre();
  });
});
