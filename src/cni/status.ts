// STATUS: whether an ADD would be served now (CNI 1.1.0, section 2 "STATUS"). Success is silence.
import { CniError, errorCodes } from "./error.ts";

export interface Readiness {
  /** Empty: ready. Otherwise what is missing, each as a whole sentence with its remedy. */
  readonly obstacles: readonly string[];
  /** Pods that run already may have lost connectivity, too. */
  readonly limited: boolean;
}

/** Code 50, or 51 where running pods suffer as well; undefined where ready. */
export function statusError({ obstacles, limited }: Readiness): CniError | undefined {
  if (obstacles.length === 0) return undefined;
  const code = limited ? errorCodes.notAvailableAndLimited : errorCodes.notAvailable;
  return new CniError(code, `no address can be given now: ${obstacles.join(" ")}`);
}
