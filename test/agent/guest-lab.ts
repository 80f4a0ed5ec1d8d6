// A QEMU guest with a DHCP client, and agents as processes, on one bridge of a namespace; the API server is the
// embedded one, served on loopback by the test. Every process dies with the test's, and the namespace with them.
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { serve, type Served } from "../../src/apiserver/serve/server.ts";
import { decodeFrame } from "../../src/dhcp/frame/frame.ts";
import { decodeMessage } from "../../src/dhcp/message/decode.ts";
import { messageTypeName } from "../../src/dhcp/message/message-type.ts";
import { Guest } from "../lab/guest/guest.ts";
import { GuestNetwork } from "../lab/guest/network.ts";
import { dyingWithParent } from "../lab/place.ts";
import { AgentProcess } from "./clients-lab.ts";
import { AgentFixture, network } from "./fixture.ts";

const launcher = join(import.meta.dirname, "..", "..", "holdfast");
const tap = "vm0";
export const guestMac = "52:54:00:48:00:81";
/** Of its second NIC, which boots without a client. */
export const strangerMac = "52:54:00:48:00:82";
const strangerTap = "vm1";

/** As distributions' scripts do, and a line for each event. A family to come has its own client beside this one. */
const files = [
  {
    path: "boot.sh",
    content: `#!/bin/sh
ip link set eth0 up
exec udhcpc -f -i eth0 -s /etc/lease.sh -O mtu -t 5 -T 1 -A 1
`,
  },
  {
    path: "etc/lease.sh",
    content: `#!/bin/sh
case $1 in
  deconfig) ip address flush dev $interface ;;
  bound|renew)
    ip address replace $ip/$mask dev $interface
    test -z "$mtu" || ip link set $interface mtu $mtu
    test -z "$router" || ip route replace default via $router dev $interface
    test -z "$dns" || for each in $dns; do echo nameserver $each; done > /etc/resolv.conf
    echo "$1 $ip/$mask from $serverid" >> /run/told.$interface ;;
  *) echo "$1" >> /run/told.$interface ;;
esac
`,
  },
];

export class GuestLab {
  readonly fixture: AgentFixture;
  readonly net: GuestNetwork;
  readonly #folder: string;
  readonly #served: Served;
  readonly #children: ChildProcess[] = [];
  #guest: Guest | undefined;

  private constructor(fixture: AgentFixture, net: GuestNetwork, folder: string, served: Served) {
    this.fixture = fixture;
    this.net = net;
    this.#folder = folder;
    this.#served = served;
  }

  static async open(): Promise<GuestLab> {
    const fixture = await AgentFixture.open();
    const folder = await fixture.folder();
    const served = await serve(fixture.api, { kubeconfigPath: join(folder, "kubeconfig") });
    const lab = new GuestLab(fixture, await GuestNetwork.open(), folder, served);
    for (const name of [tap, strangerTap]) await lab.net.tap(name);
    return lab;
  }

  async close(): Promise<void> {
    await this.#guest?.close();
    for (const child of this.#children) child.kill("SIGKILL");
    await this.net.close();
    await this.#served.close();
    await this.fixture.close();
  }

  async startGuest(): Promise<Guest> {
    const { place } = this.net;
    const nics = [
      { tap, mac: guestMac },
      { tap: strangerTap, mac: strangerMac },
    ];
    this.#guest = await Guest.start({ name: "vm", place, nics, folder: this.#folder, modules: ["8021q"], files });
    return this.#guest;
  }

  async agent(name: string): Promise<AgentProcess> {
    await this.net.cable(name);
    const connection = ["--kubeconfig", join(this.#folder, "kubeconfig"), "--state", join(this.#folder, name)];
    const place = ["--network", `${network}=${name}`, "--netns", this.net.netns, "--agent-name", name];
    const health = ["--metrics-port", "0", "--metrics-host", "127.0.0.1"];
    return new AgentProcess(this.#spawn([launcher, "agent", ...connection, ...place, ...health]));
  }

  /** `holdfast dhcp trace` at the guest's tap, from the moment on that its file is there. */
  trace(): () => TracedMessage[] {
    const file = join(this.#folder, "pcap");
    this.#spawn(this.net.place.wrap([launcher, "dhcp", "trace", "--interface", tap, "--write", file]));
    return () => framesOf(readFileSync(file)).flatMap((frame) => readMessage(frame) ?? []);
  }

  #spawn(command: readonly string[]): ChildProcess {
    const [program = "", ...args] = dyingWithParent(command);
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    this.#children.push(child);
    return child;
  }
}

interface TracedMessage {
  readonly type: string;
  /** Its sender left the checksum to the hardware. */
  readonly isPartial: boolean;
}

function readMessage(bytes: Uint8Array): TracedMessage | undefined {
  const frame = decodeFrame(bytes, { acceptPartialChecksum: true });
  if (frame.kind === "fault") return undefined;
  const message = decodeMessage(frame.payload);
  if (message.kind === "fault") return undefined;
  const isPartial = decodeFrame(bytes, { acceptPartialChecksum: false }).kind === "fault";
  return { type: messageTypeName(message.type ?? 0) ?? "other", isPartial };
}

/** Of a capture file that may be written to meanwhile: src/dhcp/capture/pcap.ts. */
function framesOf(pcap: Buffer): Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (let at = 24; at + 16 <= pcap.length;) {
    const end = at + 16 + pcap.readUInt32LE(at + 8);
    if (end > pcap.length) break;
    frames.push(pcap.subarray(at + 16, end));
    at = end;
  }
  return frames;
}
