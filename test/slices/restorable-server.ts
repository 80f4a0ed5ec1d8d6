// An API server and its fixture, anew for each test, whose storage can be copied and later be replaced by the copy.
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach } from "vitest";

import { type Api, openApi } from "../../src/apiserver/api.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import { Fixture } from "./fixture.ts";
import { prepare } from "./wipe.ts";

/** Polls this long: every daemon of a busy machine has to notice. */
export const patient = { timeout: 120_000, interval: 250 };

export interface RestorableServer {
  readonly snapshot: () => void;
  /** The copy in place of what there is. Leaders and daemons live through it. */
  readonly restore: () => void;
  /** The same under a new leader, which begins after `meanwhile`. */
  readonly restoreLed: (meanwhile?: () => Promise<unknown>) => Promise<void>;
  /** Which node has which slice, by the status of all pools. */
  readonly assigned: () => Promise<string[]>;
}

/** `onFixture` is told of the fixture before each test. */
export function restorableServer(
  onFixture: (fixture: Fixture) => void,
  options?: ConstructorParameters<typeof Fixture>[1],
): RestorableServer {
  let folder: string;
  let api: Api;
  let fixture: Fixture;
  const path = () => join(folder, "api.db");
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "holdfast-slices-"));
    api = openApi({ path: path() });
    const transport: Api["transport"] = (request) => api.transport(request);
    await prepare(new KubeClient({ transport }));
    fixture = new Fixture({ transport }, options);
    onFixture(fixture);
  });
  afterEach(async () => {
    await fixture.close();
    api.close();
    rmSync(folder, { recursive: true });
  }, 60_000);
  /** As etcd's: the server is down while its storage is copied or replaced. */
  const reopened = (work: () => void) => {
    api.close();
    work();
    api = openApi({ path: path() });
  };
  const copy = () => join(folder, "copy");
  const restore = () => reopened(() => copyFileSync(copy(), path()));
  return {
    snapshot: () => reopened(() => copyFileSync(path(), copy())),
    restore,
    async restoreLed(meanwhile) {
      await fixture.killLeaders();
      restore();
      await meanwhile?.();
      fixture.lead();
    },
    async assigned() {
      const { pools } = await fixture.books();
      return pools.flatMap((pool) => pool.assigned.map(({ node, block }) => `${node} ${block}`));
    },
  };
}
