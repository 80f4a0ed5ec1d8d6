// The shim's own codec against the contract: frame.ts reads what it writes, and it reads what frame.ts writes.
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { encodeReply, RequestReader } from "../protocol/frame.ts";
import { passedVariables, stdoutLimitBytes } from "../protocol/limits.ts";
import { callOf } from "./call.ts";
import { ReplyBuffer, requestFrame } from "./wire.ts";

const value = fc
  .string({ unit: "binary", minLength: 1, maxLength: 40 })
  .filter((words) => words.isWellFormed() && !words.includes("\0"));

test("a request stays as it is, byte for byte: a daemon of an older release must understand it", () => {
  const utf8 = new TextEncoder();
  const frame = requestFrame(utf8.encode("CNI_COMMAND=ADD\0"), utf8.encode("{}"));
  expect(frame).toEqual(Uint8Array.from(utf8.encode("HFQ\x01\0\0\0\x10\0\0\0\x02CNI_COMMAND=ADD\0{}")));
});

test("a request of the plugin is read by the daemon", () => {
  fc.assert(
    fc.property(
      fc.record(Object.fromEntries(passedVariables.map((name) => [name, value])), { requiredKeys: [] }),
      fc.uint8Array({ maxLength: 70_000 }),
      (environment: Record<string, string | undefined>, stdin) => {
        const call = callOf(
          (name) => environment[name] ?? "",
          () => "",
        );
        const inOrder: Record<string, string> = {};
        for (const name of passedVariables) if (environment[name] !== undefined) inOrder[name] = environment[name];
        expect(new RequestReader().push(requestFrame(call.variables, stdin))).toEqual({ environment: inOrder, stdin });
      },
    ),
  );
});

describe("a reply", () => {
  test("of the contract is read, cut anywhere", () => {
    const reply = fc.record({
      exitStatus: fc.integer({ min: 0, max: 255 }),
      stdout: fc.uint8Array({ maxLength: 300 }).map((bytes) => Uint8Array.from(bytes)),
    });
    fc.assert(
      fc.property(reply, fc.array(fc.nat(320)), (given, cuts) => {
        const frame = encodeReply(given);
        const buffer = new ReplyBuffer();
        let from = 0;
        for (const cut of [...cuts.filter((place) => place < frame.length).toSorted((a, b) => a - b), frame.length]) {
          expect(buffer.complete).toBe(false);
          buffer.push(frame.subarray(from, cut));
          from = cut;
        }
        expect(buffer).toMatchObject({ complete: true, problem: "", ...given });
      }),
    );
  });

  test("of the largest length is read", () => {
    const buffer = new ReplyBuffer();
    buffer.push(encodeReply({ exitStatus: 0, stdout: new Uint8Array(stdoutLimitBytes) }));
    expect(buffer.complete).toBe(true);
  });

  test.each([
    ["another protocol", "HTTP/1.1 400 Bad", /does not speak/],
    ["a request", "HFQ\x01\0\0\0\0\0", /does not speak/],
    ["another version", "HFR\x02\0\0\0\0\0", /version 2 of the protocol, this plugin 1: run `holdfast cni install`/],
    ["a length beyond the limit", "HFR\x01\0\x10\0\x01\0", /1048577 bytes; at most 1048576/],
    ["bytes behind the end", "HFR\x01\0\0\0\x01\0{}", /more follows/],
  ])("that is %s is refused", (_, text, words) => {
    const buffer = new ReplyBuffer();
    buffer.push(Uint8Array.from(text, (letter) => letter.charCodeAt(0)));
    expect(buffer.complete).toBe(false);
    expect(buffer.problem).toMatch(words);
  });
});
