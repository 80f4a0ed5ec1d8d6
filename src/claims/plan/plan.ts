// What is to be done about one family now. Pure; level-triggered: from any state, whatever was seen or missed before.
import type { FamilyFacts } from "./facts.ts";
import type { ClaimStep } from "./steps.ts";

export function planFamily(facts: FamilyFacts): readonly ClaimStep[] {
  void facts;
  return [];
}
