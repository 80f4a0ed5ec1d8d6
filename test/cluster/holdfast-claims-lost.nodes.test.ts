// A node is lost with a VM on it: kubelet, containerd and our daemon are killed, its guest runs on and nobody knows. An
// operator says that it is out of service; the VM starts elsewhere with its address; when our daemon comes back it
// takes the old guest off the network, before any kubelet does. One test, since each step stands on the one before.
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from "vitest";

import { losePods, setOutOfService } from "../claims/kubevirt/nodes.ts";
import { coldStartTimeoutMs } from "../lab/start.ts";
import { until } from "../lab/wait.ts";
import { ClaimFixture, ports, statusOf, storyMs } from "./claim-fixture.ts";

let fixture: ClaimFixture;
beforeAll(async () => {
  fixture = await ClaimFixture.open();
}, coldStartTimeoutMs);
afterAll(() => fixture?.close());
beforeEach(() => onTestFailed(() => console.error(fixture.holdfast.lastWords())));

test(
  "a lost node: the VM has its address elsewhere, and the old sandbox is fenced when the daemon returns",
  { timeout: 2 * storyMs },
  async () => {
    const { kubevirt, holdfast } = fixture;
    const node = fixture.node("node3");
    const machine = await fixture.machine("lost");
    const address = await fixture.start(machine, "node3");
    const old = machine.instance!.active;
    await fixture.usersAre(address, "lost.blue", old);
    const [, sandbox = ""] = (await fixture.kernels(address))[0]!.split(" ");
    const flags = async () =>
      /<([^>]*)>/.exec(await node.exec(["ip", "-n", sandbox, "link", "show", "dev", ports.blue]))![1]!.split(",");
    expect(await flags()).toContain("UP");

    for (const program of [node.kubelet, holdfast.daemon(node), node.containerd]) await program.kill();
    await node.waitReady({ ready: false });
    await setOutOfService(fixture.client, "node3", true);
    expect(await losePods(kubevirt, machine, "node3")).toBe(true);
    fixture.nextNode = "node1";
    expect(await kubevirt.crash(machine)).toBe(true);
    const launcher = machine.instance!.active;
    expect(fixture.addressOf(launcher)).toBe(address);
    // The old guest is still there, with the same address, and on the wire.
    await fixture.kernelsAre(address, "node1", "node3");
    expect(await flags()).toContain("UP");

    await holdfast.daemon(node).start();
    await until(async () => !(await flags()).includes("UP"), { what: "the old sandbox to be fenced", everyMs: 200 });
    expect(await fixture.event("lost.blue", "OldSandboxFenced")).toContain(old.name);
    const inside = await fixture.inside(launcher, "ip", "-o", "link", "show", "dev", ports.blue);
    expect(/<([^>]*)>/.exec(inside)![1]!.split(",")).toContain("UP");

    await node.containerd.start();
    await until(async () => node.kubelet.start().then(() => true), { what: "kubelet on containerd" });
    await setOutOfService(fixture.client, "node3", false);
    await node.waitReady();
    // While only its daemon was heard, the old pod stood there: a taint alone says nothing of a machine that speaks.
    await fixture.usersAre(address, "lost.blue", launcher);
    await fixture.kernelsAre(address, "node1");
    const claim = await fixture.claimIs(
      "lost.blue",
      "the new pod's",
      (each) => statusOf(each).ownerPod?.name === launcher.name,
    );
    expect(statusOf(claim).ips).toEqual([`${address}/24`]);
    await kubevirt.stop(machine);
    expect(await fixture.start(machine, "node3")).toBe(address);
    await kubevirt.delete(machine);
    await fixture.claimGoes("lost.blue");
    await fixture.released(address);
    await holdfast.waitClean();
  },
);
