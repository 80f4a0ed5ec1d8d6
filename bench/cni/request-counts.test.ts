import { expect, it } from "vitest";

import { between, isRead, isWrite, readRequestCounts, total } from "./request-counts.ts";

const series = (verb: string, group: string, resource: string, code: number, scope: string, count: number) =>
  `apiserver_request_total{code="${code}",component="apiserver",dry_run="",group="${group}",resource="${resource}",` +
  `scope="${scope}",subresource="",verb="${verb}",version="v1"} ${count}`;

it("series that differ in what does not matter here are one count, and other metrics are none", () => {
  const text = [
    "# HELP apiserver_request_total Counter of apiserver requests",
    series("GET", "", "pods", 200, "resource", 3),
    series("GET", "", "pods", 200, "namespace", 4),
    series("POST", "holdfast.io", "holds", 409, "resource", 1.2e1),
    'apiserver_request_duration_seconds_sum{verb="GET"} 5',
    "",
  ].join("\n");
  expect(readRequestCounts(text)).toEqual([
    { verb: "GET", resource: "pods", code: 200, count: 7 },
    { verb: "POST", resource: "holds.holdfast.io", code: 409, count: 12 },
  ]);
});

it("the difference of two readings has what is new in it, the most frequent first", () => {
  const before = readRequestCounts(series("GET", "", "pods", 200, "resource", 3));
  const after = readRequestCounts(
    [
      series("GET", "", "pods", 200, "resource", 3),
      series("LIST", "", "pods", 200, "cluster", 1),
      series("POST", "", "pods", 201, "resource", 5),
      series("WATCH", "", "pods", 200, "cluster", 9),
    ].join("\n"),
  );
  const asked = between(before, after);
  expect(asked.map(({ verb, count }) => [verb, count])).toEqual([
    ["WATCH", 9],
    ["POST", 5],
    ["LIST", 1],
  ]);
  expect(total(asked, isWrite)).toBe(5);
  expect(total(asked, isRead)).toBe(1);
});
