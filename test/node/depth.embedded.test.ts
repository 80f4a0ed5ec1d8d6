// How deep an ADD goes from the handler to its commit: what a reader has to keep in mind at once.
import { expect, it } from "vitest";

import { openApi } from "../../src/apiserver/api.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { given, network, pod, Fixture } from "./fixture.ts";

/** The calls of these files that are under way, the innermost first. */
function callsIn(stack: string, files: readonly string[]): string[] {
  return stack.split("\n").filter((line) => files.some((file) => line.includes(`/src/${file}.ts:`)));
}

it("the ledger is reached from the handler by 15 calls at most", async () => {
  const api = openApi({ path: ":memory:" });
  const fixture = await Fixture.open({ transport: api.transport, stop: async () => api.close() });
  const stacks = { namespace: "", reservation: "" };
  const transport: Transport = async (request) => {
    const { stack = "" } = new Error("here");
    if (/^\/api\/v1\/namespaces\/default(\?|$)/u.test(request.path)) stacks.namespace = stack;
    if (request.method === "POST" && request.path.endsWith("/overlappingrangeipreservations"))
      stacks.reservation = stack;
    return api.transport(request);
  };
  const daemonFixture = await fixture.daemon({ transport });
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 100;
  try {
    await given(daemonFixture, {
      ...pod("a"),
      config: network("depth", { range: "10.21.0.0/24", network_name: "depth" }),
    });
  } finally {
    Error.stackTraceLimit = limit;
    await fixture.close();
  }
  // Not in a stack: `takeAll`, which waits for all shares at once, `answer` and `add`, which hand a promise on.
  const unseen = 3;
  const above = callsIn(stacks.namespace, [
    "node/request/handler",
    "node/add/add",
    "node/request/attachment",
    "ipam/turns",
  ]);
  const below = callsIn(stacks.reservation, [
    "node/add/duplicate-probe",
    "node/add/take",
    "ipam/acquire",
    "ipam/turns",
  ]);
  expect(above.at(0)).toContain("run (");
  expect(above.at(-1)).toContain("handler.ts");
  expect(below.at(-1)).toContain("takeProbed");
  expect(above.length + unseen + below.length).toBeLessThanOrEqual(15);
});
