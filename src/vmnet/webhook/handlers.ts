// The part of managed DHCP in the controller's webhooks: pools, network configs, and the networks that have pools.
import { vmnetWebhooks } from "../../cluster/webhooks.ts";
import type { Handlers } from "../../kube/admission/webhook-server.ts";
import { definitionHandler } from "./definition-handler.ts";
import { networkConfigHandler } from "./network-config-handler.ts";
import { poolDefaultsHandler, poolHandler } from "./pool-handler.ts";
import { VmnetView, type VmnetViewOptions } from "./view.ts";

/** `self`: the name that the API server knows this controller by. */
export function vmnetHandlers(options: VmnetViewOptions, self: () => string): Handlers {
  const view = new VmnetView(options);
  return {
    [vmnetWebhooks.poolDefaults]: poolDefaultsHandler(),
    [vmnetWebhooks.pool]: poolHandler(view, self),
    [vmnetWebhooks.networkConfig]: networkConfigHandler(view, self),
    [vmnetWebhooks.definition]: definitionHandler(view, self),
  };
}
