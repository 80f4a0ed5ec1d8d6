// The harness of ledgers on an API server: a namespace per test, a clock that the test owns, replies that can be lost.
import { KubeClient } from "../../../src/kube/rest.ts";
import type { Transport } from "../../../src/kube/transport.ts";
import { ReservationLedger } from "../../../src/ledger/reservation-ledger.ts";
import { namespaces } from "../../../src/ledger/resources.ts";
import type { LedgerHarness } from "./suite.ts";

export interface ApiHarnessOptions {
  readonly transport: Transport;
  readonly domains: LedgerHarness["domains"];
}

let spaces = 0;

export async function apiHarness({ transport, domains }: ApiHarnessOptions): Promise<LedgerHarness> {
  const namespace = `ledger-${process.pid}-${spaces++}`;
  await new KubeClient({ transport }).create(namespaces, { metadata: { name: namespace } });
  let nowMs = 1_000_000;
  let lost: "before-commit" | "after-commit" | undefined;
  const lossy: Transport = async (request) => {
    if (request.method === "GET" || lost === undefined) return transport(request);
    const when = lost;
    lost = undefined;
    // Carried out, and nobody is told.
    if (when === "after-commit") for await (const _ of (await transport(request)).body);
    throw new Error("the connection broke");
  };
  return {
    domains,
    open: async () => {
      const client = new KubeClient({ transport: lossy });
      return new ReservationLedger({ client, namespace, node: "node-1", now: () => nowMs });
    },
    loseNextReply: (when) => (lost = when),
    now: () => nowMs,
    advance: async (ms) => void (nowMs += ms),
    close: async () => {},
  };
}
