import { describe, expect, it } from "vitest";

import type { Transport } from "../../src/kube/transport/transport.ts";
import { totalTraffic, Traffic, trafficBetween, trafficOfAll } from "./traffic.ts";

const answering =
  (status: number, ...parts: string[]): Transport =>
  async () => ({
    status,
    headers: {},
    body: (async function* () {
      for (const part of parts) yield Buffer.from(part);
    })(),
  });

async function send(transport: Transport, method: string, path: string, body?: string): Promise<void> {
  const response = await transport({ method, path, headers: {}, ...(body !== undefined && { body }) });
  for await (const _ of response.body);
}

describe("the traffic of a client", () => {
  it.each([
    ["GET", "/api/v1/nodes/a", "GET nodes"],
    ["GET", "/api/v1/namespaces/kube-system", "GET namespaces"],
    ["GET", "/api/v1/namespaces/kube-system/pods?limit=500", "GET pods"],
    ["PATCH", "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/x/ippools/y", "PATCH ippools"],
    ["GET", "/apis/coordination.k8s.io/v1/namespaces/x/leases?watch=true&limit=1", "WATCH leases"],
    ["GET", "/readyz", "GET other"],
  ])("names %s %s by its kind", async (method, path, key) => {
    const traffic = new Traffic();
    await send(traffic.counting(answering(200)), method, path);
    expect(Object.keys(traffic.reading())).toEqual([key]);
  });

  it("counts bodies both ways, and what failed", async () => {
    const traffic = new Traffic();
    await send(traffic.counting(answering(201, "ab", "cde")), "POST", "/api/v1/nodes", "äb");
    const before = traffic.reading();
    await send(traffic.counting(answering(409, "no")), "POST", "/api/v1/nodes", "x");
    const silent: Transport = () => Promise.reject(new Error("gone"));
    await expect(send(traffic.counting(silent), "POST", "/api/v1/nodes")).rejects.toThrow("gone");
    expect(before["POST nodes"]).toEqual({ requests: 1, sentBytes: 3, receivedBytes: 5, failed: 0 });
    const since = trafficBetween(before, traffic.reading());
    expect(since["POST nodes"]).toEqual({ requests: 2, sentBytes: 1, receivedBytes: 2, failed: 2 });
    expect(totalTraffic(trafficOfAll([before, since]))).toEqual(totalTraffic(traffic.reading()));
  });
});
