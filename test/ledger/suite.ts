// What src/ledger does on a server: the parts that are not behind the port of src/ipam.
import { adoptionTests } from "./adoption.ts";
import { coexistenceTests } from "./coexistence.ts";
import type { LedgerFixture } from "./fixture.ts";
import { poolTests } from "./pools.ts";
import { upstreamTests } from "./upstream.ts";

export function ledgerTests(fixture: LedgerFixture): void {
  coexistenceTests(fixture);
  adoptionTests(fixture);
  poolTests(fixture);
  upstreamTests(fixture);
}
