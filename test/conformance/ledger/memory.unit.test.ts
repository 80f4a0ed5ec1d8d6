import { type LedgerFault, MemoryLedger, MemoryStore } from "../../../src/ipam/testing/memory-ledger.ts";
import { amendConformance } from "./amend.ts";
import { ledgerConformance, type LedgerHarness } from "./suite.ts";

async function start(): Promise<LedgerHarness<MemoryLedger>> {
  const store = new MemoryStore();
  let nowMs = 1_000_000;
  let fault: LedgerFault | undefined;
  const strike = () => {
    const struck = fault;
    fault = undefined;
    return struck;
  };
  return {
    domains: ["net-a", "net-b", "net-c"],
    open: async () => new MemoryLedger(store, { now: () => nowMs, fault: strike }),
    loseNextReply: (when) => (fault = `lost-${when}`),
    now: () => nowMs,
    advance: async (ms) => void (nowMs += ms),
    close: async () => {},
  };
}

ledgerConformance("memory", start);
amendConformance("memory", start);
