// DELs that the plugin kept while no daemon answered: in the folder when a daemon starts, and while it runs.
import { mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, it } from "vitest";

import { NotSentError, type Transport } from "../../../src/kube/transport/transport.ts";
import type { Rig } from "../rig.ts";
import { frameOf } from "../shim.ts";
import type { GetWorld } from "../suite.ts";
import { given, network, pod } from "../world.ts";

const spoolOf = ({ folder }: Rig) => join(folder, "state", "spool");
const left = (rig: Rig) => readdirSync(spoolOf(rig));

/** As the plugin writes it. */
function keep(rig: Rig, { container, args }: { container: string; args: string }, config: object): void {
  const environment = {
    CNI_COMMAND: "DEL",
    CNI_CONTAINERID: container,
    CNI_IFNAME: "eth0",
    CNI_ARGS: args,
    CNI_PATH: "/opt/cni/bin",
  };
  const frame = frameOf(environment, JSON.stringify(config));
  const name = join(spoolOf(rig), `${Date.now()}-${container}`);
  mkdirSync(spoolOf(rig), { recursive: true });
  writeFileSync(`${name}.new`, frame, { mode: 0o600 });
  renameSync(`${name}.new`, `${name}.del`);
}

export function keptStories(world: GetWorld): void {
  const networkOf = (range: string) => {
    const name = world().fresh("kept");
    return { config: network(name, { range, network_name: name }), held: () => world().held(`network:${name} `) };
  };

  it("what ended while no daemon was there is free, and a later sandbox of the same pod keeps its address", async () => {
    const { config, held } = networkOf("10.91.0.0/24");
    const rig = await world().daemon();
    for (const name of ["ended", "moved", "stays"]) await given(rig, { ...pod(name), config });
    await given(rig, { ...pod("moved", "second"), config });
    await rig.stop();
    for (const name of ["moved", "ended"]) keep(rig, pod(name), config);
    await rig.start();
    expect(left(rig)).toEqual([]);
    await expect
      .poll(held, { timeout: 40_000 })
      .toEqual(["10.91.0.2 default/moved eth0 second", "10.91.0.3 default/stays eth0 c-stays"]);
    expect(await rig.registry.metrics()).toContain('holdfast_kept_deletes_total{outcome="done"} 2');
  });

  it("the very sandbox once more: its ADD comes behind the DEL that was kept, and what it got stays", async () => {
    const { config, held } = networkOf("10.92.0.0/24");
    const rig = await world().daemon();
    await given(rig, { ...pod("again"), config });
    await given(rig, { ...pod("other"), config });
    keep(rig, pod("again"), config);
    keep(rig, pod("other"), config);
    const [address] = await given(rig, { ...pod("again"), config });
    expect(left(rig)).toEqual([]);
    await expect.poll(held, { timeout: 40_000 }).toHaveLength(1);
    await rig.stop();
    await rig.start();
    await expect.poll(() => rig.registry.metrics(), { timeout: 40_000 }).toContain("holdfast_releases_pending 0");
    expect(await held()).toEqual([`${address!.split("/")[0]} default/again eth0 c-again`]);
  });

  it("pods that come back in new sandboxes while their old ones are being released have the addresses they had", async () => {
    const { config, held } = networkOf("10.95.0.0/24");
    const names = Array.from({ length: 60 }, (_, index) => `back-${index}`);
    const rig = await world().daemon({ cooldownMs: 30_000 });
    const before = await Promise.all(names.map((name) => given(rig, { ...pod(name, `${name}-old`), config })));
    await rig.stop();
    for (const name of names) keep(rig, pod(name, `${name}-old`), config);
    await rig.start();
    const after = await Promise.all(names.map((name) => given(rig, { ...pod(name, `${name}-new`), config })));
    expect(after).toEqual(before);
    await expect.poll(() => rig.registry.metrics(), { timeout: 40_000 }).toContain("holdfast_releases_pending 0");
    expect(await held()).toHaveLength(names.length);
  });

  it("kept while the daemon is alive but slow: done without anybody asking", async () => {
    const { config, held } = networkOf("10.93.0.0/24");
    const rig = await world().daemon();
    await given(rig, { ...pod("slow"), config });
    keep(rig, pod("slow"), config);
    await expect.poll(held, { timeout: 40_000 }).toEqual([]);
    expect(left(rig)).toEqual([]);
  });

  it("taken over without an API server, and done when it is back", async () => {
    const { config, held } = networkOf("10.94.0.0/24");
    let isAway = false;
    const transport: Transport = async (request) => {
      if (isAway) throw new NotSentError("the test cut the line");
      return world().transport(request);
    };
    const rig = await world().daemon({ transport });
    await given(rig, { ...pod("cut"), config });
    await rig.stop();
    isAway = true;
    keep(rig, pod("cut"), config);
    await rig.start();
    expect(left(rig)).toEqual([]);
    expect(await rig.registry.metrics()).toContain("holdfast_releases_pending 1");
    expect(await held()).toHaveLength(1);
    isAway = false;
    await expect.poll(held, { timeout: 40_000 }).toEqual([]);
  });
}
