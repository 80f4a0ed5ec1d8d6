// `holdfast claims install-crd` and `release-finalizers`, put together: a connection and the function behind each.
import { describeStep, installClaimDefinition } from "../src/claims/crd.ts";
import { releaseFinalizers as release } from "../src/claims/uninstall.ts";
import type { ClaimsSetup } from "../src/cli/claims-setup.ts";
import { controllerLease } from "../src/cluster/state.ts";
import { realClock } from "../src/kube/clock.ts";
import { connected } from "./connected.ts";

export const installCrd: ClaimsSetup["installCrd"] = (request, output) =>
  connected(request, async (client, signal) => {
    const { dryRun } = request;
    output.line(describeStep(await installClaimDefinition({ client, dryRun, signal }), dryRun));
  });

export const releaseFinalizers: ClaimsSetup["releaseFinalizers"] = (request, output) =>
  connected(request, async (client, signal) => {
    const say = (line: string) => output.line(line);
    await release({ ...request, client, clock: realClock, leaderLease: controllerLease, say, signal });
  });
