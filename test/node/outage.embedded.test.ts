// The API server away, slow, or silent after it has acted: what is promised then, and that it is kept.
import { readFileSync, writeFileSync, appendFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { type Api, openApi } from "../../src/apiserver/api.ts";
import { NotSentError, type Transport } from "../../src/kube/transport/transport.ts";
import type { DaemonFixture } from "./daemon-fixture.ts";
import { given, network, pod, Fixture } from "./fixture.ts";

type Weather = "fine" | "away" | "silent-once";

let api: Api;
let fixture: Fixture;
let daemonFixture: DaemonFixture;
let weather: Weather;
const config = network("out", { range: "10.20.0.0/24", network_name: "out" }, { cniVersion: "1.1.0" });
const held = () => fixture.held("network:out ");

/** `silent-once`: the server does the next write, and its answer is lost. */
const transport: Transport = async (request) => {
  if (weather === "away") throw new NotSentError("the test cut the line");
  const response = await api.transport(request);
  if (weather === "fine" || request.method === "GET") return response;
  weather = "fine";
  throw new Error("the test lost the answer");
};

beforeEach(async () => {
  weather = "fine";
  api = openApi({ path: ":memory:" });
  fixture = await Fixture.open({ transport: api.transport, stop: async () => api.close() });
  daemonFixture = await fixture.daemon({ transport });
  await given(daemonFixture, { ...pod("warm"), config });
});
afterEach(async () => {
  weather = "fine";
  await fixture.close();
});

describe("away", () => {
  it("an ADD is told to try again, and nothing is left of it", async () => {
    weather = "away";
    const told = await daemonFixture.ask({ command: "ADD", ...pod("a"), config });
    expect(told).toMatchObject({ status: 1, json: { code: 11 } });
    expect(await daemonFixture.ask({ command: "STATUS", config })).toMatchObject({ status: 1, json: { code: 50 } });
    weather = "fine";
    expect(await held()).toHaveLength(1);
    expect(await given(daemonFixture, { ...pod("a"), config })).toEqual(["10.20.0.2/24"]);
  });

  it("a DEL succeeds, is on the disk, and is done when the server is back", async () => {
    weather = "away";
    expect(await daemonFixture.ask({ command: "DEL", ...pod("warm"), config })).toEqual({
      status: 0,
      text: "",
      json: undefined,
    });
    expect(readFileSync(join(daemonFixture.folder, "state", "releases.log"), "utf8")).toContain("c-warm");
    expect(await daemonFixture.registry.metrics()).toContain("holdfast_releases_pending 1");
    weather = "fine";
    await expect.poll(held, { timeout: 40_000 }).toEqual([]);
    await expect.poll(() => daemonFixture.registry.metrics()).toContain("holdfast_releases_pending 0");
  });

  it("the promise outlives the daemon, a torn last line and a damaged one", async () => {
    weather = "away";
    await daemonFixture.ask({ command: "DEL", ...pod("warm"), config });
    await daemonFixture.stop();
    const path = join(daemonFixture.folder, "state", "releases.log");
    writeFileSync(path, `00000000 {"op":"add"}\n${readFileSync(path, "utf8")}`);
    appendFileSync(path, '1234abcd {"op":"add","inte');
    await daemonFixture.start();
    expect(await daemonFixture.ask({ command: "DEL", ...pod("late"), config })).toMatchObject({ status: 0 });
    weather = "fine";
    await expect.poll(held, { timeout: 40_000 }).toEqual([]);
  });

  it("a promise to release one sandbox frees nothing of the next one of the same pod", async () => {
    weather = "away";
    await daemonFixture.ask({ command: "DEL", ...pod("warm"), config });
    weather = "fine";
    expect(await given(daemonFixture, { ...pod("warm", "second"), config })).toEqual(["10.20.0.1/24"]);
    await expect
      .poll(() => daemonFixture.registry.metrics(), { timeout: 40_000 })
      .toContain("holdfast_releases_pending 0");
    expect(await held()).toEqual(["10.20.0.1 default/warm eth0 second"]);
  });

  it("an ADD of the very sandbox takes the promise back", async () => {
    weather = "away";
    await daemonFixture.ask({ command: "DEL", ...pod("warm"), config });
    weather = "fine";
    await given(daemonFixture, { ...pod("warm"), config });
    expect(await daemonFixture.registry.metrics()).toContain("holdfast_releases_pending 0");
    expect(await held()).toEqual(["10.20.0.1 default/warm eth0 c-warm"]);
  });
});

describe("silent after it has acted", () => {
  it("an ADD finds its own hold, and answers with it", async () => {
    weather = "silent-once";
    const told = await daemonFixture.ask({ command: "ADD", ...pod("b"), config });
    expect(told).toMatchObject({ json: { ips: [{ address: "10.20.0.2/24" }] } });
    expect(await held()).toHaveLength(2);
  });

  it("a DEL that cannot be sure is done in the end", async () => {
    weather = "silent-once";
    expect(await daemonFixture.ask({ command: "DEL", ...pod("warm"), config })).toMatchObject({ status: 0 });
    weather = "fine";
    await expect.poll(held, { timeout: 40_000 }).toEqual([]);
  });
});

describe("a write of which nobody knows", () => {
  it("leaves a promise, and no address", async () => {
    // The POST is done and its answer lost; then the line is cut, so that it cannot be read back either.
    let isCut = false;
    const cut: Transport = async (request) => {
      if (isCut) throw new NotSentError("the test cut the line");
      const response = await api.transport(request);
      if (request.method !== "POST") return response;
      isCut = true;
      throw new Error("the test lost the answer");
    };
    await daemonFixture.stop();
    const other = await fixture.daemon({ transport: cut });
    const told = await other.ask({ command: "ADD", ...pod("lost"), config });
    expect(told).toMatchObject({ status: 1, json: { code: 11 } });
    expect(await held()).toContain("10.20.0.2 default/lost eth0 c-lost");
    expect(await other.registry.metrics()).toContain("holdfast_releases_pending 1");
    isCut = false;
    await expect.poll(held, { timeout: 40_000 }).toEqual(["10.20.0.1 default/warm eth0 c-warm"]);
  });
});
