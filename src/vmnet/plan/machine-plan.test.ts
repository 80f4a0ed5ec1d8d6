// What becomes of a VM's network config, as a table of VMs, VMIs and configs.
import { describe, expect, it } from "vitest";

import {
  declinedAnnotation,
  keepAddressesAnnotation,
  macAnnotation,
  networkConfigFinalizer,
  recordAnnotation,
} from "../../api/vmnet/marks.ts";
import type { StoredNetworkConfig } from "../../cluster/resources.ts";
import { type Instance, type Machine, nicsMark, nicsOfMachine } from "./machine-nics.ts";
import { entriesOf, planMachine } from "./machine-plan.ts";

const macs = { a: "02:00:00:00:00:0a", b: "02:00:00:00:00:0b", c: "02:00:00:00:00:0c" } as const;

interface Nic {
  readonly name: string;
  readonly network?: string;
  readonly mac?: string;
  readonly state?: string;
}

function vm(
  nics: readonly Nic[],
  { uid = "vm-1", annotations = {}, ...more }: Record<string, unknown> & { annotations?: Record<string, string> } = {},
): Machine {
  const networks = nics.map(({ name, network }) =>
    network === "pod" ? { name, pod: {} } : { name, multus: { networkName: network ?? "blue" } },
  );
  const interfaces = nics.map(({ name, mac, state }) => ({
    name,
    ...(mac && { macAddress: mac }),
    ...(state && { state }),
  }));
  const metadata = { namespace: "shop", name: "web", uid: uid as string, annotations, ...more };
  return { metadata, spec: { template: { spec: { networks, domain: { devices: { interfaces } } } } } };
}

const vmi = (macsOf: Readonly<Record<string, string>>, uid = "vm-1"): Instance => ({
  metadata: {
    namespace: "shop",
    name: "web",
    ownerReferences: [{ apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "web", uid }],
  },
  status: { interfaces: Object.entries(macsOf).map(([name, mac]) => ({ name, mac })) },
});

function plan(
  machine: Machine,
  {
    instance,
    configs = [],
    managed = ["shop/blue"],
  }: { instance?: Instance; configs?: StoredNetworkConfig[]; managed?: string[] } = {},
) {
  return planMachine({ vm: machine, vmi: instance, configs, isManaged: (network) => managed.includes(network) });
}

/** `MAC NETWORK ADDRESS` of each entry; the reason where nothing is done. */
function told(step: ReturnType<typeof plan>): readonly string[] {
  if (step.kind === "none") return [step.why];
  const lines = entriesOf(step.config).map(({ macAddress, networkName, ipAddress = "" }) =>
    `${macAddress.slice(-2)} ${networkName} ${ipAddress}`.trim(),
  );
  return [step.kind, ...lines];
}

function made(machine: Machine, options: Parameters<typeof plan>[1] = {}): StoredNetworkConfig {
  const step = plan(machine, options);
  if (step.kind === "none") throw new Error(step.why);
  return step.config;
}

function byHand(
  entries: readonly (readonly [mac: string, ip?: string, network?: string])[],
  name = "web",
): StoredNetworkConfig {
  const networkConfigs = entries.map(([macAddress, ipAddress, networkName = "shop/blue"]) => ({
    networkName,
    macAddress,
    ...(ipAddress && { ipAddress }),
  }));
  return { metadata: { namespace: "shop", name, uid: "c" }, spec: { vmName: "web", networkConfigs } };
}

describe("NICs of a VM", () => {
  it("have the MAC of the spec, else of the annotation, else of the VMI, in the order of the spec", () => {
    const machine = vm(
      [
        { name: "z", mac: macs.a.toUpperCase() },
        { name: "pod", network: "pod" },
        { name: "y" },
        { name: "x", network: "yard/red" },
        { name: "w" },
      ],
      {
        annotations: { [macAnnotation]: JSON.stringify({ y: macs.b, z: macs.c }) },
      },
    );
    expect(nicsOfMachine(machine, vmi({ x: macs.c, y: macs.a }))).toEqual([
      { name: "z", network: "shop/blue", mac: macs.a },
      { name: "y", network: "shop/blue", mac: macs.b },
      { name: "x", network: "yard/red", mac: macs.c },
      { name: "w", network: "shop/blue", mac: undefined },
    ]);
  });

  it("bad words are no MACs: an annotation that is no JSON, a MAC that is none", () => {
    for (const text of ["{", "[1]", "null", "7", '{"y":7}', '{"y":"zz"}'])
      expect(
        nicsOfMachine(vm([{ name: "y" }], { annotations: { [macAnnotation]: text } }), undefined)[0]!.mac,
      ).toBeUndefined();
  });
});

describe("planMachine", () => {
  it("makes one with every NIC whose MAC is known, if one of them is managed", () => {
    const machine = vm([{ name: "x", network: "yard/red", mac: macs.b }, { name: "y", mac: macs.a }, { name: "z" }]);
    expect(told(plan(machine))).toEqual(["create", "0b yard/red", "0a shop/blue"]);
    expect(told(plan(machine, { managed: [] }))).toEqual(["none of its NICs is on a network with a pool"]);
    expect(made(machine).metadata.finalizers).toEqual([networkConfigFinalizer]);
  });

  it("is content with what it made, and not with a NIC more, less, or absent", () => {
    const machine = vm([{ name: "y", mac: macs.a }]);
    const configs = [made(machine)];
    expect(told(plan(machine, { configs }))).toEqual(["its network config is as it should be"]);
    expect(
      told(
        plan(
          vm([
            { name: "y", mac: macs.a },
            { name: "z", mac: macs.b },
          ]),
          { configs },
        ),
      ),
    ).toEqual(["update", "0a shop/blue", "0b shop/blue"]);
    expect(told(plan(vm([]), { configs }))).toEqual(["update"]);
    expect(told(plan(vm([{ name: "y", mac: macs.a, state: "absent" }]), { configs }))).toEqual(["update"]);
  });

  it("a MAC that changes keeps the ipAddress of its NIC; one that swaps does not", () => {
    const machine = vm([
      { name: "y", mac: macs.a },
      { name: "z", mac: macs.b },
    ]);
    const config = made(machine);
    config.spec.networkConfigs![0]!.ipAddress = "10.7.0.15";
    expect(
      told(
        plan(
          vm([
            { name: "y", mac: macs.c },
            { name: "z", mac: macs.b },
          ]),
          { configs: [config] },
        ),
      ),
    ).toEqual(["update", "0c shop/blue 10.7.0.15", "0b shop/blue"]);
    expect(
      told(
        plan(
          vm([
            { name: "y", mac: macs.b },
            { name: "z", mac: macs.a },
          ]),
          { configs: [config] },
        ),
      ),
    ).toEqual(["update", "0b shop/blue", "0a shop/blue 10.7.0.15"]);
    const moved = vm([
      { name: "y", network: "yard/red", mac: macs.a },
      { name: "z", mac: macs.b },
    ]);
    expect(told(plan(moved, { configs: [config] }))).toEqual(["update", "0a yard/red", "0b shop/blue"]);
  });

  it("merges into one that was made by hand, and drops nothing of it", () => {
    const machine = vm([
      { name: "y", mac: macs.a },
      { name: "z", mac: macs.b },
    ]);
    const merged = made(machine, {
      configs: [
        byHand([
          [macs.c, "10.7.0.17"],
          [macs.a.toUpperCase(), "10.7.0.15"],
        ]),
      ],
    });
    expect(merged.spec.networkConfigs).toEqual([
      { networkName: "shop/blue", macAddress: macs.a.toUpperCase(), ipAddress: "10.7.0.15" },
      { networkName: "shop/blue", macAddress: macs.b },
      { networkName: "shop/blue", macAddress: macs.c, ipAddress: "10.7.0.17" },
    ]);
    expect(told(plan(vm([{ name: "z", mac: macs.b }]), { configs: [merged] }))).toEqual([
      "update",
      "0b shop/blue",
      "0c shop/blue 10.7.0.17",
    ]);
  });

  it("leaves NICs to another config of the VM that has them, and merges into the one that only names it", () => {
    const machine = vm([
      { name: "y", mac: macs.a },
      { name: "z", mac: macs.b },
    ]);
    expect(told(plan(machine, { configs: [byHand([[macs.a]], "other"), byHand([], "web")] }))).toEqual([
      "update",
      "0b shop/blue",
    ]);
    const only = plan(machine, { configs: [byHand([[macs.a, "10.7.0.15"]], "other")] });
    expect(only).toMatchObject({ kind: "update", config: { metadata: { name: "other" } } });
    expect(told(only)).toEqual(["update", "0a shop/blue 10.7.0.15", "0b shop/blue"]);
  });

  it("of Harvester's own, without a record, drops what the VM has no more, unless a NIC's MAC is not known yet", () => {
    const config = byHand([[macs.a], [macs.b], [macs.c, "10.7.0.17"]]);
    config.metadata.ownerReferences = [
      { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "web", uid: "vm-1" },
    ];
    expect(told(plan(vm([{ name: "y", mac: macs.a }]), { configs: [config] }))).toEqual([
      "update",
      "0a shop/blue",
      "0c shop/blue 10.7.0.17",
    ]);
    expect(told(plan(vm([{ name: "y", mac: macs.a }, { name: "z" }]), { configs: [config] }))).toEqual([
      "update",
      "0a shop/blue",
      "0b shop/blue",
      "0c shop/blue 10.7.0.17",
    ]);
  });

  it("keeps a MAC that KubeVirt made up while the VM is stopped; believes no VMI of another VM", () => {
    const machine = vm([{ name: "y" }]);
    expect(told(plan(machine))).toEqual(["none of its NICs is on a network with a pool"]);
    const config = made(machine, { instance: vmi({ y: macs.a }) });
    expect(told(plan(machine, { configs: [config] }))).toEqual(["its network config is as it should be"]);
    expect(told(plan(machine, { configs: [config], instance: vmi({ y: macs.b }, "vm-0") }))).toEqual([
      "its network config is as it should be",
    ]);
    expect(told(plan(machine, { configs: [config], instance: vmi({ y: macs.b }) }))).toEqual([
      "update",
      "0b shop/blue",
    ]);
  });

  it("a VM made anew becomes the owner; the former one is not", () => {
    const config = made(vm([{ name: "y", mac: macs.a }], { uid: "vm-0" }));
    const after = made(vm([{ name: "y", mac: macs.a }]), { configs: [config] });
    expect(after.metadata.ownerReferences).toEqual([
      { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "web", uid: "vm-1" },
    ]);
  });

  it("makes none for a VM that is being deleted, nor beside one that is, nor where it was declined", () => {
    const machine = vm([{ name: "y", mac: macs.a }]);
    expect(told(plan(vm([{ name: "y", mac: macs.a }], { deletionTimestamp: "now" })))).toEqual(["it is being deleted"]);
    const leaving = made(machine);
    leaving.metadata.deletionTimestamp = "now";
    expect(told(plan(machine, { configs: [leaving] }))).toEqual(["its network config is being deleted"]);
    const annotations = { [declinedAnnotation]: nicsMark(machine) };
    expect(told(plan(vm([{ name: "y", mac: macs.a }], { annotations })))).toEqual([
      "its network config was deleted by hand",
    ]);
    expect(told(plan(vm([{ name: "y", mac: macs.b }], { annotations })))).toEqual(["create", "0b shop/blue"]);
  });

  it("carries keep-addresses over, reads the former name of the list, and a record that is none", () => {
    const machine = vm([{ name: "y", mac: macs.a }], { annotations: { [keepAddressesAnnotation]: "720h" } });
    const config = made(machine);
    expect(config.metadata.annotations![keepAddressesAnnotation]).toBe("720h");
    const former = { ...config, spec: { vmName: "web", networkConfig: config.spec.networkConfigs! } };
    expect(made(machine, { configs: [former] }).spec).toEqual(config.spec);
    for (const text of ["", "{", "[]", '{"y":1}']) {
      const broken = {
        ...config,
        metadata: { ...config.metadata, annotations: { ...config.metadata.annotations, [recordAnnotation]: text } },
      };
      expect(told(plan(machine, { configs: [broken] }))).toEqual(["update", "0a shop/blue"]);
    }
  });
});
