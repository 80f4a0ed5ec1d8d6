// Which NIC a claim is of where nothing is recorded on it: by the name that it would have. Pure.
import { claimName } from "../../api/claim-marks.ts";
import type { Life } from "./lives.ts";

/** Empty: its name is not made like one of a VM's claims. */
export function nicOfClaim(name: string, vm: string, lives: readonly Life[]): string {
  const specs = lives.flatMap((life) => [life.vm?.spec?.template?.spec, life.vmi?.spec]);
  const nics = specs.flatMap((spec) => (Array.isArray(spec?.networks) ? spec.networks : [])).map((each) => each?.name);
  const found = nics.find((nic) => typeof nic === "string" && claimName(vm, nic) === name);
  if (found !== undefined) return found;
  const rest = name.startsWith(`${vm}.`) ? name.slice(vm.length + 1) : "";
  return rest !== "" && claimName(vm, rest) === name ? rest : "";
}
