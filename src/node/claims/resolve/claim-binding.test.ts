import { expect, it } from "vitest";

import { CniError, errorCodes } from "../../../cni/error.ts";
import { ClaimRefusal, reasonOf } from "./claim-binding.ts";

it.each([
  ["its own word", new ClaimRefusal("InUse", "m"), "InUse"],
  ["an empty range", new CniError(errorCodes.refused, "m", { cause: "exhausted" }), "SubnetExhausted"],
  ["another's address", new CniError(errorCodes.refused, "m", { cause: "held-by-another" }), "IPAddressConflict"],
  ["a quota", new CniError(errorCodes.refused, "m"), "InternalError"],
  ["an API server that is away says nothing about the claim", new CniError(errorCodes.tryAgainLater, "m"), undefined],
  ["nor does a bug", new TypeError("m"), undefined],
])("%s", (_, error, expected) => {
  expect(reasonOf(error)).toBe(expected);
});
