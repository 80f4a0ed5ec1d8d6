// Launcher pods in few words: what stories about them are told with.
import { expect } from "vitest";

import { claimNicAnnotation, claimOwnerAnnotation } from "../../../api/claims/claim-marks.ts";
import { hashedInterfaceName, type VirtualMachineInstance } from "../../../api/claims/kubevirt.ts";
import type { StoredClaim } from "../../../cluster/resources.ts";
import type { Persistence } from "../../../cni/config/persistence.ts";
import { judgeLauncher, type LauncherFacts } from "../launcher.ts";

const networks = "k8s.v1.cni.cncf.io/networks";
export const primaryClaim = "k8s.ovn.org/primary-udn-ipamclaim";
export const firstNetwork = "v1.multus-cni.io/default-network";

export const allows = (network: string): Persistence => ({
  network,
  isAllowed: true,
  isPrimary: false,
  isOurs: true,
  problem: "",
});
export const forbids = (network: string): Persistence => ({ ...allows(network), isAllowed: false });

/** A VMI of VM "vm1" (uid vm) on networks, each NAME=DEFINITION. */
export function vmi(spec: string, more: Partial<VirtualMachineInstance["metadata"]> = {}): VirtualMachineInstance {
  const pairs = spec.split(" ").map((pair) => pair.split("=") as [string, string]);
  return {
    metadata: {
      name: "vm1",
      namespace: "t",
      uid: "vmi",
      ownerReferences: [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "vm1", uid: "vm" }],
      ...more,
    },
    spec: {
      networks: pairs.map(([name, definition]) =>
        definition === "pod" ? { name, pod: {} } : { name, multus: { networkName: definition } },
      ),
    },
  };
}

export const element = (nic: string, definition: string, more: object = {}) => ({
  name: definition,
  namespace: "t",
  interface: hashedInterfaceName(nic),
  ...more,
});

export function claim(
  name: string,
  owner: string,
  network: string,
  more: { nic?: string; ips?: string[] } = {},
): StoredClaim {
  const annotations = { [claimOwnerAnnotation]: owner, ...(more.nic && { [claimNicAnnotation]: more.nic }) };
  return {
    metadata: { name, namespace: "t", uid: `uid of ${name}`, annotations },
    spec: { network, interface: "" },
    ...(more.ips && { status: { ips: more.ips } }),
  };
}

export interface Story {
  readonly vmi: VirtualMachineInstance;
  readonly elements: unknown;
  readonly before?: unknown;
  readonly definitions?: Readonly<Record<string, Persistence>>;
  readonly claims?: readonly StoredClaim[];
  readonly isWanted?: boolean;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly primary?: LauncherFacts["primary"];
}

export function judged(story: Story) {
  const text = (elements: unknown) => (typeof elements === "string" ? elements : JSON.stringify(elements));
  const annotations = { ...story.annotations, [networks]: text(story.elements) };
  const definitions: Readonly<Record<string, Persistence>> = story.definitions ?? defined;
  const before = story.before === undefined ? undefined : { [networks]: text(story.before) };
  const { patch, warnings } = judgeLauncher({
    pod: { namespace: "t", annotations, before },
    vmi: story.vmi,
    isWanted: story.isWanted ?? true,
    definitionOf: (key) => definitions[key] ?? "missing",
    primary: story.primary,
    claimOf: (name) => story.claims?.find(({ metadata }) => metadata.name === name),
  });
  const written = Object.fromEntries(
    patch.map((operation) => {
      expect(operation.op).toBe("add");
      const { path, value } = operation as { path: string; value: string };
      return [path.replace("/metadata/annotations/", "").replaceAll("~1", "/"), value];
    }),
  );
  const list = written[networks] === undefined ? undefined : (JSON.parse(written[networks]) as unknown[]);
  return { written, list, warnings };
}

export const references = ({ list }: ReturnType<typeof judged>) =>
  list?.map((each) => (each as Record<string, unknown>)["ipam-claim-reference"]);

export const defined = { "t/blue": allows("blue-net"), "t/green": allows("green-net") };
