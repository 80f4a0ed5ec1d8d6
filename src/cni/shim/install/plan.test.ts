// What an installation does to a disk, on a disk that is a map.
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { type FoundFile, planInstall, type Role, type Step, type WantedFile, type Wish } from "./plan.ts";

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();
const bytes = (words: string) => new TextEncoder().encode(words);
const ours = (release: string) => `plugin HOLDFAST_SOCKET ${release}`;

/** Key: path. */
type Memory = Map<string, FoundFile>;

const disk = (files: Readonly<Record<string, string>>): Memory =>
  new Map(Object.entries(files).map(([path, words]) => [path, { content: bytes(words), mode: 0o755 }]));
const contents = (memory: Memory) =>
  Object.fromEntries([...memory].map(([path, { content }]) => [path, text(content)]));
const wanted = (path: string, role: Role, words: string): WantedFile => ({
  path,
  role,
  content: bytes(words),
  mode: 0o755,
});
const wish = (files: WantedFile[], more: Partial<Wish> = {}): Wish => ({ files, gone: [], force: false, ...more });

function perform(memory: Memory, steps: readonly Step[]): void {
  for (const step of steps) {
    if (step.kind === "write") memory.set(step.file.path, step.file);
    else if (step.kind === "remove") memory.delete(step.path);
    else if (step.kind === "backup") {
      expect(memory.has(step.to)).toBe(false);
      memory.set(step.to, memory.get(step.path)!);
    }
  }
}

function installed(memory: Memory, given: Wish): Record<string, string> {
  perform(
    memory,
    planInstall(given, (path) => memory.get(path)),
  );
  return contents(memory);
}

describe("one file", () => {
  test.each<[string, Role, string | undefined, string]>([
    ["an empty place", "plugin", undefined, "write"],
    ["what is current", "plugin", ours("2"), "keep"],
    ["an earlier release", "plugin", ours("1"), "write"],
    ["another's plugin", "plugin", "ELF whereabouts", "refuse"],
    ["our own file, changed", "own", "x", "write"],
    ["a configuration, changed", "config", "x", "refuse"],
    ["a configuration that mentions us", "config", ours("1"), "refuse"],
    ["a default, changed", "default", "x", "keep"],
    ["a default that is not there", "default", undefined, "write"],
  ])("at %s (%s)", (_, role, there, expected) => {
    const memory = disk(there === undefined ? {} : { "/bin/x": there });
    const plan = () => planInstall(wish([wanted("/bin/x", role, ours("2"))]), (path) => memory.get(path));
    if (expected === "refuse") expect(plan).toThrow(/\/bin\/x is not Holdfast's: nothing was changed\. Give --force/);
    else expect(plan().map(({ kind }) => kind)).toEqual([expected]);
  });

  test("with another mode is written again", () => {
    const memory: Memory = new Map([["/bin/x", { content: bytes("anything"), mode: 0o644 }]]);
    const steps = planInstall(wish([wanted("/bin/x", "config", "anything")]), (path) => memory.get(path));
    expect(steps.map(({ kind }) => kind)).toEqual(["write"]);
  });
});

test("everything that stands in the way is named at once", () => {
  const memory = disk({ "/bin/a": "a", "/bin/b": "b" });
  const files = ["/bin/a", "/bin/b", "/bin/c"].map((path) => wanted(path, "plugin", ours("1")));
  expect(() => planInstall(wish(files), (path) => memory.get(path))).toThrow("/bin/a, /bin/b are not Holdfast's");
});

test("a forced replacement keeps what was there, also when another installer comes back", () => {
  const memory = disk({ "/bin/w": "upstream 1" });
  const force = wish([wanted("/bin/w", "plugin", ours("1"))], { force: true });
  expect(installed(memory, force)).toEqual({ "/bin/w": ours("1"), "/bin/w.before-holdfast": "upstream 1" });
  memory.set("/bin/w", { content: bytes("upstream 1"), mode: 0o755 });
  expect(installed(memory, force)).toEqual({ "/bin/w": ours("1"), "/bin/w.before-holdfast": "upstream 1" });
  memory.set("/bin/w", { content: bytes("upstream 2"), mode: 0o755 });
  expect(installed(memory, force)).toEqual({
    "/bin/w": ours("1"),
    "/bin/w.before-holdfast": "upstream 1",
    "/bin/w.before-holdfast.1": "upstream 2",
  });
});

test("two installers that fight are told of it", () => {
  const memory = disk({ "/w": "new" });
  for (let number = 0; number < 10; number++) {
    memory.set(`/w.before-holdfast${number === 0 ? "" : `.${number}`}`, { content: bytes(String(number)), mode: 0 });
  }
  const force = wish([wanted("/w", "plugin", ours("1"))], { force: true });
  expect(() => planInstall(force, (path) => memory.get(path))).toThrow(/10 different backups/);
});

test("what is to be gone is removed where it is there", () => {
  const memory = disk({ "/bin/holdfast.socket": "/run/x" });
  const given = wish([], { gone: ["/bin/holdfast.socket", "/bin/nothing"] });
  expect(installed(memory, given)).toEqual({});
});

test("on any disk: all is there afterwards, nothing of another's is lost, and the second time changes nothing", () => {
  const path = fc.constantFrom("/a", "/b", "/c", "/a.before-holdfast");
  const words = fc.constantFrom("x", "y", ours("1"), ours("2"));
  const file = fc.record({ path, role: fc.constantFrom<Role>("plugin", "config", "own"), words });
  fc.assert(
    fc.property(
      fc.dictionary(path, words),
      fc.uniqueArray(file, { selector: (each) => each.path }),
      fc.boolean(),
      (before, files, force) => {
        fc.pre(!files.some((each) => each.path.endsWith(".before-holdfast")));
        const memory = disk(before);
        const given = wish(
          files.map((each) => wanted(each.path, each.role, each.words)),
          { force },
        );
        let after: Record<string, string>;
        try {
          after = installed(memory, given);
        } catch {
          expect(force).toBe(false);
          expect(contents(memory)).toEqual(before);
          return;
        }
        for (const each of files) expect(after[each.path]).toBe(each.words);
        for (const each of files) {
          const lost = before[each.path];
          const mayGo =
            lost === undefined || each.role === "own" || (each.role === "plugin" && lost.includes("HOLDFAST"));
          if (!mayGo) expect(Object.values(after)).toContain(lost);
        }
        expect(planInstall(given, (each) => memory.get(each)).every(({ kind }) => kind === "keep")).toBe(true);
      },
    ),
  );
});
