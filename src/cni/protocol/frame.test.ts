// Frames: they survive any cut of the socket's chunks; a frame that is too long, foreign or unfinished is refused.
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { requestFrame } from "../shim/wire.ts";
import { encodeReply, FrameError, type Request, RequestReader } from "./frame.ts";
import { environmentLimitBytes, passedVariables, stdinLimitBytes, stdoutLimitBytes } from "./limits.ts";

const utf8 = new TextEncoder();
const text = (words: string) => Uint8Array.from(utf8.encode(words));

const value = fc
  .string({ unit: "binary", maxLength: 40 })
  .filter((words) => words.isWellFormed() && !words.includes("\0"));
const request: fc.Arbitrary<Request> = fc.record({
  environment: fc.dictionary(fc.constantFrom(...passedVariables), value, { noNullPrototype: true }),
  stdin: fc.uint8Array({ maxLength: 200 }),
});

function frameOf({ environment, stdin }: Request): Uint8Array {
  const variables = Object.entries(environment).map(([key, words]) => `${key}=${words}\0`);
  return requestFrame(text(variables.join("")), stdin);
}

/** Pushes the frame in pieces that end at the cuts. All but the last piece must give nothing. */
function inPieces(reader: RequestReader, frame: Uint8Array, cuts: readonly number[]): Request | undefined {
  let from = 0;
  for (const cut of cuts.toSorted((one, other) => one - other)) {
    if (cut >= frame.length) break;
    expect(reader.push(frame.subarray(from, cut))).toBeUndefined();
    from = cut;
  }
  return reader.push(frame.subarray(from));
}

function failure(act: () => unknown): FrameError | undefined {
  try {
    act();
  } catch (error) {
    if (error instanceof FrameError) return error;
    throw error;
  }
  return undefined;
}

const small = { environment: { CNI_COMMAND: "ADD", CNI_ARGS: "K8S_POD_NAME=ä=b" }, stdin: text('{"name":"a"}') };

describe("round trips", () => {
  test("a request, cut anywhere any number of times", () => {
    fc.assert(
      fc.property(request, fc.array(fc.nat(600)), (given, cuts) => {
        expect(inPieces(new RequestReader(), frameOf(given), cuts)).toEqual(given);
      }),
    );
  });

  test("at every single cut, and byte by byte", () => {
    const frame = frameOf(small);
    for (let cut = 0; cut < frame.length; cut++) {
      expect(inPieces(new RequestReader(), frame, [cut])).toEqual(small);
    }
    expect(inPieces(new RequestReader(), frame, [...frame.keys()])).toEqual(small);
  });

  test.each([
    ["Uint8Array", (bytes: Uint8Array) => bytes.slice()],
    ["Buffer", (bytes: Uint8Array) => Buffer.from(bytes)],
  ])("a chunk may be overwritten after it was pushed, as %s", (_, chunkOf) => {
    const frame = frameOf(small);
    const reader = new RequestReader();
    const chunk = chunkOf(frame.subarray(0, 14));
    reader.push(chunk);
    chunk.fill(0xff);
    expect(reader.push(chunkOf(frame.subarray(14)))).toEqual(small);
  });

  test("the limits themselves are within", () => {
    const overhead = "CNI_ARGS=\0".length;
    const given = {
      environment: { CNI_ARGS: "x".repeat(environmentLimitBytes - overhead) },
      stdin: new Uint8Array(stdinLimitBytes),
    };
    const read = new RequestReader().push(frameOf(given));
    expect(read?.environment).toEqual(given.environment);
    expect(read?.stdin.length).toBe(stdinLimitBytes);
  });
});

test("a reply stays as it is, byte for byte: a shim of an older release must understand it", () => {
  expect(encodeReply({ exitStatus: 7, stdout: text("{}\n") })).toEqual(text("HFR\x01\0\0\0\x03\x07{}\n"));
});

describe("what is refused", () => {
  const requestOf = (bytes: string) => () =>
    new RequestReader().push(Uint8Array.from(bytes, (letter) => letter.charCodeAt(0)));

  test.each([
    ["another protocol, at its first byte", "G", "bad-magic", /first bytes are 47\./],
    ["a reply in place of a request", "HFR\x01", "bad-magic", /48 46 52 01/],
    ["another version", "HFQ\x02", "bad-version", /version 2, this side speaks 1.*cni install/],
    [
      "an environment that is announced too long",
      "HFQ\x01\0\x01\0\x01\0\0\0\0",
      "too-large",
      /environment has 65537 bytes; at most 65536/,
    ],
    ["stdin that is announced too long", "HFQ\x01\0\0\0\0\xff\xff\xff\xff", "too-large", /stdin has 4294967295 bytes/],
    ["bytes behind the end", "HFQ\x01\0\0\0\0\0\0\0\x01{}", "trailing-bytes", /1 bytes follow the request/],
    ["a variable without an end", "HFQ\x01\0\0\0\x03\0\0\0\0A=1", "bad-environment", /not ended/],
    ["a variable without a value sign", "HFQ\x01\0\0\0\x02\0\0\0\0A\0", "bad-environment", /"" is no name/],
    ["a variable twice", "HFQ\x01\0\0\0\x06\0\0\0\0A=\0A=\0", "bad-environment", /A is there twice/],
    ["a name that is none", "HFQ\x01\0\0\0\x05\0\0\0\0a b=\0", "bad-environment", /"a b"/],
    ["bytes that are not UTF-8", "HFQ\x01\0\0\0\x04\0\0\0\0A=\xff\0", "bad-environment", /not UTF-8/],
    ["33 variables", `HFQ\x01\0\0\0\x42\0\0\0\0${"A\0".repeat(33)}`, "bad-environment", /33 variables/],
  ])("%s", (_, bytes, code, message) => {
    const error = failure(requestOf(bytes));
    expect(error?.code).toBe(code);
    expect(error?.message).toMatch(message);
  });

  test("a push after the end", () => {
    const reader = new RequestReader();
    reader.push(frameOf(small));
    expect(failure(() => reader.push(text("x")))?.code).toBe("trailing-bytes");
  });

  test("an end at every place before the end, and none at it", () => {
    const frame = frameOf(small);
    for (let cut = 0; cut <= frame.length; cut++) {
      const reader = new RequestReader();
      reader.push(frame.subarray(0, cut));
      expect(failure(() => reader.end())?.code).toBe(cut === frame.length ? undefined : "truncated");
    }
  });

  test("what cannot be answered", () => {
    expect(failure(() => encodeReply({ exitStatus: 0, stdout: new Uint8Array(stdoutLimitBytes + 1) }))?.code).toBe(
      "too-large",
    );
    for (const exitStatus of [-1, 256, 0.5]) {
      expect(failure(() => encodeReply({ exitStatus, stdout: new Uint8Array() }))?.code).toBe("bad-status");
    }
  });

  test("any bytes: a frame, a FrameError or nothing yet, and never more", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        failure(() => new RequestReader().push(bytes));
      }),
    );
  });
});
