// What the shim says by itself is what the rest of the system would say.
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { errorCodes } from "../error.ts";
import { deleteWaitMs, environmentLimitBytes, replyWaitMs, stdinLimitBytes } from "../protocol/limits.ts";
import { commands, specVersions, versionReply as fullReply } from "../version.ts";
import { answerWithoutDaemon, answerWithoutStdin, callOf, late, unavailable, unreachable } from "./call.ts";
import { cniVersionOf } from "./scan.ts";
import { codes, failure, type Outcome, versionReply } from "./words.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const said = (outcome: Outcome | undefined): unknown => JSON.parse(new TextDecoder().decode(outcome?.stdout));
const callWith = (environment: Record<string, string>, beside = "") =>
  callOf(
    (name) => environment[name] ?? "",
    (name) => (name === "holdfast.socket" ? beside : ""),
  );

test("the codes are those of error.ts", () => {
  expect(errorCodes).toMatchObject(codes);
});

describe("VERSION", () => {
  test.each([...specVersions, "0.9.9", "2.0.0", "", "x"])("asked in %j", (asked) => {
    const outcome = versionReply(bytes(JSON.stringify({ cniVersion: asked })));
    expect(said(outcome)).toEqual(fullReply(asked));
    expect(outcome.exitStatus).toBe(0);
  });

  test("asked with nothing", () => {
    expect(said(versionReply(bytes("")))).toEqual(fullReply(undefined));
  });
});

describe("the version in stdin", () => {
  test("is found wherever it stands in any JSON, and only the outermost one", () => {
    const version = fc.constantFrom(...specVersions);
    const key = fc.oneof(fc.constantFrom("cniVersion", "prevResult", 'a"b', "\\", "{"), fc.string());
    const value = fc.letrec<{ node: unknown }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 3 },
        fc.string(),
        fc.integer(),
        fc.constant(null),
        fc.array(tie("node"), { maxLength: 3 }),
        fc.dictionary(key, tie("node"), { maxKeys: 4 }),
      ),
    })).node;
    const others = fc.dictionary(
      key.filter((name) => name !== "cniVersion"),
      value,
      { maxKeys: 5 },
    );
    fc.assert(
      fc.property(
        others,
        others,
        fc.option(version, { nil: undefined }),
        fc.constantFrom(undefined, 1, "\t"),
        (before, after, given, indent) => {
          const config = { ...before, ...(given !== undefined && { cniVersion: given }), ...after };
          expect(cniVersionOf(bytes(JSON.stringify(config, undefined, indent)))).toBe(given ?? "");
        },
      ),
    );
  });

  test.each([
    ["not a string", '{"cniVersion":1.1}'],
    ["unended", '{"cniVersion":"1.1.0'],
    ["without a value", '{"cniVersion"'],
    ["not digits and dots", '{"cniVersion":"1.1.0\\",\\"code\\":0"}'],
    ["too long", `{"cniVersion":"${"1.".repeat(9)}"}`],
    ["a value in place of a key", '{"name":"cniVersion"}'],
    ["in a list", '["cniVersion", "1.0.0"]'],
    ["no JSON", "\\\\\\"],
  ])("is none where it is %s", (_, text) => {
    expect(cniVersionOf(bytes(text))).toBe("");
  });

  test("any bytes end the search", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (given) => {
        expect(cniVersionOf(given)).toMatch(/^[0-9.]{0,16}$/);
      }),
    );
  });
});

test("an error is JSON, whatever is in its sentence", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary" }).filter((words) => words.isWellFormed()),
      (msg) => {
        expect(said(failure(bytes('{"cniVersion":"0.3.1"}'), 11, msg))).toEqual({ cniVersion: "0.3.1", code: 11, msg });
      },
    ),
  );
});

describe("without a daemon", () => {
  const none = new Uint8Array(0);

  test("a person who starts it is told what it is", () => {
    const outcome = answerWithoutStdin(callWith({}));
    expect(said(outcome)).toMatchObject({
      code: 4,
      msg: expect.stringMatching(/CNI_COMMAND is missing.*container runtime/),
    });
    expect(outcome?.exitStatus).toBe(1);
  });

  test.each(commands)("%s is not answered before stdin is read", (command) => {
    expect(answerWithoutStdin(callWith({ CNI_COMMAND: command }))).toBeUndefined();
  });

  test.each([
    ["stdin over the limit", { CNI_COMMAND: "ADD" }, new Uint8Array(stdinLimitBytes + 1), 7, /more than 1048576 bytes/],
    [
      "variables over the limit",
      { CNI_COMMAND: "ADD", CNI_ARGS: "x".repeat(environmentLimitBytes) },
      none,
      4,
      /65562 bytes together/,
    ],
    [
      "a socket's path over the kernel's",
      { CNI_COMMAND: "GC", HOLDFAST_SOCKET: `/${"ä".repeat(54)}` },
      none,
      4,
      /109 bytes; the kernel takes 107/,
    ],
  ])("%s is refused", (_, environment: Record<string, string>, stdin, code, msg) => {
    expect(said(answerWithoutDaemon(callWith(environment), stdin))).toMatchObject({
      code,
      msg: expect.stringMatching(msg),
    });
  });

  test("a socket's path with a NUL in it is refused", () => {
    const call = callWith({ CNI_COMMAND: "ADD" }, "/run/a\0b");
    expect(said(answerWithoutDaemon(call, none))).toMatchObject({ code: 4, msg: expect.stringContaining("\0") });
  });

  test("what is within the limits goes to the daemon", () => {
    const call = callWith({ CNI_COMMAND: "ADD", HOLDFAST_SOCKET: `/${"a".repeat(106)}` });
    expect(answerWithoutDaemon(call, new Uint8Array(stdinLimitBytes))).toBeUndefined();
  });

  test("STATUS says that the plugin is not available, everything else to try again", () => {
    const call = (command: string) => callWith({ CNI_COMMAND: command });
    expect(said(unavailable(call("STATUS"), none, "no."))).toMatchObject({ code: 50 });
    for (const command of ["ADD", "DEL", "CHECK", "GC"]) {
      expect(said(unavailable(call(command), none, "no."))).toMatchObject({ code: 11 });
    }
  });

  test("the words name the socket, the wait and the remedy", () => {
    const call = callWith({ CNI_COMMAND: "ADD", HOLDFAST_WAIT_MS: "1500" }, "/run/x.sock\n");
    expect(unreachable(call, false)).toMatch(/no socket \/run\/x\.sock; start `holdfast node`/);
    expect(unreachable(call, true)).toMatch(/nobody listens there.*start `holdfast node`/);
    expect(late(call)).toMatch(/\/run\/x\.sock within 1500 ms/);
  });
});

describe("what is configured", () => {
  test("the socket: the variable, then the file beside, then the default", () => {
    expect(callWith({ HOLDFAST_SOCKET: "/a" }, "/b").socket).toBe("/a");
    expect(callWith({}, " /b\n").socket).toBe("/b");
    expect(callWith({}, "\n").socket).toBe("/run/holdfast/cni.sock");
  });

  test.each(["", "0", "-5", "x", "999999999", "1e99", "NaN"])("a wait of %j is the default", (text) => {
    expect(callWith({ HOLDFAST_WAIT_MS: text }).waitMs).toBe(replyWaitMs);
    expect(callWith({ HOLDFAST_WAIT_MS: text, CNI_COMMAND: "DEL" }).waitMs).toBe(deleteWaitMs);
  });

  test("the spool: the variable, then the file beside, then the default", () => {
    const spoolOf = (environment: Record<string, string>, text: string) =>
      callOf(
        (name) => environment[name] ?? "",
        (name) => (name === "holdfast.spool" ? text : ""),
      ).spool;
    expect(spoolOf({ HOLDFAST_SPOOL: "/a" }, "/b")).toBe("/a");
    expect(spoolOf({}, "/b\n")).toBe("/b");
    expect(spoolOf({}, "")).toBe("/var/lib/holdfast/spool");
  });

  test("a DEL leaves out what is too long, and keeps its sandbox: it never fails because of what it is given", () => {
    const environment = { CNI_COMMAND: "DEL", CNI_CONTAINERID: "box", CNI_ARGS: "x".repeat(environmentLimitBytes) };
    const call = callWith(environment);
    expect(new TextDecoder().decode(call.variables)).toBe("CNI_COMMAND=DEL\0CNI_CONTAINERID=box\0");
    expect(answerWithoutDaemon(call, bytes("{}"))).toBeUndefined();
  });
});
