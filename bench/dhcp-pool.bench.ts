// Memory of a controller with a managed /8 and 100,000 bindings; the peer is the seed's map with an entry per address
//
//   npm run bench -- dhcp-pool [--bindings 100000] [--nics 10] [--restarts 3] [--node-options "..."] [--no-peer]
//
// The controller is the image's program, with the arguments and the environment of deploy/holdfast.yaml, a process
// of its own; the embedded API is another. Measured: without any pool; with a /8 (from its creation until its status
// says what is available); with --bindings in it, --nics of them in each network config, started anew --restarts times:
// until it is ready (all is listed), until the pool's status counts every binding, until it rests; then VmRSS and VmHWM
// at rest, and once more after a scrape of its metrics. The peer, in the same run: a Go map with 16,777,213 entries, as
// the seed describes Harvester's controller. `ours` and `peer` are RSS at rest; the restart in the middle counts.
// --node-options replaces the Deployment's NODE_OPTIONS ("" for none).
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { progress } from "./cni/table.ts";
import { measurePeer } from "./dhcp-pool/peer.ts";
import { type Figures, PoolStage } from "./dhcp-pool/stage.ts";
import { close } from "./measure.ts";

const { values } = parseArgs({
  allowNegative: true,
  options: {
    bindings: { type: "string", default: "100000" },
    nics: { type: "string", default: "10" },
    restarts: { type: "string", default: "3" },
    "node-options": { type: "string" },
    peer: { type: "boolean", default: true },
  },
});
const bindings = Number(values.bindings);
const nics = Number(values.nics);
const restarts = Number(values.restarts);
const nodeOptions = values["node-options"];

const log = progress("dhcp-pool");
const folder = mkdtempSync(join(tmpdir(), "holdfast-dhcp-pool-"));

async function run() {
  const peer = values.peer ? await measurePeer(folder) : { reason: "--no-peer" };
  log(`one entry per address: ${JSON.stringify(peer)}`);
  await using stage = await PoolStage.set(folder, nodeOptions);
  const bare = await stage.bare();
  log(`no pool: ${JSON.stringify(bare)}`);
  const built = await stage.build();
  log(`an empty /8: ${JSON.stringify(built)}`);
  log(`${bindings} bindings are written, ${nics} in each network config`);
  await stage.seed({ bindings, nics });
  const all: Figures[] = [];
  for (let round = 0; round < restarts; round++) {
    all.push(await stage.restart(bindings));
    log(`started anew: ${JSON.stringify(all.at(-1))}`);
  }
  const middle = all.toSorted((a, b) => a.rssMiB - b.rssMiB)[all.length >> 1]!;
  const rounded = (value: number) => Number(value.toFixed(2));
  close({
    bench: "dhcp-pool",
    ours: middle.rssMiB,
    ...("reason" in peer
      ? { peer: null, ratio: null, reason: peer.reason }
      : { peer: peer.rssMiB, ratio: rounded(peer.rssMiB / middle.rssMiB) }),
    unit: `MiB of RSS, a /8 with ${bindings} bindings; the peer is a map with one entry per address, without a controller`,
    nics,
    noPool: bare,
    emptyPool: built,
    restarts: all,
    perAddressMap: peer,
  });
}

try {
  await run();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
