// The environment of an invocation: what each command needs, and the owner that comes of it.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { ownerKey } from "../ipam/owner.ts";
import { CniError } from "./error.ts";
import { type AttachmentInvocation, type Environment, ownerOf, parseInvocation } from "./invocation.ts";

const pod =
  "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web-0;K8S_POD_UID=8d3f-1;K8S_POD_INFRA_CONTAINER_ID=c1";
const add = {
  CNI_COMMAND: "ADD",
  CNI_CONTAINERID: "c1",
  CNI_NETNS: "/run/netns/c1",
  CNI_IFNAME: "net1",
  CNI_ARGS: pod,
  CNI_PATH: "/opt/cni/bin:/usr/lib/cni",
};

function attachment(environment: Environment): AttachmentInvocation {
  return parseInvocation(environment) as AttachmentInvocation;
}

/** The keys that are complained of. */
function complaints(run: () => unknown): string[] {
  try {
    run();
  } catch (error) {
    if (!(error instanceof CniError)) throw error;
    expect(error.code).toBe(4);
    return error.problems.length === 0 ? [error.message] : error.problems.map((problem) => problem.key);
  }
  return [];
}

describe("parseInvocation", () => {
  it("reads an ADD", () => {
    expect(parseInvocation(add)).toEqual({
      command: "ADD",
      containerId: "c1",
      interfaceName: "net1",
      netns: "/run/netns/c1",
      args: { podName: "web-0", podNamespace: "shop", podUid: "8d3f-1", ips: [], gateways: [], warnings: [] },
    });
  });

  it.each([
    ["ADD", ["CNI_CONTAINERID", "CNI_IFNAME", "CNI_NETNS"]],
    ["CHECK", ["CNI_CONTAINERID", "CNI_IFNAME", "CNI_NETNS"]],
    ["DEL", []],
    ["GC", []],
    ["STATUS", []],
    ["VERSION", []],
  ])("%s needs %j, and says all of it at once", (command, keys) => {
    expect(complaints(() => parseInvocation({ CNI_COMMAND: command }))).toEqual(keys);
  });

  it("refuses another command, or none", () => {
    expect(complaints(() => parseInvocation({ CNI_COMMAND: "add" }))[0]).toContain('CNI_COMMAND is "add"');
    expect(complaints(() => parseInvocation({}))[0]).toContain("CNI_COMMAND is missing");
  });

  it.each([
    ["CNI_CONTAINERID", "-c1"],
    ["CNI_CONTAINERID", "a/b"],
    ["CNI_IFNAME", "."],
    ["CNI_IFNAME", ".."],
    ["CNI_IFNAME", "a/b"],
    ["CNI_IFNAME", "a:b"],
    ["CNI_IFNAME", "a b"],
    ["CNI_IFNAME", "x".repeat(16)],
    ["CNI_IFNAME", "é".repeat(8)],
    ["CNI_NETNS", ""],
  ])("refuses %s=%s", (key, value) => {
    expect(complaints(() => parseInvocation({ ...add, [key]: value }))).toEqual([key]);
  });

  it.each([["..."], ["x".repeat(15)], ["eth0.100"]])("takes the interface %s", (name) => {
    expect(attachment({ ...add, CNI_IFNAME: name }).interfaceName).toBe(name);
  });
});

describe("a DEL", () => {
  it("keeps what can be read, and leaves out the rest", () => {
    const environment = { ...add, CNI_COMMAND: "DEL", CNI_IFNAME: "a/b", CNI_ARGS: `${pod};K8S_POD_UID=a:b;x;=y` };
    expect(attachment(environment)).toMatchObject({
      containerId: "c1",
      interfaceName: "",
      args: { podName: "web-0", podUid: "" },
    });
  });

  it("is read from anything at all, and no value is kept that an ADD would not have", () => {
    const names = ["CNI_CONTAINERID", "CNI_IFNAME", "CNI_NETNS", "CNI_ARGS", "CNI_PATH"];
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("../../x", "c1", "net1", pod, `${pod};${pod}`),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), text), (environment) => {
        const { containerId, interfaceName, args } = attachment({ ...environment, CNI_COMMAND: "DEL" });
        expect(containerId).toMatch(/^([a-zA-Z0-9][a-zA-Z0-9_.-]*)?$/);
        expect(interfaceName).not.toMatch(/[/:\s]/);
        expect(`${args.podNamespace}${args.podName}${args.podUid}`).not.toMatch(/[/:]/);
      }),
    );
  });
});

describe("CNI_ARGS", () => {
  const complaintsOf = (text: string) => complaints(() => parseInvocation({ ...add, CNI_ARGS: text }));

  it("carries addresses and gateways", () => {
    const { args } = attachment({ ...add, CNI_ARGS: "IP=10.0.0.5/24, fd00::5/64;GATEWAY=10.0.0.1" });
    expect([args.ips, args.gateways]).toEqual([["10.0.0.5/24", "fd00::5/64"], ["10.0.0.1"]]);
  });

  it.each([
    ["FOO=1", ["CNI_ARGS FOO"]],
    ["IgnoreUnknown=0;FOO=1", ["CNI_ARGS FOO"]],
    ["IgnoreUnknown=true;FOO=1", []],
    ["IgnoreUnknown=maybe", ["CNI_ARGS IgnoreUnknown"]],
    ["K8S_POD_NAME", ["CNI_ARGS"]],
    ["=x", ["CNI_ARGS"]],
    ["K8S_POD_NAME=a;K8S_POD_NAME=b", []],
    ["IgnoreUnknown=0;FOO=1;IgnoreUnknown=1", []],
    ["IgnoreUnknown=1;FOO=1;IgnoreUnknown=0", ["CNI_ARGS FOO"]],
    ["K8S_POD_NAME=a;K8S_POD_NAME=a;", []],
    ["K8S_POD_NAMESPACE=a;K8S_POD_NAME=A", ["CNI_ARGS K8S_POD_NAME"]],
    ["K8S_POD_NAME=Focused_hopper", []],
    ["K8S_POD_NAME=a/b", ["CNI_ARGS K8S_POD_NAME"]],
    ["K8S_POD_NAMESPACE=a/b;K8S_POD_UID=a:b", ["CNI_ARGS K8S_POD_NAMESPACE", "CNI_ARGS K8S_POD_UID"]],
    ["", []],
  ])("%s -> %j", (text, keys) => {
    expect(complaintsOf(text)).toEqual(keys);
  });
});

describe("CNI_ARGS of Multus, which has every key twice", () => {
  const argsOf = (text: string) => attachment({ ...add, CNI_ARGS: text }).args;

  it("the same again says nothing new, and IgnoreUnknown may be written either way", () => {
    expect(argsOf(`IgnoreUnknown=true;${pod.replace("IgnoreUnknown=1;", "")};${pod}`)).toEqual(argsOf(pod));
  });

  it("the last counts, and a warning names what it replaced", () => {
    const { podName, ips, warnings } = argsOf(
      `${pod};K8S_POD_NAME=web-1;IP=10.0.0.5;IP=10.0.0.6;MAC=02:00:00:00:00:01;MAC=02:00:00:00:00:02`,
    );
    expect([podName, ips]).toEqual(["web-1", ["10.0.0.6"]]);
    expect(warnings.map(({ message }) => message)).toEqual([
      'CNI_ARGS K8S_POD_NAME is "web-1": it came before as "web-0"; the last one counts.',
      'CNI_ARGS IP is "10.0.0.6": it came before as "10.0.0.5"; the last one counts.',
    ]);
  });

  it("whatever the order, the last of each key is what counts", () => {
    const entry = fc.tuple(
      fc.constantFrom("K8S_POD_NAME", "K8S_POD_NAMESPACE", "K8S_POD_UID"),
      fc.stringMatching(/^[a-z]{1,3}$/),
    );
    fc.assert(
      fc.property(fc.array(entry), (entries) => {
        const { podName, podNamespace, podUid } = argsOf(entries.map((each) => each.join("=")).join(";"));
        const last = new Map<string, string>(entries);
        expect([podName, podNamespace, podUid]).toEqual(
          ["K8S_POD_NAME", "K8S_POD_NAMESPACE", "K8S_POD_UID"].map((key) => last.get(key) ?? ""),
        );
      }),
    );
  });
});

describe("ownerOf", () => {
  it("is the pod's interface, by UID", () => {
    const owner = ownerOf(attachment(add));
    expect(owner).toEqual({
      kind: "pod",
      uid: "8d3f-1",
      namespace: "shop",
      name: "web-0",
      interface: "net1",
      containerId: "c1",
    });
    const later = ownerOf(attachment({ ...add, CNI_CONTAINERID: "c2" }));
    expect(ownerKey(later)).toBe(ownerKey(owner));
  });

  it("needs to know the pod", () => {
    const keys = complaints(() => ownerOf(attachment({ ...add, CNI_ARGS: "" })));
    expect(keys).toEqual(["CNI_ARGS K8S_POD_NAME", "CNI_ARGS K8S_POD_NAMESPACE"]);
  });

  it("is a container of the node where a runtime has no namespaces, as podman", () => {
    const container = attachment({ ...add, CNI_ARGS: "IgnoreUnknown=1;K8S_POD_NAME=Focused_hopper" });
    expect(ownerOf(container, "vm1")).toMatchObject({ uid: "", namespace: "node.vm1", name: "Focused_hopper" });
    expect(ownerKey(ownerOf(container, "vm1"))).not.toBe(ownerKey(ownerOf(container, "vm2")));
    expect(complaints(() => ownerOf(container))).toEqual(["CNI_ARGS K8S_POD_NAMESPACE"]);
    expect(complaints(() => ownerOf(container, "v".repeat(60)))).toEqual(["CNI_ARGS K8S_POD_NAMESPACE"]);
  });

  it("never gives two attachments one key", () => {
    const name = fc.constantFrom("a", "b", "a-b", "b-a");
    const identity = fc.record({ namespace: name, pod: name, uid: fc.constantFrom("", "u1", "u2"), port: name });
    const keyOf = (one: { namespace: string; pod: string; uid: string; port: string }) => {
      const args = `K8S_POD_NAMESPACE=${one.namespace};K8S_POD_NAME=${one.pod};K8S_POD_UID=${one.uid}`;
      return ownerKey(ownerOf(attachment({ ...add, CNI_ARGS: args, CNI_IFNAME: one.port })));
    };
    fc.assert(
      fc.property(identity, identity, (a, b) => {
        const samePod = a.uid === "" ? a.namespace === b.namespace && a.pod === b.pod : true;
        const same = a.uid === b.uid && samePod && a.port === b.port;
        expect(keyOf(a) === keyOf(b)).toBe(same);
      }),
    );
  });
});
