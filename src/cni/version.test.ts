// Versions: what each allows, the reply to VERSION, and the error object in the specification's form.
import { describe, expect, it } from "vitest";

import { CniError, errorCodes, errorObject, errorOfProblems, statusError } from "./error.ts";
import { assertCheckable, atLeast, parseVersion, specVersions, versionReply } from "./version.ts";

function codeOf(run: () => unknown): number {
  try {
    run();
  } catch (error) {
    if (error instanceof CniError) return error.code;
    throw error;
  }
  return 0;
}

describe("versions", () => {
  it("reads every released one, and a missing one as the first", () => {
    expect(specVersions.map((version) => parseVersion(version))).toEqual(specVersions);
    expect([parseVersion(undefined), parseVersion(""), parseVersion(null)]).toEqual(["0.1.0", "0.1.0", "0.1.0"]);
  });

  it.each([["2.0.0"], ["1.1"], [1.1], ["v1.1.0"], ["0.3.2"]])("refuses %j with code 1, naming it", (value) => {
    expect(codeOf(() => parseVersion(value))).toBe(errorCodes.incompatibleVersion);
    expect(() => parseVersion(value)).toThrow(JSON.stringify(value));
  });

  it("orders them by number, not as text", () => {
    expect(atLeast("1.0.0", "0.4.0")).toBe(true);
    expect(atLeast("0.3.1", "0.3.0")).toBe(true);
    expect(atLeast("0.2.0", "0.3.0")).toBe(false);
  });

  it("has CHECK from 0.4.0 on", () => {
    expect(specVersions.filter((version) => codeOf(() => assertCheckable(version)) === 1)).toEqual([
      "0.1.0",
      "0.2.0",
      "0.3.0",
      "0.3.1",
    ]);
  });

  it("answers VERSION in the version asked in, or in the latest", () => {
    expect(versionReply("0.4.0")).toEqual({ cniVersion: "0.4.0", supportedVersions: specVersions });
    expect(versionReply("9.9.9").cniVersion).toBe("1.1.0");
    expect(versionReply(undefined).cniVersion).toBe("1.1.0");
  });
});

describe("errors", () => {
  it("have the specification's numbers", () => {
    expect(Object.values(errorCodes)).toEqual([1, 2, 3, 4, 5, 6, 7, 11, 50, 51, 100, 101]);
  });

  it("print one problem in msg, and several in details too", () => {
    const problem = (key: string) => ({ key, value: 1, message: `${key} is 1: no.` });
    expect(errorObject(errorOfProblems(7, "it", [problem("a")]), "1.0.0")).toEqual({
      cniVersion: "1.0.0",
      code: 7,
      msg: "it has one mistake: a is 1: no.",
    });
    expect(errorObject(errorOfProblems(7, "it", [problem("a"), problem("b")]), "0.4.0")).toEqual({
      cniVersion: "0.4.0",
      code: 7,
      msg: "it has 2 mistakes: a is 1: no. b is 1: no.",
      details: "a is 1: no.\nb is 1: no.",
    });
  });

  it("tell by STATUS whether running pods suffer", () => {
    expect(statusError([], true)).toBeUndefined();
    expect(statusError(["The daemon is starting."], false)).toMatchObject({ code: 50 });
    const limited = statusError(["A is down.", "B too."], true);
    expect(limited).toMatchObject({ code: 51, message: "no address can be given now: A is down. B too." });
  });
});
