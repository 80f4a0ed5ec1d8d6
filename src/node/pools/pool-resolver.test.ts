// What is read of the leader's free map, and when.
import { beforeEach, describe, expect, it } from "vitest";

import { encodeFreeMap } from "../../cluster/free-map.ts";
import { realClock } from "../../kube/clock.ts";
import { ApiError } from "../../kube/errors.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { silent } from "../../log/log.ts";
import { parseBlock } from "../../net/interval.ts";
import { parsePrefix } from "../../net/prefix.ts";
import type { Share } from "../add/shares.ts";
import { HoldIndex } from "../holds/hold-index.ts";
import { RetryPause } from "../retry-pause.ts";
import { type OpenPool, PoolResolver } from "./pool-resolver.ts";

const namespace = "kube-system";
const prefix = parsePrefix("10.0.0.0/24");
const { signal } = new AbortController();
const share: Share = {
  namespace,
  definition: { prefix, cooldownMs: 0 },
  pool: {
    namespace,
    identity: { network: "", node: "", range: prefix },
    naming: "whereabouts",
    protectsOverlaps: true,
    mayStandAlone: true,
    l3: false,
  },
  owner: { kind: "pod", uid: "a", namespace: "d", name: "a", interface: "eth0" },
  want: { kind: "any" },
};

let nowMs: number;
let reads: number;
/** The map's taken addresses; undefined: it cannot be read. */
let taken: string | undefined;
let poolResolver: PoolResolver;
let open: OpenPool;
let coexistence: boolean;
/** The server takes the request for the map and never answers. */
let isSilent: boolean;
/** The shortest deadline that somebody set and let pass. */
let waitedMs: number | undefined;
const lowest = () => String(open.pool.nextFree(prefix.first));
const lookAgain = () => poolResolver.lookAgain(open, share, signal);

beforeEach(async () => {
  [nowMs, reads, taken, coexistence] = [1_000_000, 0, "10.0.0.1-10.0.0.3", false];
  [isSilent, waitedMs] = [false, undefined];
  const get = async (_resource: unknown, _at: unknown, { signal: own }: { readonly signal: AbortSignal }) => {
    reads += 1;
    if (isSilent) await new Promise((_, reject) => own.addEventListener("abort", () => reject(own.reason as Error)));
    if (taken === undefined) throw new ApiError("unavailable", "away");
    const facts = { pool: `${namespace}/10.0.0.0-24`, prefix, domain: "network:", holders: 3, writtenMs: nowMs };
    return encodeFreeMap(namespace, { ...facts, taken: [parseBlock(taken)] });
  };
  poolResolver = new PoolResolver({
    node: "node1",
    client: { get } as unknown as KubeClient,
    held: new HoldIndex(),
    pace: new RetryPause(realClock, () => 0),
    log: silent,
    clock: {
      ...realClock,
      wallMs: () => nowMs,
      // Deadlines pass as soon as somebody waits for nothing else.
      after: (delayMs, callback) => {
        const passed = () => {
          waitedMs = delayMs;
          callback();
        };
        return realClock.after(isSilent ? 5 : delayMs, isSilent ? passed : callback);
      },
    },
    coexistence: () => coexistence,
    daemons: () => 3,
  });
  open = await poolResolver.open(share, signal);
});

describe("after a conflict", () => {
  it("the map is read anew, once for all that met one, and four times a second at most", async () => {
    expect([lowest(), reads]).toEqual(["10.0.0.4", 1]);
    taken = "10.0.0.1-10.0.0.90";
    await lookAgain();
    expect([lowest(), reads]).toEqual(["10.0.0.4", 1]);
    nowMs += 250;
    await Promise.all([lookAgain(), lookAgain(), lookAgain()]);
    expect([lowest(), reads]).toEqual(["10.0.0.91", 2]);
    await lookAgain();
    expect(reads).toBe(2);
  });

  it("a map that cannot be read changes nothing, and is not asked for again at once", async () => {
    nowMs += 1000;
    taken = undefined;
    for (let conflict = 0; conflict < 3; conflict++) await lookAgain();
    expect([lowest(), reads]).toEqual(["10.0.0.4", 2]);
  });

  it("a map that does not come is waited for half a second", async () => {
    nowMs += 1000;
    isSilent = true;
    await lookAgain();
    expect([lowest(), reads, waitedMs]).toEqual(["10.0.0.4", 2, 500]);
  });

  it("beside whereabouts there is none", async () => {
    [nowMs, coexistence] = [nowMs + 1000, true];
    await lookAgain();
    expect(reads).toBe(1);
  });

  it("a picture that was forgotten meanwhile does not stand for the next one", async () => {
    nowMs += 1000;
    const look = lookAgain();
    poolResolver.forget();
    await look;
    open = await poolResolver.open(share, signal);
    expect(lowest()).toBe("10.0.0.4");
  });
});
