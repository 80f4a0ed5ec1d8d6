// The anchor that is always there: Debian's host-local. One file per address in a folder, no API server, no agreement.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { type Absent, type Contestant, whyNotExecutable } from "./contestant.ts";
import { execCall } from "./exec-call.ts";

const file = "/usr/lib/cni/host-local";
const name = "host-local";
const network = "bench";

export interface HostLocalPlan {
  /** Its data; made if it is not there. */
  readonly folder: string;
  readonly subnet: string;
  /** Held before the measurement, by containers that the benchmark does not know. */
  readonly held?: readonly string[];
}

export function hostLocal({ folder, subnet, held = [] }: HostLocalPlan): Contestant | Absent {
  const reason = whyNotExecutable(file);
  if (reason !== undefined) {
    return { name, reason: `${reason}: apt-get install containernetworking-plugins` };
  }
  const data = join(folder, network);
  mkdirSync(data, { recursive: true });
  held.forEach((address, index) => writeFileSync(join(data, address), `held-${index}\r\nnet1`));
  const last = held.at(-1);
  if (last !== undefined) writeFileSync(join(data, "last_reserved_ip.0"), last);
  const ipam = { type: "host-local", dataDir: folder, ranges: [[{ subnet }]] };
  const config = JSON.stringify({ cniVersion: "1.0.0", name: network, type: "macvlan", ipam });
  return { name, call: (command, attachment) => execCall({ file }, command, attachment, config) };
}
