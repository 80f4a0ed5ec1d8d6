// A writer like whereabouts: takes the Lease `whereabouts` by leader election (1.5 s, renewed every 0.5 s), writes a
// pool entry, gives the lease up, begins again. Says "wrote" after each write, "waiting" if the lease is another's.
import { ipPools, leases } from "../../src/cluster/resources.ts";
import { connect } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { Elector } from "../../src/kube/leader.ts";

const [, , path, namespace = "", name = ""] = process.argv;
await using connection = connect(await loadKubeconfig({ path }));
const { client } = connection;
const say = (word: string) => process.stdout.write(`${word}\n`);

async function watchHolder(): Promise<void> {
  const lease = await client.get(leases, { namespace, name: "whereabouts" }).catch(() => undefined);
  const holder = lease?.spec?.holderIdentity ?? "";
  if (holder !== "" && !holder.startsWith("default/pod-")) say("waiting");
}
const watching = setInterval(() => void watchHolder(), 200);

for (let n = 1; n < 100_000; n++) {
  const elector = new Elector({
    client,
    namespace,
    name: "whereabouts",
    identity: `default/pod-${n}`,
    leaseDurationMs: 1500,
    renewDeadlineMs: 1000,
    retryPeriodMs: 500,
  });
  await elector.run(new AbortController().signal, async () => {
    const entry = { id: `sandbox-${n}`, podref: `default/pod-${n}`, ifname: "net1" };
    const body = { spec: { allocations: { [String((n % 200) + 1)]: entry } } };
    await client.patch(ipPools, { namespace, name }, { type: "merge", body });
    say("wrote");
  });
}
clearInterval(watching);
