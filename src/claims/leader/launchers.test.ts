import { describe, expect, it } from "vitest";

import { hashedInterfaceName } from "../../api/claims/kubevirt.ts";
import type { Pod } from "../../cluster/resources.ts";
import { launcherPodOf } from "./launchers.ts";

const blue = hashedInterfaceName("blue");
const green = hashedInterfaceName("green");
const spec = (...names: readonly string[]) => ({
  networks: [{ name: "default", pod: {} }, ...names.map((name) => ({ name, multus: { networkName: "net" } }))],
});

interface Parts {
  readonly networks?: unknown;
  readonly status?: unknown;
  readonly more?: Record<string, string>;
  readonly isLauncher?: boolean;
  readonly phase?: string;
}

function podOf({ networks, status, more = {}, isLauncher = true, phase = "Running" }: Parts): Pod {
  const annotations = {
    ...more,
    ...(networks !== undefined && {
      "k8s.v1.cni.cncf.io/networks": typeof networks === "string" ? networks : JSON.stringify(networks),
    }),
    ...(status !== undefined && { "k8s.v1.cni.cncf.io/network-status": JSON.stringify(status) }),
  };
  const labels = { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": "i1" };
  return {
    metadata: { namespace: "shop", name: "p", uid: "u", annotations, ...(isLauncher && { labels }) },
    spec: { nodeName: "n1" },
    status: { phase },
  };
}

const nicsOf = (pod: Pod, specs = [spec("blue", "green")], nics: readonly string[] = []) =>
  launcherPodOf(pod, { specs, nics })
    .nics.filter(({ interfaceName }) => interfaceName !== "eth0")
    .map(({ nic, interfaceName }) => `${nic} ${interfaceName}`);

describe("the NICs of a launcher pod", () => {
  it("are those that it asks for, by the hash of their name", () => {
    const networks = [
      { name: "net", interface: blue },
      { name: "net", interface: green },
    ];
    expect(nicsOf(podOf({ networks }))).toEqual([`blue ${blue}`, `green ${green}`]);
  });

  it("and what it has of the network before a swap, under the same interface", () => {
    const networks = [{ name: "red", interface: blue }];
    const status = [{ name: "shop/net", interface: blue }];
    const { nics } = launcherPodOf(podOf({ networks, status }), { specs: [spec("blue")], nics: [] });
    const blues = nics.filter(({ interfaceName }) => interfaceName === blue);
    expect(blues.map(({ nic, definition }) => `${nic} ${definition}`)).toEqual(["blue shop/red", "blue shop/net"]);
  });

  it("and those that it still has, though nothing asks for them any more", () => {
    const networks = [{ name: "net", interface: blue }];
    const status = [
      { name: "cluster", interface: "eth0", default: true },
      { name: "shop/net", interface: blue },
      { name: "shop/net", interface: green },
    ];
    expect(nicsOf(podOf({ networks, status }))).toEqual([`blue ${blue}`, `green ${green}`]);
  });

  it("also where no spec has them any more and a claim does", () => {
    const status = [{ name: "shop/net", interface: green }];
    expect(nicsOf(podOf({ status }), [spec("blue")])).toEqual([`undefined ${green}`]);
    expect(nicsOf(podOf({ status }), [spec("blue")], ["green"])).toEqual([`green ${green}`]);
  });

  it("where interfaces are numbered: by position among those of one definition", () => {
    const networks = [
      { name: "net", interface: "net1" },
      { name: "net", interface: "net2" },
    ];
    expect(nicsOf(podOf({ networks }))).toEqual(["blue net1", "green net2"]);
  });

  it("and the pod network, with the claim of a primary network", () => {
    const { nics } = launcherPodOf(podOf({ more: { "k8s.ovn.org/primary-udn-ipamclaim": "vm.default" } }), {
      specs: [spec("blue")],
      nics: [],
    });
    expect(nics).toEqual([{ nic: "default", interfaceName: "eth0", claim: "vm.default" }]);
  });

  it("an annotation that cannot be read is told, and the status still counts", () => {
    const pod = podOf({ networks: "[", status: [{ name: "shop/net", interface: blue }] });
    const { problem } = launcherPodOf(pod, { specs: [spec("blue")], nics: [] });
    expect(problem).toMatch(/cannot be read/);
    expect(nicsOf(pod)).toEqual([`blue ${blue}`]);
  });
});

describe("other facts of a pod", () => {
  it("whether its network-status was written, and can be read", () => {
    const hasStatus = (status: unknown) => launcherPodOf(podOf({ status }), { specs: [], nics: [] }).hasStatus;
    expect([hasStatus(undefined), hasStatus([]), hasStatus({})]).toEqual([false, true, false]);
  });

  it("a pod that is no launcher has no VMI and no pod network", () => {
    const networks = [{ name: "net", "ipam-claim-reference": "stake" }];
    const pod = launcherPodOf(podOf({ networks, isLauncher: false }), { specs: [], nics: [] });
    expect(pod.vmiUid).toBe("");
    expect(pod.nics).toEqual([{ nic: undefined, interfaceName: "net1", definition: "shop/net", claim: "stake" }]);
  });

  it.each([
    ["Running", false],
    ["Succeeded", true],
    ["Failed", true],
    ["Unknown", false],
  ])("%s: over is %s", (phase, isOver) => {
    expect(launcherPodOf(podOf({ phase }), { specs: [], nics: [] }).isOver).toBe(isOver);
  });
});
