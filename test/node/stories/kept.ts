// DELs that the plugin kept while no daemon answered: in the folder when a daemon starts, and while it runs.
import { mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, it } from "vitest";

import { frameOf } from "../../../src/cni/socket-call.ts";
import { NotSentError, type Transport } from "../../../src/kube/transport/transport.ts";
import type { DaemonFixture } from "../daemon-fixture.ts";
import { given, network, pod } from "../fixture.ts";
import type { GetFixture } from "../suite.ts";

const spoolOf = ({ folder }: DaemonFixture) => join(folder, "state", "spool");
const left = (daemonFixture: DaemonFixture) => readdirSync(spoolOf(daemonFixture));

/** As the plugin writes it. */
function keep(
  daemonFixture: DaemonFixture,
  { container, args }: { container: string; args: string },
  config: object,
): void {
  const environment = {
    CNI_COMMAND: "DEL",
    CNI_CONTAINERID: container,
    CNI_IFNAME: "eth0",
    CNI_ARGS: args,
    CNI_PATH: "/opt/cni/bin",
  };
  const frame = frameOf(environment, JSON.stringify(config));
  const name = join(spoolOf(daemonFixture), `${Date.now()}-${container}`);
  mkdirSync(spoolOf(daemonFixture), { recursive: true });
  writeFileSync(`${name}.new`, frame, { mode: 0o600 });
  renameSync(`${name}.new`, `${name}.del`);
}

export function keptStories(fixture: GetFixture): void {
  const networkOf = (range: string) => {
    const name = fixture().fresh("kept");
    return { config: network(name, { range, network_name: name }), held: () => fixture().held(`network:${name} `) };
  };

  it("what ended while no daemon was there is free, and a later sandbox of the same pod keeps its address", async () => {
    const { config, held } = networkOf("10.91.0.0/24");
    const daemonFixture = await fixture().daemon();
    for (const name of ["ended", "moved", "stays"]) await given(daemonFixture, { ...pod(name), config });
    await given(daemonFixture, { ...pod("moved", "second"), config });
    await daemonFixture.stop();
    for (const name of ["moved", "ended"]) keep(daemonFixture, pod(name), config);
    await daemonFixture.start();
    expect(left(daemonFixture)).toEqual([]);
    await expect
      .poll(held, { timeout: 40_000 })
      .toEqual(["10.91.0.2 default/moved eth0 second", "10.91.0.3 default/stays eth0 c-stays"]);
    expect(await daemonFixture.registry.metrics()).toContain('holdfast_kept_deletes_total{outcome="done"} 2');
  });

  it("the very sandbox once more: its ADD comes behind the DEL that was kept, and what it got stays", async () => {
    const { config, held } = networkOf("10.92.0.0/24");
    const daemonFixture = await fixture().daemon();
    await given(daemonFixture, { ...pod("again"), config });
    await given(daemonFixture, { ...pod("other"), config });
    keep(daemonFixture, pod("again"), config);
    keep(daemonFixture, pod("other"), config);
    const [address] = await given(daemonFixture, { ...pod("again"), config });
    expect(left(daemonFixture)).toEqual([]);
    await expect.poll(held, { timeout: 40_000 }).toHaveLength(1);
    await daemonFixture.stop();
    await daemonFixture.start();
    await expect
      .poll(() => daemonFixture.registry.metrics(), { timeout: 40_000 })
      .toContain("holdfast_releases_pending 0");
    expect(await held()).toEqual([`${address!.split("/")[0]} default/again eth0 c-again`]);
  });

  it("pods that come back in new sandboxes while their old ones are being released have the addresses they had", async () => {
    const { config, held } = networkOf("10.95.0.0/24");
    const names = Array.from({ length: 60 }, (_, index) => `back-${index}`);
    const daemonFixture = await fixture().daemon({ cooldownMs: 30_000 });
    const before = await Promise.all(
      names.map((name) => given(daemonFixture, { ...pod(name, `${name}-old`), config })),
    );
    await daemonFixture.stop();
    for (const name of names) keep(daemonFixture, pod(name, `${name}-old`), config);
    await daemonFixture.start();
    const after = await Promise.all(names.map((name) => given(daemonFixture, { ...pod(name, `${name}-new`), config })));
    expect(after).toEqual(before);
    await expect
      .poll(() => daemonFixture.registry.metrics(), { timeout: 40_000 })
      .toContain("holdfast_releases_pending 0");
    expect(await held()).toHaveLength(names.length);
  });

  it("kept while the daemon is alive but slow: done without anybody asking", async () => {
    const { config, held } = networkOf("10.93.0.0/24");
    const daemonFixture = await fixture().daemon();
    await given(daemonFixture, { ...pod("slow"), config });
    keep(daemonFixture, pod("slow"), config);
    await expect.poll(held, { timeout: 40_000 }).toEqual([]);
    expect(left(daemonFixture)).toEqual([]);
  });

  it("taken over without an API server, and done when it is back", async () => {
    const { config, held } = networkOf("10.94.0.0/24");
    let isAway = false;
    const transport: Transport = async (request) => {
      if (isAway) throw new NotSentError("the test cut the line");
      return fixture().transport(request);
    };
    const daemonFixture = await fixture().daemon({ transport });
    await given(daemonFixture, { ...pod("cut"), config });
    await daemonFixture.stop();
    isAway = true;
    keep(daemonFixture, pod("cut"), config);
    await daemonFixture.start();
    expect(left(daemonFixture)).toEqual([]);
    expect(await daemonFixture.registry.metrics()).toContain("holdfast_releases_pending 1");
    expect(await held()).toHaveLength(1);
    isAway = false;
    await expect.poll(held, { timeout: 40_000 }).toEqual([]);
  });
}
