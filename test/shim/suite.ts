// What every build of the shim must do. Its parts are in cases/; native.test.ts and fallback.test.ts run them all.
import { beforeAll, describe } from "vitest";

import { coldBuildTimeoutMs, ensureShim } from "../../tools/shim/ensure.ts";
import { answers } from "./cases/answers.ts";
import { crowds } from "./cases/crowds.ts";
import { losses } from "./cases/losses.ts";
import { places } from "./cases/places.ts";
import { signals } from "./cases/signals.ts";
import { spools } from "./cases/spools.ts";
import { withoutDaemon } from "./cases/without-daemon.ts";

export interface Subject {
  /** The executable. */
  path: string;
  /** How many at once: a Node takes 45 MB, so that 200 of them would take 9 GB. */
  readonly crowd: number;
}

export function shimSuite(name: string, { native, crowd }: { native: boolean; crowd: number }): void {
  describe(`the shim, ${name}`, () => {
    const subject: Subject = { path: "", crowd };
    beforeAll(async () => {
      subject.path = (await ensureShim({ native })).path;
    }, coldBuildTimeoutMs);
    describe("answers", () => {
      answers(subject);
    });
    describe("without a daemon", () => {
      withoutDaemon(subject);
    });
    describe("when the daemon fails", () => {
      losses(subject);
    });
    describe("a DEL that no daemon does", () => {
      spools(subject);
    });
    describe("stopped, continued, killed", () => {
      signals(subject);
    });
    describe("its name and its socket", () => {
      places(subject);
    });
    describe("many at once", () => {
      crowds(subject);
    });
  });
}
