// When the API server's history counts as cut, and what follows.
import { beforeEach, expect, it } from "vitest";

import { ManualClock } from "../../kube/testing/manual-clock.ts";
import { silent } from "../../log/log.ts";
import { History, type HistoryOptions, probedKind, type SeenVersions } from "./server-history.ts";

const never = new AbortController().signal;
let clock: ManualClock;
let noted: SeenVersions[];
let restores: number;
let answers: (string | Error)[];
beforeEach(() => {
  [clock, noted, restores, answers] = [new ManualClock(), [], 0, []];
});

const open = (more: Partial<HistoryOptions> = {}) =>
  new History({
    clock,
    log: silent,
    seen: {},
    note: async (seen) => void noted.push(seen),
    probe: async () => {
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return { version: answer, isLost: answer === "lost" };
    },
    daemons: () => 0,
    onRestore: () => (restores += 1),
    ...more,
  });

/** For who asks one after the other. */
const saw = (history: History, kind: string, version: string | undefined) => history.expect(kind)(version);

const whole = async (history: History) => {
  await history.assure(never);
  history.assertSettled();
};

it.each<[string, (string | undefined)[], number]>([
  ["that goes on", ["5", "5", "6", "900"], 0],
  ["that went back", ["5", "900", "899"], 1],
  ["that went back once, and went on from there", ["900", "10", "11", "12"], 1],
  ["that was restored with --bump-revision", ["900", "1000000950"], 1],
  ["without numbers: nobody can compare them", ["5", "abc", undefined, "6"], 0],
])("a history %s", (_, versions, cuts) => {
  const history = open();
  for (const version of versions) saw(history, "Pod", version);
  expect(restores).toBe(cuts);
});

it("what comes from a cache after a list of the server itself is no restore, however old it is", () => {
  const history = open();
  saw(history, "ConfigMap", "900");
  history.reached("ConfigMap", "850");
  saw(history, "ConfigMap", "900");
  expect(restores).toBe(0);
});

it("who was away asks the server first", async () => {
  expect(open().isDoubted, "who knows nothing has nothing to compare").toBe(false);
  const history = open({ seen: { [probedKind]: 900 } });
  answers = ["899"];
  await expect(whole(history)).rejects.toMatchObject({ code: 11 });
  expect(restores).toBe(1);
});

it("kinds are compared with themselves alone: they may be in several etcds", () => {
  const history = open();
  saw(history, "Pod", "900");
  saw(history, "Lease", "5");
  expect(restores).toBe(0);
});

it("answers that overtake each other are no restore", () => {
  const history = open();
  saw(history, "Hold", "5");
  const [first, second] = [history.expect("Hold"), history.expect("Hold")];
  second("7");
  first("6");
  expect(restores).toBe(0);
  // Nor is one restore two, for a call that began before it was noticed.
  const [one, two] = [history.expect("Hold"), history.expect("Hold")];
  one("3");
  two("2");
  expect(restores).toBe(1);
});

it("after a restore nothing is handed out until the others had their time", async () => {
  const history = open({ seen: { Pod: 900 }, daemons: () => 1000 });
  await whole(history);
  saw(history, "Pod", "10");
  await expect(whole(history)).rejects.toMatchObject({
    code: 11,
    message: expect.stringContaining("80 s") as string,
  });
  await history.keep();
  expect(noted, "a daemon that is restarted meanwhile notices it again").toEqual([]);
  await clock.advance(80_000);
  await whole(history);
  saw(history, "Pod", "12");
  await history.keep();
  expect(noted.at(-1)).toEqual({ Pod: 12 });
});

it("who lost the connection asks the server first, all together once, and again where it does not answer", async () => {
  const history = open({ seen: { [probedKind]: 900 } });
  const lose = () => {
    history.watching("Pod", "early");
    history.watching("Pod", "open");
  };
  lose();
  answers = [new Error("refused"), "901"];
  await expect(whole(history)).rejects.toThrow("refused");
  await Promise.all([whole(history), whole(history)]);
  expect([history.isDoubted, answers]).toEqual([false, []]);
  for (const [index, answer] of ["20", "lost"].entries()) {
    lose();
    answers = [answer];
    await expect(whole(history)).rejects.toMatchObject({ code: 11 });
    expect(restores).toBe(index + 1);
  }
});

it("while a watch is not open every answer is asked for anew; one that ended in its time is believed when it is open again", async () => {
  const history = open({ seen: { [probedKind]: 900 } });
  history.watching("Pod", "closed");
  answers = ["901", "902"];
  await whole(history);
  await whole(history);
  history.watching("Pod", "open");
  await whole(history);
  expect([history.isDoubted, answers]).toEqual([false, []]);
});

it("what was seen is written down once a minute, while it lasts", async () => {
  const history = open();
  saw(history, "Pod", "5");
  saw(history, "Pod", "6");
  await clock.advance(61_000);
  saw(history, "Pod", "7");
  saw(history, "Pod", "8");
  expect(noted).toEqual([{ Pod: 7 }]);
});
