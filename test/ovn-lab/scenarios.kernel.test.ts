// What may happen to VMs, on real OVN with Holdfast's rows: some of the lab's scenarios; the rest is in
// scenarios.kernel.full.test.ts.
import { describe, expect, test } from "vitest";

import { ovnVersions } from "../lab/ovn/packages.ts";
import { failed } from "../lab/ovn/scenarios/failed.ts";
import { policy } from "../lab/ovn/scenarios/policy.ts";
import { third } from "../lab/ovn/scenarios/routed.ts";
import { tell, tellingMs } from "../lab/ovn/scenarios/tell.ts";

const [version] = ovnVersions.slice(-1);

describe(`OVN ${version}`, () => {
  test.each([
    [failed, "one"],
    [policy, "one"],
    [third, "interconnected"],
  ] as const)(
    "$name",
    async (scenario, zones) => {
      expect(
        (await tell(scenario, { version: version!, zones, signal: AbortSignal.timeout(tellingMs) })).faults,
      ).toEqual([]);
    },
    tellingMs,
  );
});
