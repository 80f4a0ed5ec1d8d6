// What the journals of daemons hold when they have ended: read from the disk, as the next start of each would.
import { Journal } from "../../src/ledger/journal/journal.ts";
import { makeLog } from "../../src/log/log.ts";
import { sliceFolder } from "../../src/node/slices/authority.ts";
import type { Held } from "./audit.ts";

export interface JournalsRead {
  readonly held: readonly Held[];
  /** Lines that could not be read, in all. */
  readonly damaged: number;
}

/** Key: node; the folder of its daemon's state. */
export async function readJournals(states: ReadonlyMap<string, string>): Promise<JournalsRead> {
  const write = (line: string) => void process.stderr.write(`${line}\n`);
  const log = makeLog({ write, level: "warn", format: "text", now: Date.now });
  const held: Held[] = [];
  let damaged = 0;
  for (const [node, folder] of states) {
    const journal = await Journal.open({ folder: sliceFolder(folder), now: Date.now, log });
    damaged += journal.damaged;
    held.push(...heldBy(node, journal));
    await journal.close();
  }
  return { held, damaged };
}

function heldBy(node: string, journal: Journal): Held[] {
  const networks = new Map(journal.grants().map(({ domain, network }) => [domain, network]));
  return Array.from(journal.holds(), ({ domain, address, owner }) => ({
    node,
    network: networks.get(domain) ?? domain,
    address: String(address),
    owner: owner.kind === "pod" ? `${owner.namespace}/${owner.name} ${owner.interface}` : owner.kind,
  }));
}
