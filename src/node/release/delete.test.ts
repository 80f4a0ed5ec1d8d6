// DEL, where an earlier one of the same sandbox is still to be done.
import { expect, it } from "vitest";

import type { AttachmentInvocation } from "../../cni/invocation.ts";
import { Recent } from "../../kube/cache/recent.ts";
import { realClock } from "../../kube/clock.ts";
import { silent } from "../../log/log.ts";
import type { DaemonContext } from "../context.ts";
import { HoldIndex } from "../holds/hold-index.ts";
import { Attachments } from "../request/attachment.ts";
import { del } from "./delete.ts";
import type { Intent, IntentPool } from "./intents.ts";

it("what an earlier DEL knew of the sandbox is done by the next, though that one's configuration cannot be read", async () => {
  const pool: IntentPool = {
    namespace: "kube-system",
    network: "",
    range: "10.0.0.0/24",
    naming: "whereabouts",
    protectsOverlaps: true,
  };
  const promised = { containerId: "c", interfaceName: "eth0", targets: [], pools: [pool], cooldownMs: 0, sinceMs: 1 };
  const done: Intent[] = [];
  const parts = {
    loadConfig: () => {
      throw new Error("no JSON");
    },
    attachments: new Attachments(),
    sliced: { ofAttachment: () => [] },
    held: new HoldIndex(),
    intents: { get: () => promised, remove: () => Promise.resolve() },
    sandboxes: { forget: async () => {} },
    gone: new Recent(10),
    releases: { release: async (intent: Intent) => done.push(intent) },
    readiness: { mayRelease: true },
    cooldownMs: 0,
    clock: realClock,
    log: silent,
  } as unknown as DaemonContext;
  const invocation = { containerId: "c", interfaceName: "eth0", args: {} } as unknown as AttachmentInvocation;
  await del(parts, { invocation, text: "{", signal: new AbortController().signal });
  expect(done).toMatchObject([{ pools: [pool] }]);
});
