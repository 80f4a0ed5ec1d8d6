// A process that owns a cluster and does nothing: remains.test.ts kills it. Prints what it has, as one line of JSON.
import { readlinkSync } from "node:fs";

import { cluster } from "../lab/start.ts";

const lab = await cluster({ nodes: Number(process.argv[2] ?? "1") });
const namespaces = [lab.networkPid, ...lab.nodes.map(({ pid }) => pid)].flatMap((pid) =>
  pid === undefined ? [] : readlinkSync(`/proc/${pid}/ns/net`),
);
console.log(JSON.stringify({ name: lab.name, namespaces }));
setInterval(() => {}, 1_000_000);
