// One conformance suite for every server that claims to be the Kubernetes API. Promised: what a case says, the real
// kube-apiserver does. Not promised: that what no case says is alike.
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import type { Transport } from "../../../src/kube/transport/transport.ts";
import { ApiClient } from "./client.ts";
import { openFixture, type Case } from "./fixture.ts";
import { subjects } from "./subjects.ts";
import { httpTransport } from "./transport.ts";

export interface RunningServer {
  readonly url: string;
  /** A bearer token that may do everything. */
  readonly token: string;
  readonly caPem?: string;
  /** In place of HTTPS to the url. */
  readonly transport?: Transport;
  /** Forgets old versions; without it the cases about 410 fail. */
  compact?(): Promise<void>;
  stop(): Promise<void>;
}

export interface ServerUnderTest {
  readonly name: string;
  start(): Promise<RunningServer>;
  /** Key: a case's name; value: why this server differs there on purpose. */
  readonly skips?: Readonly<Record<string, string>>;
}

/** Longer than any wait inside a case (until.ts), so that the wait's own words are what is read. */
const caseTimeoutMs = 300_000;
/** Two processes and a database on a busy machine. */
const startTimeoutMs = 180_000;

export function apiConformance(server: ServerUnderTest): void {
  const { skips = {} } = server;
  describe(server.name, { timeout: caseTimeoutMs }, () => {
    let running: RunningServer | undefined;
    let api: ApiClient | undefined;
    let hangUp: (() => Promise<void>) | undefined;

    beforeAll(async () => {
      running = await server.start();
      const http = running.transport === undefined ? httpTransport(running.url, running.caPem) : undefined;
      hangUp = http?.close;
      const transport = running.transport ?? http?.transport;
      if (transport !== undefined) api = new ApiClient(transport, running.token);
    }, startTimeoutMs);

    afterAll(async () => {
      await hangUp?.();
      await running?.stop();
    }, startTimeoutMs);

    it("every skip names a case and gives a reason", () => {
      const known = new Set(subjects.flatMap(({ cases }) => Object.keys(cases)));
      expect(Object.keys(skips).filter((name) => !known.has(name))).toEqual([]);
      expect(Object.values(skips).filter((reason) => reason.trim() === "")).toEqual([]);
    });

    it("every case has a name of its own", () => {
      const all = subjects.flatMap(({ cases }) => Object.keys(cases));
      expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([]);
    });

    // Cases mostly wait, for a definition or a controller. So they run side by side, each in a namespace of its own.
    for (const { name: subject, cases, alone = false } of subjects) {
      describe(subject, { concurrent: !alone }, () => {
        for (const [name, run] of Object.entries(cases)) {
          it(name, async (context) => {
            const reason = skips[name];
            if (reason !== undefined) context.skip(reason);
            if (api === undefined) throw new Error(`${server.name} has not started: see the failure of its start.`);
            await inFixture(api, running?.compact?.bind(running), run);
          });
        }
      });
    }
  });
}

async function inFixture(api: ApiClient, compact: (() => Promise<void>) | undefined, run: Case): Promise<void> {
  const fixture = await openFixture(
    api,
    compact ?? (() => Promise.reject(new Error("This server's start() gives no compact(): old versions stay."))),
  );
  try {
    await run(fixture);
  } finally {
    await fixture.close();
  }
}
