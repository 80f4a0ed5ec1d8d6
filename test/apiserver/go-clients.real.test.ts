// Operators written in Go, unmodified, on the embedded API and on the real one: client-go's typed clients in protobuf,
// informers, leader election, the clientset of definitions, controller-runtime's manager and webhooks.
// tools/kube/client plays them; what it sees on one server it must see on the other.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { beforeAll, describe, expect, test } from "vitest";

import { openApi } from "../../src/apiserver/api.ts";
import { serve } from "../../src/apiserver/serve/server.ts";
import { ensureGoClient } from "../../tools/kube/client.ts";
import { cluster, coldStartTimeoutMs } from "../lab/start.ts";

interface Result {
  readonly case: string;
  readonly error?: string;
  readonly seen?: unknown;
}

/** Key: the case. */
type Results = ReadonlyMap<string, Result>;

/** A build of Kubernetes' own libraries, once: two minutes of two quiet cores. */
const buildTimeoutMs = 900_000;

async function play(kubeconfig: string, namespace: string): Promise<Results> {
  const program = await ensureGoClient();
  const { stdout } = await promisify(execFile)(program, [kubeconfig, namespace], { maxBuffer: 16 * 1024 * 1024 });
  const lines = stdout.trim().split("\n");
  return new Map(lines.map((line) => JSON.parse(line) as Result).map((result) => [result.case, result]));
}

async function onEmbedded(): Promise<Results> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-go-"));
  const api = openApi({ path: join(folder, "api.sqlite") });
  const kubeconfigPath = join(folder, "kubeconfig");
  const served = await serve(api, { kubeconfigPath });
  try {
    return await play(kubeconfigPath, "default");
  } finally {
    await served.close();
    api.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function onReal(): Promise<Results> {
  const lab = await cluster();
  try {
    return await play(lab.kubeconfig, "default");
  } finally {
    await lab.stop();
  }
}

describe("operators in Go", () => {
  let embedded: Results;
  let real: Results;
  beforeAll(() => ensureGoClient(), buildTimeoutMs);
  beforeAll(async () => {
    [embedded, real] = [await onEmbedded(), await onReal()];
  }, coldStartTimeoutMs);

  test("everything that the program tries works on the embedded API", () => {
    const failed = [...embedded.values()].filter(({ error }) => error !== undefined);
    expect(failed).toEqual([]);
    expect(embedded.size).toBeGreaterThan(20);
  });

  test("and each case sees there what it sees on the real server", () => {
    const differing = [...real].filter(([name, result]) => !isSame(embedded.get(name), result));
    expect(differing.map(([name]) => embedded.get(name))).toEqual(differing.map(([, result]) => result));
    expect(embedded.size).toBe(real.size);
  });
});

const isSame = (a: Result | undefined, b: Result) => JSON.stringify(a) === JSON.stringify(b);
