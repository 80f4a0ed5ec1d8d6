// A process for kill.test.ts: takes and releases addresses of a journal as fast as it can, and says on its standard
// output what it asks for (before) and what it was answered (after), each line written before anything else happens.
import { writeSync } from "node:fs";

import { ownerKey } from "../../src/ipam/owner.ts";
import { Journal } from "../../src/ledger/journal/journal.ts";
import { parseAddress } from "../../src/net/address.ts";
import { domain, grantOf, pod } from "./slice.ts";

const [folder = ""] = process.argv.slice(2);
const journal = await Journal.open({ folder, now: Date.now, slackLines: 200 });
if (journal.grants().length === 0) await journal.put(grantOf("10.0.0.0/24"));
const say = (line: string) => writeSync(1, `${line}\n`);

/** Each lane has addresses of its own, so that the order of its lines is the order of what happened to them. */
async function lane(number: number): Promise<never> {
  for (let turn = 0; ; turn++) {
    const address = parseAddress(`10.0.0.${number * 8 + (turn % 8)}`);
    const known = journal.get(domain, address);
    if (known === undefined) {
      const owner = pod(`${process.pid}-${turn}`);
      say(`ask ${address} ${owner.name}`);
      const answer = await journal.take({ domain, address, owner });
      say(`is ${address} ${answer.outcome === "taken" ? owner.name : "!"}`);
    } else {
      say(`ask ${address} -`);
      const { outcome } = await journal.release({ domain, address, owner: ownerKey(known.owner), cooldownMs: 0 });
      say(`is ${address} ${outcome === "released" ? "-" : "!"}`);
    }
  }
}

say(`damaged ${journal.damaged}`);
await Promise.all(Array.from({ length: 24 }, (_, number) => lane(number)));
