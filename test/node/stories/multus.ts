// Calls in the shape recorded of Multus 4.3.0 (thin, on containerd and Kubernetes 1.36; ids and ranges are ours): every
// key of CNI_ARGS comes twice, the second set in changing order; MAC= and IP= end an ADD's and miss in a DEL's; the
// configuration's keys are sorted; CNI_PATH repeats a folder; prevResult has routes never answered, or is absent.
import { expect, it } from "vitest";

import type { GetFixture } from "../suite.ts";

const sandbox = "bb2299f6a2ab0c0bb6ae0c9e4c0d9a1b3bb8ff7b29a1d5a6f3a4d1e58d8f1c07";
const uid = "c7421f7e-0d9c-4f4e-9d7b-5a0c7b1f7a11";

/** Multus' own set, then the runtime's in this order. */
function argsOf(name: string, order: readonly number[], more = ""): string {
  const own = [
    `K8S_POD_NAMESPACE=default`,
    `K8S_POD_NAME=${name}`,
    `K8S_POD_INFRA_CONTAINER_ID=${sandbox}`,
    `K8S_POD_UID=${uid}`,
  ];
  const theirs = [...own, "IgnoreUnknown=1"];
  return `${["IgnoreUnknown=true", ...own, ...order.map((index) => theirs[index])].join(";")}${more}`;
}

interface Call {
  readonly ifname: string;
  readonly args: readonly [add: string, del: string];
  /** As text: the order of the keys is Multus'. */
  readonly add: string;
  readonly del: string;
  readonly given: string;
}

const ipam = (network: string, range: string) =>
  `"ipam":{"network_name":"${network}","range":"${range}","type":"whereabouts"}`;

const calls: readonly (readonly [string, Call])[] = [
  [
    "the first network of `plain, default/plain@second`",
    {
      ifname: "net1",
      args: [argsOf("rec1", [1, 2, 3, 4, 0]), argsOf("rec1", [4, 0, 3, 1, 2])],
      add: `{"bridge":"br0","cniVersion":"1.0.0",${ipam("mu-a", "10.7.0.0/24")},"name":"plain","type":"bridge"}`,
      del:
        `{"bridge":"br0","cniVersion":"1.0.0",${ipam("mu-a", "10.7.0.0/24")},"name":"plain","prevResult":{"cniVersion":"1.0.0","dns":{},` +
        `"interfaces":[{"mac":"9e:0c:5f:d1:3a:71","name":"br0"},{"mac":"ca:11:6c:a1:2a:0d","name":"net1","sandbox":"/var/run/netns/cni-3"}],` +
        `"ips":[{"address":"10.7.0.1/24","interface":1}]},"type":"bridge"}`,
      given: "10.7.0.1/24",
    },
  ],
  [
    "the second, with an interface's name of its own",
    {
      ifname: "second",
      args: [argsOf("rec1", [0, 4, 2, 1, 3]), argsOf("rec1", [3, 2, 1, 0, 4])],
      add: `{"bridge":"br0","cniVersion":"1.0.0",${ipam("mu-b", "10.7.1.0/24")},"name":"plain","type":"bridge"}`,
      del: `{"bridge":"br0","cniVersion":"1.0.0",${ipam("mu-b", "10.7.1.0/24")},"name":"plain","type":"bridge"}`,
      given: "10.7.1.1/24",
    },
  ],
  [
    "an element with ips, mac and cni-args, of a list that declares ips alone: MAC= and IP= come all the same",
    {
      ifname: "lst0",
      args: [
        argsOf("rec2", [2, 1, 0, 4, 3], ";MAC=02:00:00:00:00:77;IP=10.7.2.77/24"),
        argsOf("rec2", [1, 0, 4, 3, 2]),
      ],
      add:
        `{"args":{"cni":{"hello":"world","n":1}},"bridge":"br0","capabilities":{"ips":true},"cniVersion":"0.3.1",` +
        `${ipam("mu-c", "10.7.2.0/24")},"name":"list-net","runtimeConfig":{"ips":["10.7.2.77/24"]},"type":"bridge"}`,
      del:
        `{"args":{"cni":{"hello":"world","n":1}},"bridge":"br0","capabilities":{"ips":true},"cniVersion":"0.3.1",` +
        `${ipam("mu-c", "10.7.2.0/24")},"name":"list-net","runtimeConfig":{"ips":["10.7.2.77/24"]},"type":"bridge"}`,
      given: "10.7.2.77/24",
    },
  ],
  [
    "an element with default-route: prevResult has the route that Multus added",
    {
      ifname: "net2",
      args: [argsOf("rec2", [4, 3, 2, 1, 0], ";MAC=02:00:00:00:00:78"), argsOf("rec2", [0, 1, 2, 3, 4])],
      add:
        `{"bridge":"br0","capabilities":{"ips":true,"mac":true},"cniVersion":"1.0.0",${ipam("mu-d", "10.7.3.0/24")},` +
        `"name":"routed","runtimeConfig":{"mac":"02:00:00:00:00:78"},"type":"bridge"}`,
      del:
        `{"bridge":"br0","capabilities":{"ips":true,"mac":true},"cniVersion":"1.0.0",${ipam("mu-d", "10.7.3.0/24")},` +
        `"name":"routed","prevResult":{"cniVersion":"1.0.0","dns":{},"interfaces":[{"mac":"02:00:00:00:00:78","name":"net2",` +
        `"sandbox":"/var/run/netns/cni-5"}],"ips":[{"address":"10.7.3.1/24","interface":0}],"routes":[{"dst":"0.0.0.0/0","gw":"10.7.3.1"}]},` +
        `"runtimeConfig":{"mac":"02:00:00:00:00:78"},"type":"bridge"}`,
      given: "10.7.3.1/24",
    },
  ],
];

export function multusStories(fixture: GetFixture): void {
  const environment = (command: string, { ifname }: Pick<Call, "ifname">, args: string, netns: string) => ({
    CNI_ARGS: args,
    CNI_COMMAND: command,
    CNI_CONTAINERID: sandbox,
    CNI_IFNAME: ifname,
    CNI_NETNS: netns,
    CNI_PATH: "/opt/cni/bin:/opt/cni/bin",
  });
  const netns = "/var/run/netns/cni-35e9e1f5-1c9b-4d6b-8d2f-0a4f9b0f4c52";

  it.each(calls)("%s", async (_what, call) => {
    const daemonFixture = await fixture().daemon();
    const network = /"network_name":"([^"]*)"/.exec(call.add)![1]!;
    const added = await daemonFixture.raw(environment("ADD", call, call.args[0], netns), call.add);
    expect([added.status, added.json.ips?.[0]?.address ?? added.text]).toEqual([0, call.given]);
    expect(await fixture().held(`network:${network} `)).toHaveLength(1);
    const again = await daemonFixture.raw(environment("ADD", call, call.args[0], netns), call.add);
    expect(again.json).toEqual(added.json);
    const version: string = JSON.parse(call.add).cniVersion;
    const checked = { ...JSON.parse(call.add), prevResult: added.json };
    const check = await daemonFixture.raw(environment("CHECK", call, call.args[1], netns), JSON.stringify(checked));
    expect([check.status, check.json?.code]).toEqual(version === "0.3.1" ? [1, 1] : [0, undefined]);
    expect(await daemonFixture.raw(environment("DEL", call, call.args[1], ""), call.del)).toMatchObject({
      status: 0,
      text: "",
    });
    expect(await fixture().held(`network:${network} `)).toEqual([]);
    expect(await daemonFixture.raw(environment("DEL", call, call.args[1], netns), call.del)).toMatchObject({
      status: 0,
    });
  });

  it.each(calls)("STATUS and GC with its configurations: %s", async (_what, call) => {
    const daemonFixture = await fixture().daemon();
    const own = { ...call, ifname: `${call.ifname}x` };
    const network = /"network_name":"([^"]*)"/.exec(call.add)![1]!;
    expect(await daemonFixture.raw(environment("ADD", own, call.args[0], netns), call.add)).toMatchObject({
      status: 0,
    });
    const more = `"cni.dev/valid-attachments":[{"containerID":"${sandbox}","ifname":"${own.ifname}"}],`;
    const gc = { CNI_COMMAND: "GC", CNI_PATH: "/opt/cni/bin:/opt/cni/bin", CNI_ARGS: "", CNI_IFNAME: "" };
    expect(await daemonFixture.raw({ ...gc, CNI_COMMAND: "STATUS" }, call.del)).toMatchObject({ status: 0, text: "" });
    expect(await daemonFixture.raw(gc, call.del.replace("{", `{${more}`))).toMatchObject({ status: 0, text: "" });
    expect(await fixture().held(`network:${network} `)).toHaveLength(1);
    expect(await daemonFixture.raw(gc, call.del.replace("{", '{"cni.dev/valid-attachments":[],'))).toMatchObject({
      status: 0,
    });
    expect(await fixture().held(`network:${network} `)).toEqual([]);
  });
}
