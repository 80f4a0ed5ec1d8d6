// The row of the state machine in which validation has its say: with the real webhooks in front of the embedded API.
import { describe, expect, it } from "vitest";

import { openApi } from "../../src/apiserver/api.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { claims } from "./claim-objects.ts";
import { unplug } from "./kubevirt/hotplug.ts";
import { networksAnnotation, pods } from "./kubevirt/objects.ts";
import { prepare } from "./random-fixture.ts";
import type { StoryFixture } from "./stories/fixture.ts";
import { addressesOf } from "./stories/sight.ts";
import { play } from "./stories/suite.ts";
import { withWebhooks } from "./stories/webhooks.ts";

const two = { nics: ["blue", "green"].map((name) => ({ name, definition: "blue" })) };

/** A world of the controller's own account, and somebody else. */
async function withTenant(story: (fixture: StoryFixture, tenant: KubeClient) => Promise<void>): Promise<void> {
  const api = openApi({ path: ":memory:" });
  const as =
    (username: string): Transport =>
    (request) =>
      api.handle(request, { username, groups: ["system:authenticated"] });
  try {
    await prepare(new KubeClient({ transport: api.transport }));
    const transport = as("system:serviceaccount:kube-system:holdfast-controller");
    const tenant = new KubeClient({ transport: as("tenant") });
    await play({ transport, name: "shop", number: 9 }, (fixture) =>
      withWebhooks(fixture, tenant, () => story(fixture, tenant)),
    );
  } finally {
    api.close();
  }
}

describe("rows of validation", { timeout: 240_000 }, () => {
  it("user deletes the claim, VM alive / BOUND, RSVD: refused, but where the NIC is absent or the VM is being deleted", async () => {
    await withTenant(async (fixture, tenant) => {
      const removal = (name: string) =>
        tenant.delete(claims, { namespace: fixture.namespace, name }).then(
          () => "deleted",
          (error: unknown) => (error as Error).message,
        );
      const machine = await fixture.started("vm1", two);
      const first = addressesOf(machine);
      expect(await removal("vm1.blue")).toContain("VirtualMachine shop/vm1");
      expect((await fixture.look(machine)).state).toBe("BOUND");
      await fixture.kubevirt.stop(machine);
      await fixture.is(machine, "RSVD");
      expect(await removal("vm1.blue")).toContain("VirtualMachine shop/vm1");
      expect((await fixture.look(machine)).state).toBe("RSVD");
      expect(await fixture.kubevirt.start(machine)).toBe(true);
      expect(addressesOf(machine)).toEqual(first);
      // The launcher's elements carry the references that the webhook wrote: other CNIs read nothing else.
      const pod = await fixture.admin.get(pods, machine.instance!.active.at);
      expect(pod.metadata.annotations?.[networksAnnotation]).toContain('"ipam-claim-reference":"vm1.green"');

      const migration = await unplug(fixture.kubevirt, machine, "green", "by migration");
      await fixture.is(machine, "DETACH", "green");
      expect(await removal("vm1.green")).toBe("deleted");
      await fixture.is(machine, "TERM", "green");
      await migration!.abort();
      let said = "";
      fixture.at("VMI deleting", async () => void (said = await removal("vm1.blue")));
      await fixture.kubevirt.delete(machine);
      expect(said).toBe("deleted");
      await fixture.is(machine, "NONE");
    });
  });
});
