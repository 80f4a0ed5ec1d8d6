// The embedded Kubernetes API: one SQLite file (or memory), one process, all clients of it.
//
// Promised: the real server's promises for the behaviours listed in docs/api-server.md; an acknowledged write survives
// kill -9. Not promised: several servers on one file, history (and so watches from old revisions) across restarts,
// conversion webhooks, authorisation: every client may do everything. It is for one machine.
import { randomBytes } from "node:crypto";

import { type Clock, timestamp, unrefClock } from "../kube/clock.ts";
import type { ApiRequest, ApiResponse, Transport } from "../kube/transport/transport.ts";
import { Admission } from "./admission/admission.ts";
import { callOverHttps, type CallWebhook } from "./admission/call.ts";
import { Caretaker } from "./lifecycle/caretaker.ts";
import { newUid } from "./names.ts";
import { Registry } from "./registry/registry.ts";
import type { User } from "./request/context.ts";
import type { Serving } from "./request/resource-request.ts";
import type { Stream } from "./request/stream.ts";
import { Router } from "./router.ts";
import type { historyLimits } from "./store/history.ts";
import { Store } from "./store/store.ts";

export interface ApiOptions {
  /** A SQLite file, or ":memory:". */
  readonly path: string;
  readonly clock?: Clock;
  /** Bytes for uids and generated names. */
  readonly random?: (size: number) => Uint8Array;
  readonly callWebhook?: CallWebhook;
  /** How much history is kept for watches and paged lists. */
  readonly history?: typeof historyLimits;
}

export interface Api {
  /** Requests without sockets, as the administrator. */
  readonly transport: Transport;
  /** The same for a user whom somebody has authenticated. */
  handle(request: ApiRequest, user: User): Promise<ApiResponse>;
  /** Ends every open watch, as a restart of the server would. */
  closeWatches(): void;
  /** Forgets the history: watches from earlier revisions and pages of earlier lists get 410. */
  compact(): void;
  /** Resolves when garbage collection, namespaces and CRDs have nothing left to do. */
  settled(): Promise<void>;
  /** A text that stays with the database: made once, the same after every restart. */
  remember(key: string, make: () => string): string;
  /** Queued writes are committed, watches ended, the file closed. */
  close(): void;
}

export const administrator: User = { username: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] };

export function openApi(options: ApiOptions): Api {
  const clock = options.clock ?? unrefClock;
  const random = options.random ?? ((size: number) => randomBytes(size));
  const store = new Store(options.path, options.history);
  const registry = new Registry(store);
  const admission = new Admission(store, options.callWebhook ?? callOverHttps.bind(undefined, clock), random);
  const open = new Set<Stream>();
  const serving: Serving = { store, registry, clock, random, admission, open };
  const caretaker = new Caretaker(store, registry, clock);
  const router = new Router(serving);
  const ready = makeNamespaces(serving);
  // Every request awaits it and fails with it; here it only must not bring the process down before the first.
  ready.catch(() => {});

  const handle = async (request: ApiRequest, user: User): Promise<ApiResponse> => {
    await ready;
    // From here on a write is carried out, whether its client stays to hear of it or not.
    request.signal?.throwIfAborted();
    return router.answer(request, user);
  };
  const closeWatches = () => {
    for (const stream of open) stream.end();
  };
  return {
    handle,
    transport: (request) => handle(request, administrator),
    closeWatches,
    compact: () => store.compact(),
    settled: () => caretaker.settled(),
    remember: (key, make) => store.remember(key, make),
    close: () => {
      closeWatches();
      caretaker.close();
      store.close();
    },
  };
}

/** The namespaces that every cluster has. */
function makeNamespaces({ store, clock, random }: Serving): Promise<void> {
  return store.write((transaction) => {
    for (const name of ["default", "kube-system", "kube-public", "kube-node-lease"]) {
      const place = { resource: "/namespaces", namespace: "", name };
      if (transaction.get(place) !== undefined) continue;
      const labels = { "kubernetes.io/metadata.name": name };
      const metadata = { name, uid: newUid(random), creationTimestamp: timestamp(clock.wallMs()), labels };
      const [spec, status] = [{ finalizers: ["kubernetes"] }, { phase: "Active" }];
      transaction.put(place, { kind: "Namespace", apiVersion: "v1", metadata, spec, status });
    }
  });
}
