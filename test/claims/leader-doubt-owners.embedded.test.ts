// Who owns a claim cannot be told, or is told wrongly: nothing is freed by that.
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import * as marks from "../../src/api/claims/claim-marks.ts";
import { readClaimsState } from "../../src/cluster/claims-state.ts";
import * as kinds from "../../src/cluster/resources.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { ReservationLedger } from "../../src/ledger/reservation/reservation-ledger.ts";
import { parseAddress } from "../../src/net/address.ts";
import { until } from "../lab/wait.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { shop, Fixture, system } from "./leader-fixture.ts";

let fixture: Fixture;
beforeEach(async () => {
  fixture = await Fixture.open(await embeddedServer());
  await fixture.define("blue");
});
afterEach(() => fixture.close());

/** An API server that starts, or lost a definition for a moment: KubeVirt's kinds are paths that it does not know. */
class Unserved {
  isOn = true;

  readonly through =
    (transport: Transport): Transport =>
    async (request) => {
      if (!this.isOn || !request.path.startsWith("/apis/kubevirt.io/")) return transport(request);
      const body = (async function* () {
        yield new TextEncoder().encode("404 page not found\n");
      })();
      return { status: 404, headers: { "content-type": "text/plain" }, body };
    };
}

/** The leader has planned everything: of a claim made by hand, which it reads no VM for, its finalizer is gone. */
async function planned(name: string): Promise<void> {
  await fixture.client.create(kinds.ipamClaims, {
    metadata: { namespace: shop, name, finalizers: [marks.claimFinalizer] },
    spec: { network: "blue", interface: "" },
  });
  await fixture.claimIs(name, "let go", ({ metadata }) => metadata.finalizers === undefined);
}

describe("a server that does not know KubeVirt's kinds when a leader starts", () => {
  it("the claim of a stopped VM and its address stay, and go when the VM does", async () => {
    const first = fixture.lead();
    const machine = await fixture.started("vm1");
    await fixture.kubevirt.stop(machine);
    await until(async () => (await fixture.books())[0]?.endsWith("vm1.blue 0") === true, { what: "no user" });
    await first.stop();
    const before = { books: await fixture.books(), uid: (await fixture.claim("vm1.blue"))!.metadata.uid };
    const unserved = new Unserved();
    fixture.lead({ through: unserved.through });
    await planned("stake1");
    await planned("stake2");
    const claim = await fixture.claim("vm1.blue");
    expect({ books: await fixture.books(), uid: claim?.metadata.uid }).toEqual(before);
    expect(claim!.metadata.deletionTimestamp).toBeUndefined();
    unserved.isOn = false;
    await fixture.kubevirt.delete(machine);
    await fixture.claimGoes("vm1.blue");
    await fixture.booksAre();
  });

  it("an address whose claim was forced away stays", async () => {
    const first = fixture.lead();
    const machine = await fixture.started("vm1");
    await fixture.kubevirt.stop(machine);
    await until(async () => (await fixture.books())[0]?.endsWith("vm1.blue 0") === true, { what: "no user" });
    await first.stop();
    const [line] = await fixture.books();
    const at = { namespace: shop, name: "vm1.blue" };
    await fixture.client.delete(kinds.ipamClaims, at);
    await fixture.client.patch(kinds.ipamClaims, at, { type: "merge", body: { metadata: { finalizers: null } } });
    const unserved = new Unserved();
    fixture.lead({ through: unserved.through });
    await planned("stake1");
    await planned("stake2");
    expect(await fixture.books()).toEqual([line]);
    unserved.isOn = false;
    await fixture.claimIs("vm1.blue", "made anew", () => true);
    await fixture.booksAre(line!);
    await fixture.kubevirt.delete(machine);
    await fixture.booksAre();
  });
});

describe("a server that does not know the kind KubeVirt when a leader starts", () => {
  it("the gate that follows its feature gate is not taken for off: an address whose claim was forced away stays", async () => {
    const first = fixture.lead();
    const machine = await fixture.started("vm1");
    await fixture.kubevirt.stop(machine);
    await until(async () => (await fixture.books())[0]?.endsWith("vm1.blue 0") === true, { what: "no user" });
    await first.stop();
    const [line] = await fixture.books();
    const at = { namespace: shop, name: "vm1.blue" };
    await fixture.client.delete(kinds.ipamClaims, at);
    await fixture.client.patch(kinds.ipamClaims, at, { type: "merge", body: { metadata: { finalizers: null } } });
    // The embedded server has no such kind.
    fixture.lead({ gate: "kubevirt" });
    await planned("stake1");
    await planned("stake2");
    expect(await fixture.books()).toEqual([line]);
    expect(readClaimsState({ data: await fixture.state() }).gate).toBe("on");
  });
});

describe("a claim that names a VM of another namespace as its owner", () => {
  it("its address is judged by the pods of its own namespace, also when the claim is gone", async () => {
    fixture.lead();
    await fixture.started("vm1");
    const vm = await fixture.client.get(kinds.virtualMachines, { namespace: shop, name: "vm1" });
    const namespace = "elsewhere";
    await fixture.client.create(kinds.namespaces, { metadata: { name: namespace } });
    const networks = JSON.stringify([{ name: "blue", "ipam-claim-reference": "x.blue" }]);
    const pod = await fixture.client.create(kinds.pods, {
      metadata: { namespace, name: "guest", annotations: { "k8s.v1.cni.cncf.io/networks": networks } },
      spec: { nodeName: "n1", containers: [{ name: "c", image: "i" }] },
    } as kinds.Pod);
    const result = await new ReservationLedger({ client: fixture.client, namespace: system, now: Date.now }).take({
      domain: "network:blue",
      address: parseAddress("10.9.0.99"),
      owner: { kind: "claim", uid: "of-a-claim-that-is-gone", namespace, name: "x.blue" },
      note: { identity: marks.identityOf(vm.metadata.uid!, "blue") },
      users: [{ uid: pod.metadata.uid!, name: "guest", node: "n1" }],
    });
    expect(result.outcome).toBe("taken");
    await planned("stake1");
    await planned("stake2");
    const held = async () => (await fixture.books()).filter((line) => line.startsWith("10.9.0.99 "));
    expect(await held()).toEqual(["10.9.0.99 x.blue 1"]);
    await fixture.client.delete(kinds.pods, { namespace, name: "guest" }, { gracePeriodSeconds: 0 });
    await until(async () => (await held()).length === 0, { what: "the address to be freed" });
  });
});
