import { describe, expect, it } from "vitest";

import { ClusterCommand } from "./cluster-command.ts";
import { type OvnFlags, ovnOptionsOf, ownZoneOf, withOvnFlags } from "./ovn-flags.ts";

function optionsOf(...flags: readonly string[]) {
  return ovnOptionsOf(flagsOf(...flags));
}

function flagsOf(...flags: readonly string[]): OvnFlags {
  const command = withOvnFlags(new ClusterCommand("controller"), "write").exitOverride();
  command.configureOutput({ writeErr: () => {} }).action(() => {});
  return command.parse(flags, { from: "user" }).opts<OvnFlags>();
}

const at = ["--ovn-northbound", "unix:/run/ovn/ovnnb_db.sock"];

describe("the default network on OVN", () => {
  it("is off without --ovn-northbound, whatever else is said", () => {
    expect(optionsOf()).toBeUndefined();
    expect(optionsOf("--ovn-cluster-subnets", "nonsense")).toBeUndefined();
  });

  it("has usual subnets, MTU and DNS service", () => {
    const options = optionsOf(...at)!;
    expect(JSON.parse(JSON.stringify(options))).toEqual({
      northbound: { endpoints: "unix:/run/ovn/ovnnb_db.sock" },
      network: {
        subnets: [{ prefix: "10.244.0.0/16", nodeLength: 24 }],
        joinSubnets: ["100.64.0.0/16"],
        transitSubnets: [],
        mtu: 1400,
        masks: true,
      },
      networkName: "ovn-kubernetes",
      dnsService: { namespace: "kube-system", name: "kube-dns" },
    });
  });

  it("takes all of it as it is said", () => {
    const subnets = "10.128.0.0/14/23,fd10:244::/48/64";
    const more = ["--no-ovn-masquerade", "--dns-service-name", "coredns", "--ovn-network-name", "pods"];
    const options = optionsOf(...at, "--ovn-cluster-subnets", subnets, "--ovn-mtu", "8900", ...more)!;
    expect(options.network).toMatchObject({ mtu: 8900, masks: false });
    expect(options.network.subnets.map(({ prefix, nodeLength }) => `${prefix}/${nodeLength}`).join()).toBe(subnets);
    expect(options).toMatchObject({ networkName: "pods", dnsService: { name: "coredns" } });
  });

  it.each([
    [["--ovn-northbound", "10.0.0.1:6641"], "is no endpoint"],
    [[...at, "--ovn-transit-subnets", "100.88.0.0/16"], "not to the controller"],
    [[...at, "--ovn-cluster-subnets", "10.244.0.0/16/8"], "write 17 to 29"],
    [["--ovn-northbound", "ssl:10.0.0.1:6641", "--ovn-ca-cert", "ca.pem"], "ssl needs all three"],
  ])("%j: says what is wrong", (flags, words) => {
    expect(() => optionsOf(...flags)).toThrow(words);
  });

  it("reads certificates when a connection is made, so that renewed ones count", async () => {
    const files = ["--ovn-certificate", "/none/c", "--ovn-private-key", "/none/k", "--ovn-ca-cert", "/none/a"];
    const { tls } = optionsOf("--ovn-northbound", "ssl:10.0.0.1:6641", ...files)!.northbound!;
    expect(tls?.peer).toBe("any");
    await expect(tls!.material()).rejects.toThrow("ENOENT");
  });

  it("of interconnected zones the controller writes none, and each daemon its own", () => {
    const transit = ["--ovn-transit-subnets", "100.88.0.0/16,fd97::/64"];
    const options = optionsOf(...transit)!;
    expect(options.northbound).toBeUndefined();
    expect(options.network.transitSubnets.map(String)).toEqual(["100.88.0.0/16"]);
    expect(ownZoneOf(flagsOf(...at, ...transit))?.northbound.endpoints).toBe("unix:/run/ovn/ovnnb_db.sock");
    expect(ownZoneOf(flagsOf(...at))).toBeUndefined();
    expect(() => ownZoneOf(flagsOf(...transit))).toThrow("give --ovn-northbound");
  });
});
