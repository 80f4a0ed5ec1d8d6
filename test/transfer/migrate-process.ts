// A migration in a process that kills itself with SIGKILL after its n-th write has reached the server. Lease renewals
// and questions whether the fence is up (dry runs) do not count: their times vary. Prints the writes at its end.
import { realClock } from "../../src/kube/clock.ts";
import { connect } from "../../src/kube/config/connect.ts";
import { loadKubeconfig } from "../../src/kube/config/kubeconfig.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { apply } from "../../src/transfer/apply.ts";
import { plainGoal } from "../../src/transfer/plan/testing/goal.ts";
import { fileStore } from "../../src/transfer/record/record-file.ts";
import { rollback } from "../../src/transfer/rollback.ts";

const [, , command, kubeconfig = "", record = "", killAfter = "0"] = process.argv;
await using connection = connect(await loadKubeconfig({ path: kubeconfig }));
let writes = 0;
const transport: Transport = async (request) => {
  const response = await connection.transport(request);
  const isRenewal = request.method === "PUT" && request.path.includes("/leases/");
  const isQuestion = request.path.includes("dryRun=All");
  if (request.method !== "GET" && !isRenewal && !isQuestion) {
    writes += 1;
    if (writes === Number(killAfter)) process.kill(process.pid, "SIGKILL");
  }
  return response;
};
const options = {
  client: new KubeClient({ transport }),
  clock: realClock,
  store: fileStore(record),
  systemNamespace: "kube-system",
  newId: () => `killed-${process.pid}`,
  say: () => {},
  quietMs: { fenced: 10, unfenced: 10 },
  signal: new AbortController().signal,
};
if (command === "rollback") await rollback({ ...options, force: false });
else await apply({ ...options, goal: { ...plainGoal, to: "namespaced" }, editDefinitions: true });
process.stdout.write(`${writes}\n`);
