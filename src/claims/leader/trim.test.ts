import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { type Instance, type Machine, trimInstance, trimMachine } from "./caches.ts";

describe("what is kept of VMs and VMIs", () => {
  it("is what a plan reads, and nothing else", () => {
    const interfaces = [{ name: "blue", macAddress: "02:00:00:00:00:01", state: "absent", bridge: {} }];
    const networks = [
      { name: "blue", multus: { networkName: "net" } },
      { name: "default", pod: { vmNetworkCIDR: "x" } },
    ];
    const machine = {
      metadata: {
        name: "vm",
        namespace: "shop",
        uid: "u",
        labels: { "allow-persistent-ips.k8s.cni.cncf.io": "false", tier: "db" },
        annotations: { long: "text" },
        finalizers: ["f"],
      },
      spec: {
        runStrategy: "Always",
        template: { spec: { networks, domain: { devices: { interfaces, disks: [1] }, cpu: {} }, volumes: [] } },
      },
      status: { created: true },
    } as unknown as Machine;
    expect(trimMachine(machine)).toEqual({
      apiVersion: "kubevirt.io/v1",
      kind: "VirtualMachine",
      metadata: {
        name: "vm",
        namespace: "shop",
        uid: "u",
        labels: { "allow-persistent-ips.k8s.cni.cncf.io": "false" },
        annotations: {},
        finalizers: ["f"],
      },
      spec: {
        runStrategy: "Always",
        template: {
          spec: {
            networks: [
              { name: "blue", multus: { networkName: "net" } },
              { name: "default", pod: {} },
            ],
            domain: { devices: { interfaces: [{ name: "blue", macAddress: "02:00:00:00:00:01", state: "absent" }] } },
          },
        },
      },
    });
  });

  it("an odd object stops nobody", () => {
    const odd = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom(null, 1, "x", true),
        fc.array(tie("any"), { maxLength: 3 }),
        fc.dictionary(
          fc.constantFrom("networks", "domain", "devices", "interfaces", "name", "multus", "template", "spec"),
          tie("any"),
        ),
      ),
    })).any;
    fc.assert(
      fc.property(odd, odd, (spec, status) => {
        const object = { metadata: { name: "vm", namespace: "shop" }, spec, status };
        expect(trimMachine(object as unknown as Machine).metadata.name).toBe("vm");
        expect(trimInstance(object as unknown as Instance).metadata.name).toBe("vm");
      }),
    );
  });
});
