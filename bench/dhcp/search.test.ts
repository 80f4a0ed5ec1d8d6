// The search for the highest rate, and the reading of perfdhcp's report.
import { expect, test } from "vitest";

import { childrenCpuMs, readReport, type RunResult } from "./perfdhcp.ts";
import { highestRate } from "./search.ts";

const result = (asked: number, rate: number, dropped: number): RunResult => ({
  asked,
  rate,
  sent: asked,
  drops: dropped * asked,
  dropped,
  delaysMs: [],
  generatorCpuMs: 0,
});
const options = { startRate: 1000, rateMax: 128_000, precision: 0.05, droppedMax: 0.01 };

test.each([300, 1000, 2500, 9999, 90_000])("a server that carries %i a second is found out", async (limit) => {
  const run = async (rate: number) => (rate <= limit ? result(rate, rate, 0) : result(rate, limit, 0.2));
  const best = await highestRate({ ...options, run });
  expect(best!.rate).toBeGreaterThan(0.93 * limit);
  expect(best!.rate).toBeLessThanOrEqual(limit);
});

test("one bad moment does not count, and a load that was not there does not pass", async () => {
  let isBad = true;
  const run = async (rate: number) => {
    isBad = !isBad;
    return isBad || rate > 4000 ? result(rate, 0.5 * rate, isBad ? 0.5 : 0) : result(rate, rate, 0);
  };
  const best = await highestRate({ ...options, run });
  expect(best!.rate).toBeGreaterThan(3700);
  expect(best!.rate).toBeLessThanOrEqual(4000);
});

test("a server that carries nothing has no rate, and a search that nothing fails has an end", async () => {
  expect(await highestRate({ ...options, run: async (rate) => result(rate, 0, 1) })).toBeUndefined();
  expect((await highestRate({ ...options, run: async (rate) => result(rate, rate, 0) }))?.rate).toBe(128_000);
});

test("a report is read: the rate, losses of both pairs, the times", () => {
  const text = `***Rate statistics***
Rate: 1998.94 4-way exchanges/second, expected rate: 2000
***Statistics for: DISCOVER-OFFER***
sent packets: 1000
received packets: 990
drops: 10
drops ratio: 1 %
***Statistics for: REQUEST-ACK***
sent packets: 990
received packets: 985
drops: 5
***Timestamps for packets: DISCOVER-OFFER***
sent / received: 000000.000100 / 000000.000350
sent / received: 000012.500000 / 000012.502000
`;
  const { delaysMs, ...rest } = readReport(text, 2000);
  expect(rest).toEqual({ asked: 2000, rate: 1998.94, sent: 1000, drops: 15, dropped: 0.015 });
  expect(delaysMs.map((delay) => delay.toFixed(3))).toEqual(["0.250", "2.000"]);
  expect(childrenCpuMs("0m0.00s 0m0.01s\n1m2.50s 0m0.25s\n")).toBe(62_750);
  expect(readReport("", 5)).toMatchObject({ rate: 0, dropped: 1 });
});
