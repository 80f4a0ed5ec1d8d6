// DEL, GC and STATUS do what they can find, whatever they are given: a runtime that is sent away may never come again.
// And what they cannot find they do not free.
import fc from "fast-check";
import { expect, it } from "vitest";

import { given, network, pod } from "../fixture.ts";
import { podArgs } from "../shim.ts";
import type { GetFixture } from "../suite.ts";

const ending = ["DEL", "GC", "STATUS"] as const;

export function garbageStories(fixture: GetFixture): void {
  const config = network("junk", { range: "10.6.0.0/24", network_name: "junk" }, { cniVersion: "1.1.0" });

  it.each([
    ["no arguments", { args: "" }],
    ["arguments that are none", { args: "K8S_POD_NAME;=x;;IgnoreUnknown=maybe;FOO=1" }],
    ["names that are none", { args: "K8S_POD_NAMESPACE=a/b;K8S_POD_NAME=../..;K8S_POD_UID=a:b" }],
    ["another pod's name", { args: podArgs("elsewhere", "other") }],
    ["no configuration", { config: "" }],
    ["no JSON", { config: "{" }],
    ["no object", { config: "[]" }],
    ["a version of the future", { config: { ...config, cniVersion: "9.9.9" } }],
    ["no ipam", { config: { ...config, ipam: undefined } }],
    ["an ipam of another", { config: { ...config, ipam: { type: "host-local" } } }],
    ["an ipam that is wrong", { config: { ...config, ipam: { type: "holdfast", range: "10.6.0.300/24" } } }],
    ["a prevResult that is none", { config: { ...config, prevResult: "x" } }],
    ["a namespace that is gone", { netns: "" }],
  ])("a DEL frees what the sandbox holds, by its container and interface alone: %s", async (_what, broken) => {
    const daemonFixture = await fixture().daemon();
    const own = pod(fixture().fresh("junk"));
    await given(daemonFixture, { ...own, config });
    expect(await daemonFixture.ask({ command: "DEL", ...own, config, ...broken })).toMatchObject({
      status: 0,
      text: "",
    });
    expect(await fixture().held("network:junk ")).toEqual([]);
  });

  it.each([
    ["no container", { CNI_CONTAINERID: "" }],
    ["a container's id that is none", { CNI_CONTAINERID: "../../etc" }],
    ["no interface", { CNI_IFNAME: "" }],
    ["an interface's name that is none", { CNI_IFNAME: "a/b" }],
  ])("a DEL that does not say what it is about succeeds, and frees nothing: %s", async (_what, broken) => {
    const daemonFixture = await fixture().daemon();
    const own = pod("kept");
    await given(daemonFixture, { ...own, config });
    const environment = {
      CNI_COMMAND: "DEL",
      CNI_CONTAINERID: own.container,
      CNI_IFNAME: "eth0",
      CNI_ARGS: own.args,
      ...broken,
    };
    expect(await daemonFixture.raw(environment, JSON.stringify(config))).toMatchObject({ status: 0, text: "" });
    expect(await fixture().held("network:junk ")).toHaveLength(1);
    await daemonFixture.ask({ command: "DEL", ...own, config });
  });

  it("none of them fails or frees by whatever bytes come", async () => {
    const daemonFixture = await fixture().daemon();
    const own = pod("live");
    await given(daemonFixture, { ...own, config });
    const list = { "cni.dev/valid-attachments": [{ containerID: own.container, ifname: "eth0" }] };
    const whole: Record<string, unknown> = { ...config, ...list, runtimeConfig: {}, args: {}, prevResult: {} };
    const text = JSON.stringify(whole);
    const stdin = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.json().map((json) => new TextEncoder().encode(json)),
      fc.nat(text.length).map((length) => new TextEncoder().encode(text.slice(0, length))),
      fc
        .tuple(fc.constantFrom(...Object.keys(whole)), fc.jsonValue())
        // An empty list is no garbage: it says that nothing is attached.
        .filter(([, value]) => !(Array.isArray(value) && value.length === 0))
        .map(([key, value]) => new TextEncoder().encode(JSON.stringify({ ...whole, [key]: value }))),
    );
    const junk = fc.string({ unit: "binary", maxLength: 60 }).map((each) => each.replaceAll("\0", ""));
    const value = fc.oneof(junk, fc.constantFrom("../..", "-", "eth0", "K8S_POD_NAME=live", own.args));
    const names = ["CNI_IFNAME", "CNI_NETNS", "CNI_ARGS", "CNI_PATH"] as const;
    const environment = fc.dictionary(fc.constantFrom(...names), value);
    const property = fc.asyncProperty(
      fc.constantFrom(...ending),
      environment,
      junk,
      stdin,
      async (command, env, id, bytes) => {
        const told = await daemonFixture.raw({ ...env, CNI_COMMAND: command, CNI_CONTAINERID: id }, bytes);
        expect([told.status, told.text]).toEqual([0, ""]);
      },
    );
    await fc.assert(property, { numRuns: 150 });
    expect(await fixture().held("network:junk ")).toEqual([expect.stringContaining("default/live")]);
    expect(await given(daemonFixture, { ...own, config })).toEqual(["10.6.0.1/24"]);
    await daemonFixture.ask({ command: "DEL", ...own, config });
  });
}
