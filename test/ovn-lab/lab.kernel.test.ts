// The lab itself: that every chassis is known where it has to be, and that nothing of it stays.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { afterEach, describe, expect, test } from "vitest";

import { chassis } from "../../src/ovn/southbound/tables.ts";
import { type OvnLabOptions, ovnLab } from "../lab/ovn/lab.ts";
import { ensureOvn, ovnVersions } from "../lab/ovn/packages.ts";
import { reap } from "../lab/reaper.ts";
import { until } from "../lab/wait.ts";
import { volume } from "../volume.ts";

const script = fileURLToPath(new URL("./lab-process.ts", import.meta.url));

/** Once per machine and version: apt brings 45 MB. */
const firstTimeMs = 15 * 60_000;

/** Programs and holders of a lab name its folder, or are named by its record; these are the programs. */
const processesOf = (folder: string) =>
  readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(folder);
    } catch {
      return false; // it has ended meanwhile
    }
  });

const recordOf = (folder: string) =>
  JSON.parse(readFileSync(`${folder}.json`, "utf8")) as { processes: { pid: number }[] };

const versions = volume(ovnVersions.slice(-1), ovnVersions);
const shapes: readonly OvnLabOptions["zones"][] = ["one", "interconnected"];

describe.each(versions)("OVN %s", (version) => {
  test.each(shapes)(
    "zones: %s. Every zone knows every node, and nothing is left",
    async (zones) => {
      await ensureOvn(version, console.error);
      const lab = await ovnLab({ nodes: 2, zones, version });
      const { folder } = lab;
      try {
        expect(lab.zones).toHaveLength(zones === "one" ? 1 : 2);
        for (const zone of lab.zones) {
          const known = [...zone.southbound.ovsdb.rows(chassis).list()].map(
            (row) => [row.name, row.other_config.get("is-remote") === "true"] as const,
          );
          const wanted = ["node1", "node2"].map((name) => [name, zones !== "one" && name !== zone.name] as const);
          expect(new Map(known)).toEqual(new Map(wanted));
        }
        expect(processesOf(folder).length).toBeGreaterThan(0);
      } finally {
        await lab.close();
      }
      expect(processesOf(folder)).toEqual([]);
      expect([folder, `${folder}.json`].filter(existsSync)).toEqual([]);
    },
    firstTimeMs,
  );
});

describe("a lab whose process is killed", () => {
  let child: ChildProcess | undefined;
  afterEach(() => void child?.kill("SIGKILL"));

  test("ends with it, and the next one removes its files", async () => {
    child = spawn(process.execPath, [script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [text] = (await once(child.stdout!, "data")) as [Buffer];
    const folder = String(text).trim();
    const { processes } = recordOf(folder);
    expect(processes.length).toBeGreaterThan(5);
    child.kill("SIGKILL");
    await once(child, "exit");
    const living = () => processes.filter(({ pid }) => existsSync(`/proc/${pid}`));
    await until(async () => living().length === 0, { what: "every process of the lab to end" });
    await reap();
    expect([folder, `${folder}.json`].filter(existsSync)).toEqual([]);
  });
});
