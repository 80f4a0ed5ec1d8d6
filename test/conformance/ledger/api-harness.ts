// The harness of ledgers on an API server: a namespace per test, a clock that the test owns, replies that can be lost.
import { namespaces } from "../../../src/cluster/resources.ts";
import { KubeClient } from "../../../src/kube/rest.ts";
import type { Transport } from "../../../src/kube/transport/transport.ts";
import { ReservationLedger } from "../../../src/ledger/reservation/reservation-ledger.ts";
import type { LedgerHarness } from "./suite.ts";

export interface ApiHarness extends LedgerHarness<ReservationLedger> {
  /** Not struck by a lost reply. */
  readonly client: KubeClient;
  readonly namespace: string;
  /** Another node's daemon; undefined: the leader, which has none. While `coexistence`, whereabouts is active. */
  openAs(node: string | undefined, more?: { readonly coexistence?: boolean }): ReservationLedger;
}

export interface ApiHarnessOptions {
  readonly transport: Transport;
  readonly domains: LedgerHarness["domains"];
}

let spaces = 0;

export async function apiHarness({ transport, domains }: ApiHarnessOptions): Promise<ApiHarness> {
  const namespace = `ledger-${process.pid}-${spaces++}`;
  const steady = new KubeClient({ transport });
  await steady.create(namespaces, { metadata: { name: namespace } });
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
  const openAs: ApiHarness["openAs"] = (node, { coexistence = false } = {}) => {
    const options = { client: new KubeClient({ transport: lossy }), namespace, now: () => nowMs };
    return new ReservationLedger({ ...options, ...(node !== undefined && { node }), coexistence: () => coexistence });
  };
  return {
    domains,
    client: steady,
    namespace,
    openAs,
    open: async () => openAs("node-1"),
    loseNextReply: (when) => (lost = when),
    now: () => nowMs,
    advance: async (ms) => void (nowMs += ms),
    close: async () => {},
  };
}
