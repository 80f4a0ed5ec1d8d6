// Debian's own DHCPv6 clients, unmodified, against our server: obtain, renew, rebind, confirm, release, decline, and a
// binding that changes. They talk over a bridge and veths, whose checksums are partial.
//
// What they were seen to send on Debian 12 (options of SOLICIT in their order; then what option 6 asks for):
//
// - dhclient 4.4.3-P1: 1 6 8 3; 23 24 39 31. SOLICIT at once, without waiting for an advertisement. After a restart
//   CONFIRM, then RENEW at T1 as if it had never gone. DECLINE only where its script ends with 3.
// - dhcpcd 9.4.1: 1 3 6 8 (14) 16; 23 24 82 83. Router solicitation first, SOLICIT when M is set. Takes SOL_MAX_RT and
//   INF_MAX_RT. CONFIRM after a restart. No DECLINE: the kernel takes the duplicate off before dhcpcd looks.
// - systemd-networkd 252, by hand: 14 3 25 39 6 1 8; 23 31 56 82. Router solicitation first, rapid commit always. Wants
//   a prefix too, and goes on without one.
// - dibbler 1.0.1, by hand: 1 3 8 6; 23 24. SOLICIT at once, RELEASE whenever it stops.
//
// Debian's busybox has no udhcpc6.
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { AgentPlan } from "./agent-process.ts";
import { clientMac, Lab } from "./lab.ts";

const plan: AgentPlan = {
  name: "default/net-48",
  subnet: "fd00:48::/64",
  // T1 after 6 s, T2 after 9.6 s.
  leaseSeconds: 12,
  rapidCommit: true,
  dnsServers: ["fd00:48::53"],
  domainSearch: ["vm.example"],
  bindings: { [clientMac]: "fd00:48::81" },
};
const script = join(import.meta.dirname, "dhclient-script.sh");

describe("dhclient", () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await Lab.of(plan);
  });
  afterAll(() => lab?.remove());

  const start = (...more: readonly string[]) => {
    const files = `-lf ${lab.folder}/leases -pf ${lab.folder}/pid`;
    return lab.client(`exec dhclient -6 -d -v ${files} -sf ${script} --decline-wait-time 1 ${more.join(" ")} eth0`);
  };

  test("obtains, renews, rebinds, and takes another address with its renewal", async () => {
    const client = start();
    expect(await lab.answered("SOLICIT")).toMatchObject({ options: [1, 6, 8, 3], requested: [23, 24, 39, 31] });
    expect(await lab.answered("REQUEST")).toMatchObject({ addresses: ["fd00:48::81"], effects: ["leased"] });
    await lab.hasAddresses("fd00:48::81");
    // By our advertisement: the prefix is on the link, no address was made from it, and there is no default route.
    expect(await lab.routes()).toContain("fd00:48::/64 dev eth0");
    expect(await lab.routes()).not.toContain("default");
    expect(await lab.answered("RENEW")).toMatchObject({ addresses: ["fd00:48::81"], effects: ["leased"] });
    await lab.order({ ignore: ["RENEW"] });
    expect(await lab.answered("REBIND")).toMatchObject({ addresses: ["fd00:48::81"], effects: ["leased"] });
    await lab.hasAddresses("fd00:48::81");
    await lab.order({ ignore: [] });
    await lab.order({ bind: clientMac, to: "fd00:48::85" });
    await lab.hasAddresses("fd00:48::85");
    await lab.stop(client, "SIGKILL");
  });

  test("confirms after a restart; is told to begin again where its address has changed", async () => {
    const confirmed = start();
    expect(await lab.answered("CONFIRM")).toMatchObject({ addresses: ["fd00:48::85"], effects: [] });
    await lab.answered("RENEW");
    await lab.stop(confirmed, "SIGKILL");
    await lab.order({ bind: clientMac, to: "fd00:48::86" });
    const moved = start();
    await lab.answered("CONFIRM");
    await lab.answered("SOLICIT");
    await lab.answered("REQUEST");
    await lab.hasAddresses("fd00:48::86");
    await lab.stop(moved, "SIGKILL");
  });

  test("releases, which frees nothing: it gets the same address again", async () => {
    start("-r");
    expect(await lab.answered("RELEASE")).toMatchObject({ addresses: ["fd00:48::86"], effects: ["released"] });
    await lab.hasAddresses();
    const again = start();
    await lab.answered("REQUEST");
    await lab.hasAddresses("fd00:48::86");
    await lab.stop(again, "SIGKILL");
  });

  test("declines what another host has, and is offered it no more", async () => {
    await lab.order({ bind: clientMac, to: "fd00:48::87" });
    await lab.squat("fd00:48::87");
    const client = start();
    const effects = ["quarantined", "conflict"];
    expect(await lab.answered("DECLINE")).toMatchObject({ addresses: ["fd00:48::87"], effects });
    await lab.said(({ type, outcome }) => type === "SOLICIT" && outcome === "quarantined", "a SOLICIT in vain");
    await lab.stop(client, "SIGKILL");
  });
});

describe("dhcpcd", () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await Lab.of(plan);
  });
  afterAll(() => lab?.remove());

  /** What it keeps is in the test's folder; its other files are gone with its mounts. */
  const start = () => {
    const db = `${lab.folder}/db`;
    const options = "-o domain_name_servers -o domain_search -o rapid_commit";
    return lab.client(
      [
        `mkdir -p ${db} /var/lib/dhcpcd /run/dhcpcd`,
        `mount --bind ${db} /var/lib/dhcpcd`,
        "mount -t tmpfs tmpfs /run/dhcpcd",
        `exec dhcpcd -6 -B -d -f /dev/null -c /bin/true ${options} eth0`,
      ].join(" && "),
    );
  };

  test("asks because our advertisement says so, and commits rapidly; renews and rebinds", async () => {
    const client = start();
    expect(await lab.answered("SOLICIT")).toMatchObject({ outcome: "REPLY", effects: ["leased"] });
    await lab.hasAddresses("fd00:48::81");
    expect(await lab.answered("RENEW")).toMatchObject({ addresses: ["fd00:48::81"], effects: ["leased"] });
    await lab.order({ ignore: ["RENEW"] });
    expect(await lab.answered("REBIND")).toMatchObject({ addresses: ["fd00:48::81"], effects: ["leased"] });
    await lab.order({ ignore: [] });
    expect(lab.since(0)).not.toContain("REQUEST");
    await lab.stop(client, "SIGKILL");
  });

  test("confirms after a restart, and releases when it is told to", async () => {
    const client = start();
    expect(await lab.answered("CONFIRM")).toMatchObject({ addresses: ["fd00:48::81"] });
    await lab.hasAddresses("fd00:48::81");
    // Its signal for "release and end".
    await lab.stop(client, "SIGALRM");
    expect(await lab.answered("RELEASE")).toMatchObject({ addresses: ["fd00:48::81"], effects: ["released"] });
  });
});
