// A guest on a managed network, for a VM that is played: a pod with a NIC of its own there, and in it busybox' DHCP
// client, which runs on through a whole story. What the client did with its interface is on record, event by event: an
// address that it lost would be there.
import type { Cluster } from "../lab/cluster.ts";
import { isReady, type ObservedPod, podSpec } from "../lab/pods.ts";
import { until } from "../lab/wait.ts";

const pods = "/api/v1/namespaces/default/pods";
const waiting = { everyMs: 500, timeoutMs: 240_000 };
/** An Ethernet address that nobody has. */
const nobody = "02:00:00:00:de:ad";

/** udhcpc tells it of every change: the event, the address, the server. `deconfig` is also the loss of a lease. */
const script = `#!/bin/sh
echo "$1 $ip $serverid" >> /tmp/events
case $1 in
  deconfig) ip address flush dev net1 ;;
  bound) ip address flush dev net1; ip address add $ip/$mask dev net1 ;;
esac
`;

export class Guest {
  readonly name: string;
  readonly mac: string;
  readonly #lab: Cluster;

  private constructor(lab: Cluster, name: string, mac: string) {
    this.#lab = lab;
    this.name = name;
    this.mac = mac;
  }

  static async begin(lab: Cluster, name: string, nodeName: string): Promise<Guest> {
    const spec = podSpec(["sleep", "infinity"]);
    const containers = spec.containers.map((each) => ({
      ...each,
      securityContext: { capabilities: { add: ["NET_ADMIN", "NET_RAW"] } },
    }));
    const metadata = { name, annotations: { "k8s.v1.cni.cncf.io/networks": "net" } };
    await lab.rest.create(pods, { metadata, spec: { ...spec, containers, nodeName } });
    await until(async () => isReady(await lab.rest.get<ObservedPod>(`${pods}/${name}`)), { what: name, ...waiting });
    const mac = (await lab.kubectl(["exec", name, "--", "cat", "/sys/class/net/net1/address"])).trim();
    return new Guest(lab, name, mac);
  }

  /** Starts the client; the address and the server that it was told. */
  async obtain(): Promise<string> {
    await this.#sh("cat > /tmp/script && chmod +x /tmp/script", script);
    const client = "setsid udhcpc -f -i net1 -s /tmp/script -t 5 -T 2 -A 2";
    await this.#sh(`ip link set net1 up; ${client} > /tmp/log 2>&1 < /dev/null &`);
    return this.#next("bound", 0);
  }

  /** At once, by unicast to the server that it knows. */
  async renew(): Promise<string> {
    const count = (await this.events()).length;
    await this.#sh("kill -USR1 $(pidof udhcpc)");
    return this.#next("renew", count);
  }

  /** Nobody answers at the server's address any more, so that the client broadcasts when its lease is nearly over. */
  async rebind(server: string): Promise<string> {
    const { length: count } = await this.events();
    const { length: broadcasts } = (await this.log()).filter((line) => line.includes("broadcasting renew"));
    await this.#sh(`arp -i net1 -s ${server} ${nobody}`);
    const told = await this.#next("renew", count);
    const after = (await this.log()).filter((line) => line.includes("broadcasting renew"));
    if (after.length === broadcasts) throw new Error(`${this.name} did not rebind: ${after.join("; ")}`);
    await this.#sh(`arp -i net1 -d ${server}`);
    return told;
  }

  /** `EVENT ADDRESS SERVER` each. */
  async events(): Promise<string[]> {
    return (await this.#sh("cat /tmp/events 2>/dev/null || true")).split("\n").filter(Boolean);
  }

  async log(): Promise<string[]> {
    return (await this.#sh("cat /tmp/log 2>/dev/null || true")).split("\n").filter(Boolean);
  }

  async #next(event: string, count: number): Promise<string> {
    const found = async () => (await this.events()).slice(count).find((line) => line.startsWith(`${event} `));
    const told = await until(found, { what: `${event} of ${this.name}`, ...waiting });
    return told.slice(event.length + 1).replace(" ", " from ");
  }

  #sh(command: string, input?: string): Promise<string> {
    const stdin = input === undefined ? [] : ["-i"];
    return this.#lab.kubectl(["exec", ...stdin, this.name, "--", "sh", "-c", command], input ? { input } : {});
  }
}
