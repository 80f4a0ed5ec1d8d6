// `holdfast up` as a person runs it: started by the launcher, used with kubectl, stopped with Ctrl-C, started again.
import { mkdirSync, mkdtempSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { UpFixture } from "./up-fixture.ts";

let fixture: UpFixture;
const up = (...args: string[]) => fixture.up(...args);
const kubectl = (...args: string[]) => fixture.kubectl(...args);

beforeEach(() => (fixture = new UpFixture()));
afterEach(() => fixture[Symbol.asyncDispose]());

describe("holdfast up", () => {
  it("serves kubectl with the example network, and keeps what was written across a stop and a kill", async () => {
    const first = up("--port", "0");
    expect(await first.until("Ctrl-C")).toContain(`export KUBECONFIG=${fixture.data}/kubeconfig`);
    expect(statSync(join(fixture.data, "kubeconfig")).mode & 0o777).toBe(0o600);
    expect(statSync(fixture.data).mode & 0o777).toBe(0o700);
    const config = await kubectl("-n", "example", "get", "net-attach-def", "blue", "-o", "jsonpath={.spec.config}");
    expect(JSON.parse(config)).toMatchObject({ ipam: { type: "holdfast", range: "10.77.0.0/24" } });
    expect(await kubectl("get", "crd", "ipamclaims.k8s.cni.cncf.io", "-o", "name")).toContain("ipamclaims");
    await kubectl("-n", "example", "create", "configmap", "kept", "--from-literal=a=1");
    first.child.kill("SIGINT");
    expect(await first.ended).toBe(0);

    const second = up("--port", "0", "--no-example");
    await second.until("Ctrl-C");
    expect(await kubectl("-n", "example", "get", "configmap", "kept", "-o", "jsonpath={.data.a}")).toBe("1");
    await kubectl("-n", "example", "create", "configmap", "too", "--from-literal=a=2");
    await fixture.stop(second.child, "SIGKILL");

    const third = up("--port", "0");
    await third.until("Ctrl-C");
    expect(await kubectl("-n", "example", "get", "configmap", "too", "-o", "jsonpath={.data.a}")).toBe("2");
    third.child.kill("SIGTERM");
    expect(await third.ended).toBe(0);
  });

  it("gives an address to who asks through the plugin, gives the same again after a restart, and takes it back", async () => {
    const cni = (command: string, containerId: string) => fixture.cni(command, "web-0", containerId);
    const first = up("--port", "0");
    await first.until("Waiting for CNI requests");
    const added = await cni("ADD", "sandbox1");
    expect(added.status, added.answer).toBe(0);
    expect(JSON.parse(added.answer)).toMatchObject({ ips: [{ address: "10.77.0.2/24", gateway: "10.77.0.1" }] });
    first.child.kill("SIGINT");
    expect(await first.ended).toBe(0);

    const second = up("--port", "0");
    await second.until("Waiting for CNI requests");
    expect(JSON.parse((await cni("ADD", "sandbox2")).answer)).toMatchObject({ ips: [{ address: "10.77.0.2/24" }] });
    const reservations = ["get", "overlappingrangeipreservations", "-n", "kube-system", "--no-headers", "-o", "name"];
    expect(await cni("DEL", "sandbox1")).toMatchObject({ status: 0 });
    expect(await kubectl(...reservations, "-l", "!holdfast.io/cooling")).toContain("/10.77.0.2");
    expect(await cni("DEL", "sandbox2")).toMatchObject({ status: 0 });
    expect(await kubectl(...reservations, "-l", "!holdfast.io/cooling")).toBe("");
  });

  it("gives played pods addresses in the first minute, says why, takes them back, and logs a line for each", async () => {
    const first = up("--port", "0");
    await first.until("Waiting for CNI requests");
    const added = await fixture.here("demo", "add", "web", "mail");
    expect(added).toMatchObject({ code: 0 });
    expect(added.printed).toMatch(/^web has 10\.77\.0\.2\/24, after .* ms\nmail has 10\.77\.0\.3\/24,/);
    expect((await fixture.here("demo", "add", "web")).printed).toContain("web has 10.77.0.2/24");
    expect(await fixture.kubectl("-n", "example", "get", "pod", "web", "-o", "jsonpath={.status.podIPs[*].ip}")).toBe(
      "10.77.0.2",
    );
    const who = (await fixture.holdfast("who", "10.77.0.2")).printed;
    expect(who).toContain("pod example/web (net1)");
    expect(who).toMatch(
      /why +the lowest free address.*; on network blue; passed over: 10\.77\.0\.1 \(reserved: gateway\)/,
    );
    expect((await fixture.here("demo", "del", "web", "nobody")).printed).toBe(
      "web gave 10.77.0.2 back\nnobody had no address\n",
    );
    expect((await fixture.holdfast("who", "10.77.0.2")).printed).toContain(
      "nobody, it cools down after pod example/web",
    );
    expect(await first.until('released pod="example/web"')).toContain('info given pod="example/web"');
    expect(await fixture.here("demo", "add", "x", "--network", "example/red")).toMatchObject({
      code: 1,
      printed: expect.stringContaining("there is no network example/red") as string,
    });
    expect(await fixture.here("demo", "add", "Web")).toMatchObject({ code: 2 });
    first.child.kill("SIGINT");
    expect(await first.ended).toBe(0);
    expect(await fixture.here("demo", "add", "web")).toMatchObject({
      code: 1,
      printed: expect.stringContaining("no `holdfast up` runs on") as string,
    });
  });

  it("is found by commands that are told no cluster, where its user has no other", async () => {
    const state = dirname(fixture.data);
    const home = mkdtempSync(join(state, "home-"));
    const env = { HOME: home, XDG_STATE_HOME: join(home, "state"), PATH: process.env["PATH"] };
    const first = fixture.run(env, "up", "--port", "0");
    await first.until("Waiting for CNI requests");
    expect(await first.until("")).toContain("  ./holdfast demo add web\n");
    const pools = fixture.run(env, "pools");
    expect(await pools.ended).toBe(0);
    const other = fixture.run({ ...env, KUBECONFIG: "/nowhere" }, "pools");
    expect(await other.ended).toBe(1);
    expect(await other.until("")).toContain("/nowhere");
    // A daemon would serve the wrong cluster.
    const daemon = fixture.run(env, "node", "--node-name", "n1");
    expect(await daemon.ended).toBe(1);
    expect(await daemon.until("")).toContain("There is no kubeconfig at");
  });

  it("refuses a folder that another one serves, and says which process that is, and what to do", async () => {
    const first = up("--port", "0");
    await first.until("Ctrl-C");
    const url = /https:\S+/.exec(await first.until(""))![0];
    const second = up("--port", "0");
    expect(await second.ended).toBe(1);
    const words = await second.until("--data");
    expect(words).toMatch(/It is process \d+, at/);
    expect(words).toContain(`, at ${url}. Stop the other \`holdfast up\`, or give another --data.`);
  });

  it("does not take a file of somebody else's for its database", async () => {
    mkdirSync(fixture.data);
    writeFileSync(join(fixture.data, "api.sqlite"), "a letter ".repeat(1000));
    const run = up("--port", "0");
    expect(await run.ended).toBe(1);
    expect((await run.until("--data")).trim()).toMatch(
      /^holdfast: \S+api\.sqlite is not a database of this API\. Give another --data\.$/,
    );
  });

  it.each(["/proc/x/y", "/dev/null/x"])("refuses the folder %s, which cannot be made, in one line", async (folder) => {
    const run = up("--data", folder);
    expect(await run.ended).toBe(1);
    expect((await run.until("--data")).trim()).toMatch(
      /^holdfast: The folder \S+ cannot be made \(\w+\): give another --data\.$/,
    );
  });

  it("refuses a port that is taken, and says what to do", async () => {
    const squatter = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => squatter.once("listening", resolve));
    const { port } = squatter.address() as { port: number };
    try {
      const run = up("--port", String(port));
      expect(await run.ended).toBe(1);
      expect(await run.until("--port")).toContain(
        `127.0.0.1:${port} is in use by another program: give another --port`,
      );
    } finally {
      squatter.close();
    }
  });
});
