// The file of intents: what survives, what is cut, what is joined, and that it does not grow for ever.
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { encodeLine as encodeText } from "../holds/line-file.ts";
import { type Intent, Intents } from "./intents.ts";

let folder: string;
const encodeLine = (record: object) => encodeText(JSON.stringify(record));
const path = () => join(folder, "releases.log");
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "intents-"))));
afterEach(() => rmSync(folder, { recursive: true }));

const intent = (containerId: string, more: Partial<Intent> = {}): Intent => ({
  containerId,
  interfaceName: "eth0",
  targets: [],
  pools: [],
  cooldownMs: 1000,
  sinceMs: 1,
  ...more,
});

async function reopened(): Promise<string[]> {
  const intents = await Intents.open(folder);
  await intents.close();
  return intents.all().map(({ containerId }) => containerId);
}

describe("what is added", () => {
  it("is there after a new start, until it is removed", async () => {
    const intents = await Intents.open(folder);
    await Promise.all([intents.add(intent("a")), intents.add(intent("b")), intents.add(intent("c"))]);
    await intents.remove(intent("b"));
    await intents.remove(intent("never added"));
    await intents.close();
    expect(await reopened()).toEqual(["a", "c"]);
  });

  it("is on the disk when add resolves", async () => {
    const intents = await Intents.open(folder);
    await intents.add(intent("a"));
    expect(readFileSync(path(), "utf8")).toBe(encodeLine({ op: "add", intent: intent("a") }));
    await intents.close();
  });

  it("is joined with what is known of the same sandbox", async () => {
    const intents = await Intents.open(folder);
    const target = (domain: string) =>
      ({
        namespace: "n",
        domain,
        owner: { kind: "pod", uid: "u", namespace: "n", name: "p", interface: "eth0" },
      }) as const;
    await intents.add(intent("a", { targets: [target("network:x")] }));
    await intents.add(intent("a", { targets: [target("network:x"), target("network:y")] }));
    await intents.close();
    const again = await Intents.open(folder);
    expect(again.get(intent("a"))?.targets.map(({ domain }) => domain)).toEqual(["network:x", "network:y"]);
    await again.close();
  });

  it("does not make the file grow for ever", async () => {
    const intents = await Intents.open(folder);
    await intents.add(intent("stays"));
    const churn = async (i: number) => {
      await intents.add(intent(`c${i}`));
      await intents.remove(intent(`c${i}`));
    };
    for (let i = 0; i < 1200; i++) await churn(i);
    // Written anew in the background.
    const lines = () => readFileSync(path(), "utf8").split("\n").length;
    await expect.poll(async () => (await churn(0), lines())).toBeLessThan(2000);
    await intents.add(intent("last"));
    await intents.close();
    expect(await reopened()).toEqual(["stays", "last"]);
  });
});

describe("a file that a crash left", () => {
  it("cut anywhere, it keeps every whole line, and goes on from there", async () => {
    const lines = ["a", "b", "c"].map((each) => encodeLine({ op: "add", intent: intent(each) }));
    const whole = lines.join("");
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: whole.length }), async (length) => {
        writeFileSync(path(), whole.slice(0, length));
        const left = ["a", "b", "c"].slice(0, whole.slice(0, length).split("\n").length - 1);
        const intents = await Intents.open(folder);
        await intents.add(intent("new"));
        await intents.close();
        expect(await reopened()).toEqual([...left, "new"]);
      }),
      { numRuns: 30 },
    );
  });

  it("a damaged line costs that line alone, and is counted", async () => {
    writeFileSync(path(), encodeLine({ op: "add", intent: intent("a") }).replace("eth0", "eth1"));
    appendFileSync(path(), encodeLine({ op: "add", intent: intent("b") }));
    const intents = await Intents.open(folder);
    expect([intents.damaged, intents.all().map(({ containerId }) => containerId)]).toEqual([1, ["b"]]);
    await intents.close();
  });
});

it("a folder that cannot be written is said with its remedy", async () => {
  writeFileSync(join(folder, "file"), "");
  await expect(Intents.open(join(folder, "file", "below"))).rejects.toThrow(/give another --state/);
});

describe("a disk that fails", () => {
  /** Every handle's: the prototype is shared. */
  async function handles() {
    const probe = await open(path(), "a");
    const prototype = Object.getPrototypeOf(probe) as FileHandle;
    await probe.close();
    return prototype;
  }
  afterEach(() => vi.restoreAllMocks());

  it("while a promise is withdrawn leaves it in force: it is on the disk still", async () => {
    const intents = await Intents.open(folder);
    await intents.add(intent("a"));
    vi.spyOn(await handles(), "datasync").mockRejectedValueOnce(new Error("EIO"));
    await expect(intents.remove(intent("a"))).rejects.toThrow("EIO");
    // Otherwise the next ADD of the sandbox would find nothing to withdraw, and a new start would release under it.
    expect(intents.get(intent("a"))).toBeDefined();
    await intents.remove(intent("a"));
    await intents.close();
    expect(await reopened()).toEqual([]);
  });

  it.each(["add", "remove"] as const)(
    "while others wait says the same in memory and in the file written anew: %s",
    async (op) => {
      const intents = await Intents.open(folder);
      if (op === "remove") await intents.add(intent("a"));
      const waiting: Promise<unknown>[] = [];
      vi.spyOn(await handles(), "datasync").mockImplementationOnce(async () => {
        waiting.push(intents.add(intent("b")).catch(() => {}));
        throw new Error("EIO");
      });
      await expect(intents[op](intent("a"))).rejects.toThrow("EIO");
      await Promise.all(waiting);
      await intents.add(intent("c"));
      const known = intents.all().map(({ containerId }) => containerId);
      expect(known.includes("a")).toBe(op === "remove");
      await intents.close();
      expect((await reopened()).toSorted()).toEqual(known.toSorted());
    },
  );

  it("takes back what was decided on top of it too", async () => {
    const intents = await Intents.open(folder);
    await intents.add(intent("a"));
    const waiting: Promise<unknown>[] = [];
    vi.spyOn(await handles(), "datasync").mockImplementationOnce(async () => {
      waiting.push(
        intents.add(intent("a", { cooldownMs: 7 })).then(
          () => 7,
          () => 1000,
        ),
      );
      throw new Error("EIO");
    });
    await expect(intents.remove(intent("a"))).rejects.toThrow("EIO");
    const [promised] = await Promise.all(waiting);
    expect(intents.get(intent("a"))?.cooldownMs).toBe(promised);
    await intents.add(intent("c"));
    await intents.close();
    const again = await Intents.open(folder);
    expect(again.get(intent("a"))?.cooldownMs).toBe(promised);
    await again.close();
  });

  it("in the middle of a line costs that line, not the next", async () => {
    const intents = await Intents.open(folder);
    const prototype = await handles();
    vi.spyOn(prototype, "appendFile").mockImplementationOnce(async () => {
      appendFileSync(path(), encodeLine({ op: "add", intent: intent("lost") }).slice(0, 30));
      throw new Error("ENOSPC");
    });
    await expect(intents.add(intent("lost"))).rejects.toThrow("ENOSPC");
    await intents.add(intent("promised"));
    await intents.close();
    expect(await reopened()).toEqual(["promised"]);
  });

  it("while the file is written anew does not send later promises to the old one", async () => {
    const intents = await Intents.open(folder);
    // The new file itself is synced; the folder that names it is not.
    const sync = vi.spyOn(await handles(), "sync").mockRejectedValueOnce(new Error("EIO"));
    const pairs = Array.from({ length: 1001 }, (_, index) => intent(`x${index}`));
    await Promise.all(pairs.map((each) => intents.add(each)));
    await Promise.all(pairs.map((each) => intents.remove(each)));
    await vi.waitFor(() => expect(sync).toHaveBeenCalled());
    await intents.add(intent("promised"));
    await intents.close();
    expect(await reopened()).toEqual(["promised"]);
  });

  it("and garbles bytes does not move the place where the torn end is cut", async () => {
    const line = Buffer.from(encodeLine({ op: "add", intent: intent("garbled") }));
    line.fill(0xff, 20, 30);
    writeFileSync(
      path(),
      Buffer.concat([line, Buffer.from(encodeLine({ op: "add", intent: intent("a") })), line.subarray(0, 40)]),
    );
    const intents = await Intents.open(folder);
    await intents.add(intent("b"));
    await intents.close();
    expect(await reopened()).toEqual(["a", "b"]);
  });
});
