// What src/ledger does on a server: the parts that are not behind the port of src/ipam.
import { adoptionTests } from "./adoption.ts";
import { coexistenceTests } from "./coexistence.ts";
import { poolTests } from "./pools.ts";
import { upstreamTests } from "./upstream.ts";
import type { LedgerWorld } from "./world.ts";

export function ledgerTests(world: LedgerWorld): void {
  coexistenceTests(world);
  adoptionTests(world);
  poolTests(world);
  upstreamTests(world);
}
