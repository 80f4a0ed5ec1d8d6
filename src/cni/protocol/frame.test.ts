// Frames: what goes in comes out, however the socket cuts it; and nothing that is too long, foreign or unfinished is taken.
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { FrameError } from "./frame-error.ts";
import { encodeReply, encodeRequest, ReplyReader, RequestReader, type Reply, type Request } from "./frame.ts";
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
const reply: fc.Arbitrary<Reply> = fc.record({
  exitStatus: fc.integer({ min: 0, max: 255 }),
  stdout: fc.uint8Array({ maxLength: 200 }),
});

/** Pushes the frame in pieces that end at the cuts. All but the last piece must give nothing. */
function inPieces<Frame>(
  reader: { push(chunk: Uint8Array): Frame | undefined },
  frame: Uint8Array,
  cuts: readonly number[],
): Frame | undefined {
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

describe("round trips", () => {
  test("a request, cut anywhere any number of times", () => {
    fc.assert(
      fc.property(request, fc.array(fc.nat(600)), (given, cuts) => {
        expect(inPieces(new RequestReader(), encodeRequest(given), cuts)).toEqual(given);
      }),
    );
  });

  test("a reply, cut anywhere any number of times", () => {
    fc.assert(
      fc.property(reply, fc.array(fc.nat(300)), (given, cuts) => {
        expect(inPieces(new ReplyReader(), encodeReply(given), cuts)).toEqual(given);
      }),
    );
  });

  test("at every single cut, and byte by byte", () => {
    const given = { environment: { CNI_COMMAND: "ADD", CNI_ARGS: "K8S_POD_NAME=ä=b" }, stdin: text('{"name":"a"}') };
    const frame = encodeRequest(given);
    for (let cut = 0; cut < frame.length; cut++) {
      expect(inPieces(new RequestReader(), frame, [cut])).toEqual(given);
    }
    expect(inPieces(new RequestReader(), frame, [...frame.keys()])).toEqual(given);
  });

  test.each([
    ["Uint8Array", (bytes: Uint8Array) => bytes.slice()],
    ["Buffer", (bytes: Uint8Array) => Buffer.from(bytes)],
  ])("a chunk may be overwritten after it was pushed, as %s", (_, chunkOf) => {
    const given = { exitStatus: 0, stdout: text("{}") };
    const frame = encodeReply(given);
    const reader = new ReplyReader();
    const chunk = chunkOf(frame.subarray(0, 10));
    reader.push(chunk);
    chunk.fill(0xff);
    expect(reader.push(chunkOf(frame.subarray(10)))).toEqual(given);
  });

  test("the limits themselves are within", () => {
    const overhead = "CNI_ARGS=\0".length;
    const given = {
      environment: { CNI_ARGS: "x".repeat(environmentLimitBytes - overhead) },
      stdin: new Uint8Array(stdinLimitBytes),
    };
    const read = new RequestReader().push(encodeRequest(given));
    expect(read?.environment).toEqual(given.environment);
    expect(read?.stdin.length).toBe(stdinLimitBytes);
    expect(
      new ReplyReader().push(encodeReply({ exitStatus: 1, stdout: new Uint8Array(stdoutLimitBytes) }))?.stdout.length,
    ).toBe(stdoutLimitBytes);
  });
});

describe("bytes on the wire", () => {
  test("stay as they are: a shim of an older release must be understood", () => {
    expect(encodeRequest({ environment: { CNI_COMMAND: "ADD" }, stdin: text("{}") })).toEqual(
      text("HFQ\x01\0\0\0\x10\0\0\0\x02CNI_COMMAND=ADD\0{}"),
    );
    expect(encodeReply({ exitStatus: 7, stdout: text("{}\n") })).toEqual(text("HFR\x01\0\0\0\x03\x07{}\n"));
  });
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
    const reader = new ReplyReader();
    reader.push(encodeReply({ exitStatus: 0, stdout: text("{}") }));
    expect(failure(() => reader.push(text("x")))?.code).toBe("trailing-bytes");
  });

  test("an end at every place before the end, and none at it", () => {
    const frame = encodeReply({ exitStatus: 0, stdout: text("{}") });
    for (let cut = 0; cut <= frame.length; cut++) {
      const reader = new ReplyReader();
      reader.push(frame.subarray(0, cut));
      expect(failure(() => reader.end())?.code).toBe(cut === frame.length ? undefined : "truncated");
    }
  });

  test("what cannot be sent", () => {
    const none = new Uint8Array();
    expect(failure(() => encodeRequest({ environment: { CNI_ARGS: "a\0b" }, stdin: none }))?.code).toBe(
      "bad-environment",
    );
    expect(failure(() => encodeRequest({ environment: {}, stdin: new Uint8Array(stdinLimitBytes + 1) }))?.code).toBe(
      "too-large",
    );
    expect(failure(() => encodeReply({ exitStatus: 0, stdout: new Uint8Array(stdoutLimitBytes + 1) }))?.code).toBe(
      "too-large",
    );
    for (const exitStatus of [-1, 256, 0.5]) {
      expect(failure(() => encodeReply({ exitStatus, stdout: none }))?.code).toBe("bad-status");
    }
  });

  test("any bytes: a frame, a FrameError or nothing yet, and never more", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        failure(() => new RequestReader().push(bytes));
        failure(() => new ReplyReader().push(bytes));
      }),
    );
  });
});
