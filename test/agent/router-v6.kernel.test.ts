// Advertisements in the name of a router, as the kernels of guests and of the agents' own hosts take them.
import { afterEach, beforeEach, expect, test } from "vitest";

import { run } from "../lab/command.ts";
import { until } from "../lab/wait.ts";
import { ClientsLab } from "./clients-lab.ts";
import { timeout, twoAgents } from "./clients-story.ts";

const router = "fe80::1";
const ipv6Config = { cidr: "fd00:48::/64", leaseTime: 20, router };
const warning = "takes a default IPv6 route from whoever advertises one on eth0";

let lab: ClientsLab;
beforeEach(async () => {
  lab = await ClientsLab.open("guest");
  await lab.fixture.makePool();
  await lab.fixture.changePool({ ipv6Config });
});
afterEach(() => lab.close());

const routes = (host: string) => lab.wire.ip(host, "-6", "route", "show", "default");
const set = (host: string, value: number) =>
  run([
    "nsenter",
    `--net=${lab.wire.netns(host)}`,
    "sh",
    "-c",
    `echo ${value} > /proc/sys/net/ipv6/conf/eth0/accept_ra`,
  ]);
async function hasRoute(host: string, isThere: boolean): Promise<void> {
  await until(async () => (await routes(host)).includes(`via ${router}`) === isThere, { what: `the route of ${host}` });
}

test(
  "a guest has the route while the pool names it; agents' hosts too, unless accept_ra is 0",
  { timeout },
  async () => {
    await set("b", 0);
    const { a, b } = await twoAgents(lab);
    await a.says(warning);
    // Of the other agent's word, since a host does not hear itself.
    await hasRoute("a", true);
    await hasRoute("guest", true);
    expect(await routes("b")).toBe("");
    expect(b.printed).not.toContain(warning);
    expect(await a.page("/leases")).toContain(warning);
    // It is noticed when it is mended.
    await set("a", 0);
    await until(async () => !(await a.page("/leases")).includes(warning), { what: "the end of the warning" });
    // Two pools, one router: the guest keeps it until neither names it.
    await lab.fixture.makePool({ cidr: "192.168.50.0/24", serverIP: "192.168.50.2" }, "default/other");
    await lab.fixture.changePool({ ipv6Config: { ...ipv6Config, cidr: "fd00:50::/64" } }, "default/other");
    for (const agent of [a, b]) {
      const metrics = () => agent.page("/metrics");
      const isThere = async () =>
        /router_advertisements_total\{[^}]*pool="default\/other"\} [1-9]/.test(await metrics());
      await until(isThere, { what: "the other pool" });
    }
    await lab.fixture.changePool({ ipv6Config: null });
    for (const agent of [a, b]) {
      await until(async () => !(await agent.page("/leases")).includes("fd00:48::/64"), {
        what: "the end of the first",
      });
    }
    await hasRoute("guest", true);
    await lab.fixture.deletePool("default/other");
    await hasRoute("guest", false);
  },
);
