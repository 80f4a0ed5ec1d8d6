import { expect, it } from "vitest";

import { pods } from "../../../src/cluster/resources.ts";
import { given, network, pod } from "../fixture.ts";
import type { GetFixture } from "../suite.ts";

export function stickyStories(fixture: GetFixture): void {
  const ownerReferences = [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "s", controller: true }];

  it.each([
    ["by the network's key", { sticky: "statefulset" }, {}],
    ["by the pod's annotation", {}, { "holdfast.io/sticky": "true" }],
  ])(
    "a StatefulSet's pod gets its address back in its next life, on another node too: %s",
    async (what, key, annotations) => {
      const net = fixture().fresh("sticky");
      const config = network(net, { range: "10.7.0.0/24", network_name: net, cooldown: 600, ...key });
      const [here, there] = [await fixture().daemon(), await fixture().daemon({ node: "node2" })];
      const life = async (daemonFixture: typeof here, container: string) => {
        const made = await fixture().pod("default", `${net}-0`, { annotations, ownerReferences });
        const args = `K8S_POD_NAMESPACE=default;K8S_POD_NAME=${net}-0;K8S_POD_UID=${made.metadata.uid}`;
        return {
          asked: { args, container, config },
          addresses: await given(daemonFixture, { args, container, config }),
        };
      };
      const end = () =>
        fixture().admin.delete(pods, { namespace: "default", name: `${net}-0` }, { gracePeriodSeconds: 0 });
      const first = await life(here, "one");
      await given(here, { ...pod("other"), config });
      await here.ask({ command: "DEL", ...first.asked });
      await end();
      expect(await fixture().held(`network:${net} `)).toContain(`10.7.0.1 default/${net}-0 eth0 -`);
      const second = await life(there, "two");
      expect([what, second.addresses]).toEqual([what, first.addresses]);
      await here.ask({ command: "DEL", ...first.asked }); // late, and of the sandbox before
      expect(await fixture().held(`network:${net} `)).toContain(`10.7.0.1 default/${net}-0 eth0 two`);
      await end();
    },
  );

  it("a pod of no StatefulSet has nothing to stick to", async () => {
    const daemonFixture = await fixture().daemon();
    const config = network("loose", { range: "10.7.1.0/24", network_name: "loose", sticky: "statefulset" });
    await given(daemonFixture, { ...pod("free"), config });
    await daemonFixture.ask({ command: "DEL", ...pod("free"), config });
    expect(await fixture().held("network:loose ")).toEqual([]);
  });
}
