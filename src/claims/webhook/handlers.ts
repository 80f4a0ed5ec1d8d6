// The claims' part of the controller's webhooks: launcher pods and claims.
import { claimsWebhooks } from "../../cluster/webhooks.ts";
import type { Handlers } from "../../kube/admission/webhook-server.ts";
import { claimHandler } from "./claim-handler.ts";
import { launcherHandler } from "./launcher-handler.ts";
import { ClaimsView, type ClaimsViewOptions } from "./view.ts";

/** `self`: the name that the API server knows this controller by. */
export function claimsHandlers(options: ClaimsViewOptions, self: () => string): Handlers {
  const view = new ClaimsView(options);
  return { [claimsWebhooks.launcher]: launcherHandler(view), [claimsWebhooks.claim]: claimHandler(view, self) };
}
