// Who owns a claim cannot be told, or is told wrongly: nothing is freed by that.
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import * as marks from "../../src/api/claim-marks.ts";
import type { Transport } from "../../src/kube/transport.ts";
import * as kinds from "../../src/ledger/resources.ts";
import { until } from "../lab/wait.ts";
import { embeddedServer } from "../slices/embedded-server.ts";
import { shop, Stage } from "./leader-stage.ts";

let stage: Stage;
beforeEach(async () => {
  stage = await Stage.open(await embeddedServer());
  await stage.define("blue");
});
afterEach(() => stage.close());

/** An API server that starts, or lost a definition for a moment: the kinds of KubeVirt are paths that it does not know. */
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
  await stage.client.create(kinds.ipamClaims, {
    metadata: { namespace: shop, name, finalizers: [marks.claimFinalizer] },
    spec: { network: "blue", interface: "" },
  });
  await stage.claimIs(name, "let go", ({ metadata }) => metadata.finalizers === undefined);
}

describe("a server that does not know KubeVirt's kinds when a leader starts", { timeout: 60_000 }, () => {
  it("the claim of a stopped VM and its address stay, and go when the VM does", async () => {
    const first = stage.lead();
    const machine = await stage.started("vm1");
    await stage.kubevirt.stop(machine);
    await until(async () => (await stage.books())[0]?.endsWith("vm1.blue 0") === true, { what: "no user" });
    await first.stop();
    const before = { books: await stage.books(), uid: (await stage.claim("vm1.blue"))!.metadata.uid };
    const unserved = new Unserved();
    stage.lead({ through: unserved.through });
    await planned("stake1");
    await planned("stake2");
    const claim = await stage.claim("vm1.blue");
    expect({ books: await stage.books(), uid: claim?.metadata.uid }).toEqual(before);
    expect(claim!.metadata.deletionTimestamp).toBeUndefined();
    unserved.isOn = false;
    await stage.kubevirt.delete(machine);
    await stage.claimGoes("vm1.blue");
    await stage.booksAre();
  });

  it("an address whose claim was forced away stays", async () => {
    const first = stage.lead();
    const machine = await stage.started("vm1");
    await stage.kubevirt.stop(machine);
    await until(async () => (await stage.books())[0]?.endsWith("vm1.blue 0") === true, { what: "no user" });
    await first.stop();
    const [line] = await stage.books();
    const at = { namespace: shop, name: "vm1.blue" };
    await stage.client.delete(kinds.ipamClaims, at);
    await stage.client.patch(kinds.ipamClaims, at, { type: "merge", body: { metadata: { finalizers: null } } });
    const unserved = new Unserved();
    stage.lead({ through: unserved.through });
    await planned("stake1");
    await planned("stake2");
    expect(await stage.books()).toEqual([line]);
    unserved.isOn = false;
    await stage.claimIs("vm1.blue", "made anew", () => true);
    await stage.booksAre(line!);
    await stage.kubevirt.delete(machine);
    await stage.booksAre();
  });
});
