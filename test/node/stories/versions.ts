import { expect, it } from "vitest";

import type { DaemonFixture } from "../daemon-fixture.ts";
import { network, pod } from "../fixture.ts";
import type { GetFixture } from "../suite.ts";

const versions = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] as const;

function expected(cniVersion: string, range: number): object {
  const [v4, v6] = [`10.1.${range}.2/24`, `fd01:${range + 1}::1/64`];
  const routes = [{ dst: "10.9.0.0/16", gw: `10.1.${range}.1` }];
  const dns = { nameservers: ["10.1.0.53"] };
  if (cniVersion < "0.3.0") {
    return { cniVersion, ip4: { ip: v4, gateway: `10.1.${range}.1`, routes }, ip6: { ip: v6 }, dns };
  }
  const version = (family: string) => (cniVersion < "1.0.0" ? { version: family } : {});
  const ips = [
    { ...version("4"), address: v4, gateway: `10.1.${range}.1` },
    { ...version("6"), address: v6 },
  ];
  return { cniVersion, ips, routes, dns };
}

export function versionStories(fixture: GetFixture): void {
  let daemonFixture: DaemonFixture;
  const configOf = (cniVersion: string, range: number, more: object = {}) =>
    network(
      `v${range}`,
      {
        range: `10.1.${range}.0/24`,
        ipRanges: [{ range: `fd01:${range + 1}::/64` }],
        gateway: `10.1.${range}.1`,
        routes: [{ dst: "10.9.0.0/16", gw: `10.1.${range}.1` }],
        dns: { nameservers: ["10.1.0.53"] },
        network_name: `v${range}`,
      },
      { cniVersion, ...more },
    );

  it.each(versions.map((version, index) => [version, index] as const))(
    "%s: ADD, CHECK, DEL",
    async (version, index) => {
      daemonFixture ??= await fixture().daemon();
      const asked = { ...pod(`versions-${index}`), config: configOf(version, index) };
      const added = await daemonFixture.ask({ command: "ADD", ...asked });
      expect(added).toMatchObject({ status: 0, json: expected(version, index) });
      const previous = { ...asked, config: configOf(version, index, { prevResult: added.json }) };
      const checked = await daemonFixture.ask({ command: "CHECK", ...previous });
      if (version < "0.4.0") expect(checked).toMatchObject({ status: 1, json: { code: 1 } });
      else expect(checked).toEqual({ status: 0, text: "", json: undefined });
      expect(await daemonFixture.ask({ command: "DEL", ...previous })).toEqual({
        status: 0,
        text: "",
        json: undefined,
      });
      expect(await fixture().held(`network:v${index} `)).toEqual([]);
      expect(await daemonFixture.ask({ command: "DEL", ...previous })).toMatchObject({ status: 0 });
    },
  );

  it("CHECK finds what differs from what the runtime believes", async () => {
    const asked = { ...pod("checked"), config: configOf("1.0.0", 50) };
    const { json: result } = await daemonFixture.ask({ command: "ADD", ...asked });
    const wrong = { ...result, ips: [{ address: "10.1.50.99/24" }, result.ips[1]] };
    const config = configOf("1.0.0", 50, { prevResult: wrong });
    const told = await daemonFixture.ask({ command: "CHECK", ...asked, config });
    expect(told).toMatchObject({ status: 1, json: { code: 100 } });
    expect(told.json.msg).toContain("10.1.50.99/24");
    await daemonFixture.ask({ command: "DEL", ...asked });
    const gone = await daemonFixture.ask({
      command: "CHECK",
      ...asked,
      config: configOf("1.0.0", 50, { prevResult: result }),
    });
    expect(gone).toMatchObject({ status: 1, json: { code: 100 } });
  });

  it("VERSION needs no configuration that it could use", async () => {
    const told = await daemonFixture.ask({ command: "VERSION", config: { cniVersion: "0.4.0" } });
    expect(told).toMatchObject({ status: 0, json: { cniVersion: "0.4.0", supportedVersions: [...versions] } });
  });

  it.each([
    ["a configuration that is no JSON", "ADD", "{", 6],
    ["a key that does not exist", "ADD", network("x", { range: "10.0.0.0/24", excludes: [], strict: true }), 7],
    ["a version that nobody speaks", "ADD", network("x", { range: "10.0.0.0/24" }, { cniVersion: "9.0.0" }), 1],
    ["slices that cannot be cut", "ADD", network("x", { range: "10.0.0.0/16", node_slice_size: "/12" }), 7],
    ["a command that does not exist", "SHOUT", network("x", { range: "10.0.0.0/24" }), 4],
  ])("%s is refused", async (_what, command, config, code) => {
    expect(await daemonFixture.ask({ command, ...pod("wrong"), config })).toMatchObject({ status: 1, json: { code } });
  });

  it("an ADD without a pod has no owner", async () => {
    const told = await daemonFixture.ask({ command: "ADD", config: network("x", { range: "10.0.0.0/24" }) });
    expect(told).toMatchObject({ status: 1, json: { code: 4 } });
  });
}
