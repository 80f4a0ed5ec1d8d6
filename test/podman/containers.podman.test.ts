// Containers of podman's CNI backend with our addresses, without a cluster: the embedded API as a person starts it.
// Podman gives neither a pod's UID nor a namespace's of Kubernetes; the owner is known by what it does give.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { apis, type LabApi } from "../lab/holdfast/api.ts";
import { type LabHost, startHost } from "../lab/holdfast/host.ts";
import { coldStartTimeoutMs } from "../lab/start.ts";
import { toldState } from "../ledger/told-state.ts";
import { Podman } from "./podman.ts";

const reservations = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/overlappingrangeipreservations";

describe.each(["embedded", "real"] as const)("podman on the %s API", (kind) => {
  let api: LabApi;
  let host: LabHost;
  let podman: Podman;
  beforeAll(async () => {
    api = await apis[kind]();
    // `holdfast up` leads on its own; on the other API nobody does.
    if (kind === "real") await api.rest.create("/api/v1/namespaces/kube-system/configmaps", toldState());
    host = await startHost({ kubeconfig: api.nodeKubeconfig, nodeName: "host" });
    podman = await Podman.start(host);
    const plugin = {
      type: "bridge",
      bridge: "blue0",
      isGateway: true,
      capabilities: { ips: true },
      ipam: { type: "holdfast", range: "10.77.0.0/24", gateway: "10.77.0.1" },
    };
    const list = { cniVersion: "0.4.0", name: "blue", plugins: [plugin] };
    writeFileSync(join(host.configurations, "blue.conflist"), JSON.stringify(list));
  }, coldStartTimeoutMs);
  afterEach(() => podman.call("rm", "--all", "--force", "--time", "0"));
  afterAll(async () => {
    await podman?.stop();
    await host?.stop();
    await api?.stop();
  });

  async function held(): Promise<string[]> {
    const query = `labelSelector=${encodeURIComponent("!holdfast.io/cooling")}`;
    const { items } = await api.rest.get<{ items: { metadata: { name: string } }[] }>(`${reservations}?${query}`);
    return items.map(({ metadata }) => metadata.name).sort();
  }

  test("run, inspect, ping, rm: each its own address, and back it comes", async () => {
    await podman.run("a", "blue");
    await podman.run("b", "blue");
    const [a, b] = [await podman.network("a", "blue"), await podman.network("b", "blue")];
    expect(a).toMatchObject({ IPPrefixLen: 24, Gateway: "10.77.0.1" });
    expect(a.IPAddress).not.toBe(b.IPAddress);
    expect(await held()).toEqual([a.IPAddress, b.IPAddress].sort());
    expect(await podman.call("exec", "a", "ip", "-4", "-o", "addr", "show", "eth0")).toContain(`${a.IPAddress}/24`);
    await podman.call("exec", "a", "ping", "-c", "1", "-W", "5", b.IPAddress);
    await podman.remove("a");
    expect(await held()).toEqual([b.IPAddress]);
    await podman.remove("b");
    expect(await held()).toEqual([]);
  });

  test("--ip is given and held; the same one a second time is refused; free again after rm", async () => {
    await podman.run("fixed", "blue", "--ip", "10.77.0.77", "--mac-address", "02:00:00:00:00:77");
    expect(await podman.network("fixed", "blue")).toMatchObject({
      IPAddress: "10.77.0.77",
      MacAddress: "02:00:00:00:00:77",
    });
    expect(await held()).toEqual(["10.77.0.77"]);
    await expect(podman.run("rival", "blue", "--ip", "10.77.0.77")).rejects.toThrow("10.77.0.77");
    await podman.remove("rival");
    expect(await held()).toEqual(["10.77.0.77"]);
    await podman.remove("fixed");
    await podman.run("heir", "blue", "--ip", "10.77.0.77");
    expect(await held()).toEqual(["10.77.0.77"]);
  });

  test("a stopped container gives its address back, and gets one again when it starts", async () => {
    await podman.run("pauses", "blue");
    const before = await podman.network("pauses", "blue");
    await podman.call("stop", "--time", "0", "pauses");
    expect(await held()).toEqual([]);
    await podman.call("start", "pauses");
    const after = await podman.network("pauses", "blue");
    expect(after.IPAddress).toBe(before.IPAddress);
    expect(await held()).toEqual([after.IPAddress]);
  });
});
