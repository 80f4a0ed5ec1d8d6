// Every scenario of the lab, with every version of OVN and every shape of zones that it can be told with; and that some
// of them fail where what they are about is left out.
import { describe, expect, test } from "vitest";

import type { OvnVersion } from "../lab/ovn/packages.ts";
import { scenarios } from "../lab/ovn/scenarios/all.ts";
import { policy } from "../lab/ovn/scenarios/policy.ts";
import type { Scenario, Zones } from "../lab/ovn/scenarios/scenario.ts";
import { stopped } from "../lab/ovn/scenarios/stopped.ts";
import { tell, tellingMs } from "../lab/ovn/scenarios/tell.ts";

const all = scenarios.flatMap((scenario) =>
  scenario.versions.flatMap((version) =>
    scenario.zones.map((zones) => [scenario.name, version, zones, scenario] as [string, OvnVersion, Zones, Scenario]),
  ),
);

test.each(all)(
  "%s with OVN %s, zones: %s",
  async (_, version, zones, scenario) => {
    expect((await tell(scenario, { version, zones, signal: AbortSignal.timeout(tellingMs) })).faults).toEqual([]);
  },
  tellingMs,
);

describe("fails without what it is about", () => {
  test.each([
    [stopped, "announcements"],
    [policy, "port-groups"],
  ] as const)(
    "$name",
    async (scenario, part) => {
      const without = new Set([part]);
      const signal = AbortSignal.timeout(tellingMs);
      const { faults } = await tell(scenario, { version: "25.03", zones: "one", without, signal });
      expect(faults).not.toEqual([]);
    },
    tellingMs,
  );
});
