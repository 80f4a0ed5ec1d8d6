// Which files a configuration_path may reach, and what an error says of them. On a real disk.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeEach, describe, expect, it } from "vitest";

import { CniError } from "../../cni/error.ts";
import { maxConfigBytes } from "../../cni/json.ts";
import { silent } from "../../log/log.ts";
import { configLoader } from "./configurations.ts";
import { type Disk, flatFiles, realDisk } from "./flat-file.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-flat-")));
const allowed = join(root, "net.d");
const elsewhere = join(root, "elsewhere");
afterAll(() => rmSync(root, { recursive: true }));

beforeEach(() => {
  rmSync(root, { recursive: true });
  for (const folder of [join(allowed, "sub"), elsewhere]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(elsewhere, "secret"), "hunter2");
});

const read = (path: string) => realDisk.read(path, [allowed], 1000);
const textOf = async (path: string) => new TextDecoder().decode(await read(path));

describe("the disk", () => {
  it("reads a file below the folder, by a link that stays inside too, and through a folder that is a link itself", async () => {
    writeFileSync(join(allowed, "sub", "a"), "1");
    symlinkSync("sub/a", join(allowed, "inside"));
    symlinkSync(allowed, join(root, "alias"));
    expect([await textOf(join(allowed, "sub", "a")), await textOf(join(allowed, "inside"))]).toEqual(["1", "1"]);
    const aliased = await realDisk.read(join(root, "alias", "sub", "a"), [join(root, "alias")], 1000);
    expect(aliased).toEqual(new TextEncoder().encode("1"));
  });

  it("does not follow a link out of it, of a file or of a folder", async () => {
    symlinkSync(join(elsewhere, "secret"), join(allowed, "out"));
    symlinkSync(elsewhere, join(allowed, "outside"));
    for (const path of ["out", "outside/secret", "sub/../../elsewhere/secret"]) {
      await expect(read(join(allowed, path))).rejects.toThrow("leads out of the folder");
    }
  });

  it("reads nothing that is no file: a folder, a pipe without a writer, what is not there", async () => {
    execFileSync("mkfifo", [join(allowed, "pipe")]);
    for (const name of ["sub", "pipe", "nothing", "nothing/below"])
      expect(await read(join(allowed, name))).toBeUndefined();
  });

  it("reads no more than the limit, also of a file whose size says nothing", async () => {
    writeFileSync(join(allowed, "long"), "x".repeat(5000));
    expect(await read(join(allowed, "long"))).toHaveLength(1000);
    // A file of 128 TiB, as its reader sees it, and of 0 bytes, as stat does.
    expect(await realDisk.read("/proc/self/pagemap", ["/proc"], 1000)).toHaveLength(1000);
  });
});

describe("a network's configuration_path", () => {
  const loader = (disk: Disk = realDisk, now = () => 0) => {
    const load = configLoader(flatFiles({ disk, folders: [allowed], now }), silent);
    return async (path: string) => {
      const ipam = { type: "holdfast", configuration_path: path, range: "10.0.0.0/24" };
      const { config } = await load(JSON.stringify({ cniVersion: "1.0.0", name: "t", type: "macvlan", ipam }));
      return config;
    };
  };
  const failure = (path: string) =>
    loader()(path).then(
      () => undefined,
      (error: unknown) => error as CniError,
    );

  it("fills what is missing", async () => {
    writeFileSync(join(allowed, "a.conf"), JSON.stringify({ range: "10.9.0.0/24", sticky: "statefulset" }));
    expect(await loader()(join(allowed, "a.conf"))).toMatchObject({ sticky: "statefulset" });
    expect(await loader()(join(allowed, "not-there.conf"))).toMatchObject({ sticky: "none" });
  });

  it.each([["/proc/self/pagemap"], ["/etc/shadow"], ["relative"], ["../x"], ["/"], ["/dev/zero"]])(
    "names no file elsewhere: %s",
    async (path) => {
      const error = await failure(path);
      expect(error).toBeInstanceOf(CniError);
      expect(error).toMatchObject({ code: 7 });
      expect(error!.message).toContain("--configuration-folders");
    },
  );

  it("that climbs, or is a link, is no way out", async () => {
    symlinkSync(join(elsewhere, "secret"), join(allowed, "out"));
    expect(await failure(`${allowed}/../elsewhere/secret`)).toMatchObject({ code: 7 });
    expect(await failure(`${allowed}-other/secret`)).toMatchObject({ code: 7 });
    expect(await failure(join(allowed, "out"))).toMatchObject({ code: 5 });
  });

  it("says nothing of what the file has", async () => {
    writeFileSync(join(allowed, "text"), "hunter2 is the password");
    writeFileSync(join(allowed, "json"), JSON.stringify({ hunter2: "hunter2", gateway: "hunter2" }));
    writeFileSync(join(allowed, "large"), `"hunter2${"x".repeat(maxConfigBytes)}"`);
    for (const [name, code] of [
      ["text", 6],
      ["json", 7],
      ["large", 5],
    ] as const) {
      const error = await failure(join(allowed, name));
      expect(error).toMatchObject({ code });
      expect(`${error!.message} ${JSON.stringify(error!.problems)} ${String(error!.cause)}`).not.toContain("hunter2");
    }
  });

  it("is looked at once in a second, by all who ask meanwhile", async () => {
    let now = 0;
    const reads: string[] = [];
    const disk: Disk = {
      read: async (path) => {
        reads.push(path);
        return new TextEncoder().encode(JSON.stringify({ sticky: now < 1000 ? "none" : "statefulset" }));
      },
    };
    const load = loader(disk, () => now);
    const path = join(allowed, "a.conf");
    const first = await Promise.all([load(path), load(path), load(path)]);
    expect([first.map(({ sticky }) => sticky), reads]).toEqual([["none", "none", "none"], [path]]);
    now = 999;
    expect((await load(path)).sticky).toBe("none");
    now = 1000;
    expect((await load(path)).sticky).toBe("statefulset");
    expect(reads).toHaveLength(2);
  });
});
