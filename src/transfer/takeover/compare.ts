// What is recorded, beside what each running pod has: whose address is not recorded for it would be given another next
// time, which the code that hands out decides on a picture of all the records. Nothing is written.
import { poolDefinitionOf, wantOf } from "../../cni/config/pool-definition.ts";
import { decide } from "../../ipam/decide.ts";
import { stableName } from "../../ipam/owner.ts";
import { Pool } from "../../ipam/pool.ts";
import { equal } from "../../net/address.ts";
import { contains } from "../../net/prefix.ts";
import type { Network } from "../plan/network.ts";
import type { ForeignAllocation, LiveAddress } from "./foreign.ts";

/** `recorded`: taken, by the other system. How many of the `networks` agree, and sentences of those that do not. */
export function compare(
  live: readonly LiveAddress[],
  recorded: readonly ForeignAllocation[],
  networks: readonly Network[],
) {
  let agreed = 0;
  const differing: string[] = [];
  for (const network of networks) {
    const mine = live.filter(({ definition }) => definition === network.key);
    for (const range of network.config.ranges) {
      const pool = new Pool(poolDefinitionOf(network.config, range), () => 0);
      for (const { address, owner } of recorded) {
        if (contains(range.prefix, address)) pool.learn(address, identified(owner, mine));
      }
      for (const { address, owner } of mine.filter((each) => contains(range.prefix, each.address))) {
        const answer = decide(pool, { owner, want: wantOf(range) }, () => 0);
        const who = `${owner.namespace}/${owner.name} (${owner.interface})`;
        const fault = `${who} on ${network.key} has ${address}, which is not recorded for it`;
        if (answer.kind !== "grant") differing.push(`${fault}, and would be refused: ${answer.message}`);
        else if (equal(answer.address, address)) agreed += 1;
        else differing.push(`${fault}: it would be given ${answer.address} next time (${answer.why}).`);
      }
    }
  }
  return { agreed, differing };
}

/** Records of whereabouts have no UID: the running pod of that name is the owner. */
function identified(owner: ForeignAllocation["owner"], live: readonly LiveAddress[]): ForeignAllocation["owner"] {
  const pod = live.find((each) => stableName(each.owner) === stableName(owner))?.owner;
  return pod !== undefined && (owner.uid === "" || owner.uid === pod.uid) ? pod : owner;
}
