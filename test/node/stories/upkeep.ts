import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, it } from "vitest";

import { realDisk } from "../../../src/node/request/flat-file.ts";
import { tellState } from "../../ledger/told-state.ts";
import { given, network, pod } from "../fixture.ts";
import { podArgs } from "../shim.ts";
import type { GetFixture } from "../suite.ts";

export function upkeepStories(fixture: GetFixture): void {
  it("GC frees what this node gave on this network and the runtime does not list; nothing else", async () => {
    const daemonFixture = await fixture().daemon();
    const other = await fixture().daemon({ node: "node2" });
    const ipam = { range: "10.9.0.0/24", network_name: "gc" };
    const config = network("gc", ipam, { cniVersion: "1.1.0" });
    await given(daemonFixture, { ...pod("live", "c-live"), config });
    const { metadata } = await fixture().pod("default", "dead");
    await given(daemonFixture, { container: "c-dead", args: podArgs("default", "dead", metadata.uid), config });
    await given(daemonFixture, { ...pod("elsewhere"), config: network("gc-too", ipam) });
    await given(other, { ...pod("far"), config });
    const valid = { "cni.dev/valid-attachments": [{ containerID: "c-live", ifname: "eth0" }] };
    expect(await daemonFixture.ask({ command: "GC", config: { ...config, ...valid } })).toMatchObject({
      status: 0,
      text: "",
    });
    const left = (await fixture().held("network:gc ")).map((line) => line.split(" ")[1]);
    expect(left).toEqual(["default/live", "default/elsewhere", "default/far"]);
    expect(await daemonFixture.ask({ command: "GC", config })).toMatchObject({ status: 0, text: "" });
    // The record of the sandbox went with it: nothing makes the hold again.
    await daemonFixture.stop();
    await daemonFixture.start();
    await given(daemonFixture, { ...pod("live", "c-live"), config });
    expect((await fixture().held("network:gc ")).map((line) => line.split(" ")[1])).toEqual(left);
  });

  it("nor what another network of the same name gave: definitions in two namespaces are often called alike", async () => {
    const daemonFixture = await fixture().daemon();
    const config = network("twin", { range: "10.6.8.0/24", network_name: "twin" }, { cniVersion: "1.1.0" });
    const others = [
      network("twin", { range: "10.6.9.0/24", network_name: "twin" }),
      network("twin", { range: "10.6.8.0/24", network_name: "twin-2" }),
      network("twin", { range: "10.6.8.0/25", network_name: "twin", enable_overlapping_ranges: false }),
    ];
    await given(daemonFixture, { ...pod("stale"), config });
    for (const [index, other] of others.entries())
      await given(daemonFixture, { ...pod(`live-${index}`), config: other });
    const valid = { "cni.dev/valid-attachments": [] };
    expect(await daemonFixture.ask({ command: "GC", config: { ...config, ...valid } })).toMatchObject({ status: 0 });
    const left = (await fixture().held("twin")).map((line) => line.split(" ")[1] ?? "");
    expect(left.toSorted()).toEqual(["default/live-0", "default/live-1", "default/live-2"]);
  });

  it("a flat file fills what the network leaves out, and is read again when it has changed", async () => {
    let text = JSON.stringify({ range: "10.9.4.0/24", network_name: "flat" });
    const path = "/etc/cni/net.d/whereabouts.d/whereabouts.conf";
    const daemonFixture = await fixture().daemon({
      disk: { read: async (at) => (at === path ? new TextEncoder().encode(text) : undefined) },
    });
    const config = network("flat", {});
    expect(await given(daemonFixture, { ...pod("f1"), config })).toEqual(["10.9.4.1/24"]);
    text = JSON.stringify({ range: "10.9.5.0/24", network_name: "flat" });
    const next = async () => (await given(daemonFixture, { ...pod(fixture().fresh("f")), config }))[0]!;
    await expect.poll(next, { timeout: 10_000, interval: 300 }).toMatch(/^10\.9\.5\./);
    text = "{";
    const code = async () => (await daemonFixture.ask({ command: "ADD", ...pod("f3"), config })).json.code;
    await expect.poll(code, { timeout: 10_000, interval: 300 }).toBe(6);
  });

  it("a definition names no file outside the administrator's folders, and is told nothing of what files have", async () => {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-flat-"));
    try {
      const [inside, outside] = [join(folder, "net.d"), join(folder, "secret")];
      mkdirSync(inside);
      writeFileSync(outside, "hunter2");
      writeFileSync(join(inside, "text"), "hunter2");
      symlinkSync(outside, join(inside, "link"));
      const daemonFixture = await fixture().daemon({ disk: realDisk, folders: [inside] });
      for (const [path, code] of [
        [outside, 7],
        ["/proc/self/environ", 7],
        [join(inside, "link"), 5],
        [join(inside, "text"), 6],
      ] as const) {
        const config = network("nosy", { range: "10.9.8.0/24", network_name: "nosy", configuration_path: path });
        const told = await daemonFixture.ask({ command: "ADD", ...pod("nosy"), config });
        expect([path, told.status, told.json.code]).toEqual([path, 1, code]);
        expect(told.text).not.toContain("hunter2");
        expect(await daemonFixture.ask({ command: "DEL", ...pod("nosy"), config })).toMatchObject({ status: 0 });
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("what whereabouts lets pass is let pass, under either name, and the pod is told", async () => {
    const daemonFixture = await fixture().daemon();
    for (const [type, third] of [
      ["holdfast", 6],
      ["whereabouts", 7],
    ] as const) {
      const ipam = { type, range: `10.9.${third}.0/24`, network_name: "lenient" };
      const added = async (more: object) => {
        const name = fixture().fresh("lenient");
        const { metadata } = await fixture().pod("default", name);
        const args = podArgs("default", name, metadata.uid);
        const config = network("lenient", { ...ipam, ...more });
        return { name, given: await given(daemonFixture, { container: name, args, config }) };
      };
      const outside = await added({ range_start: "10.200.0.1", range_end: "10.200.0.9" });
      expect(outside.given).toEqual([`10.9.${third}.1/24`]);
      const told = () => fixture().eventsOf(outside.name);
      await expect
        .poll(told)
        .toEqual([expect.stringMatching(/^SettingIgnored: eth0: ipam\.range_start is .*ipam\.range_end is /)]);
      const backwards = await added({ range_start: `10.9.${third}.50`, range_end: `10.9.${third}.20` });
      expect(backwards.given).toEqual([`10.9.${third}.50/24`]);
      const unknown = await added({ excludes: [`10.9.${third}.2`] });
      expect(unknown.given).toEqual([`10.9.${third}.2/24`]);
    }
  });

  it("STATUS is silence where an ADD would be served", async () => {
    const daemonFixture = await fixture().daemon();
    const config = network("status", { range: "10.9.1.0/24" }, { cniVersion: "1.1.0" });
    expect(await daemonFixture.ask({ command: "STATUS", config })).toEqual({ status: 0, text: "", json: undefined });
  });

  it("paused: no address is given, and who paused is named; releases are recorded, and follow when it is over", async () => {
    const daemonFixture = await fixture().daemon();
    const config = network("pause", { range: "10.9.2.0/24", network_name: "pause" }, { cniVersion: "1.1.0" });
    await given(daemonFixture, { ...pod("before"), config });
    await tellState(fixture().admin, { paused: "holdfast migrate, by ann" });
    await expect.poll(async () => (await daemonFixture.ask({ command: "STATUS", config })).json?.code).toBe(50);
    const told = await daemonFixture.ask({ command: "ADD", ...pod("during"), config });
    expect(told).toMatchObject({ status: 1, json: { code: 11, msg: expect.stringContaining("by ann") } });
    expect(await daemonFixture.ask({ command: "DEL", ...pod("before"), config })).toMatchObject({ status: 0 });
    expect(await fixture().held("network:pause ")).toHaveLength(1);
    await tellState(fixture().admin);
    await expect.poll(() => fixture().held("network:pause "), { timeout: 40_000 }).toEqual([]);
    expect(await given(daemonFixture, { ...pod("after"), config })).toEqual(["10.9.2.1/24"]);
  });

  it("an address that somebody on the wire has is passed over, and said", async () => {
    const asked: string[] = [];
    const daemonFixture = await fixture().daemon({
      probe: async ({ address }) => {
        asked.push(String(address));
        return asked.length <= 2 ? { duplicate: true, mac: "02:00:00:00:00:01" } : { duplicate: false };
      },
    });
    const config = network("probe", { range: "10.9.3.0/24", network_name: "probe", probe: true });
    expect(await given(daemonFixture, { ...pod("careful"), config })).toEqual(["10.9.3.3/24"]);
    expect(asked).toEqual(["10.9.3.1", "10.9.3.2", "10.9.3.3"]);
    expect(await given(daemonFixture, { ...pod("next"), config })).toEqual(["10.9.3.4/24"]);
    expect(await fixture().held("network:probe ")).toHaveLength(2);
  });
}
