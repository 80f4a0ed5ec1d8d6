// The webhooks of managed DHCP on the embedded API.
import { openApi } from "../../src/apiserver/api.ts";
import { KubeClient } from "../../src/kube/rest.ts";
import type { Transport } from "../../src/kube/transport/transport.ts";
import { vmnetWebhookStories } from "./webhook-suite.ts";

vmnetWebhookStories(
  "the embedded API",
  async () => {
    const api = openApi({ path: ":memory:" });
    const client = (transport: Transport) => new KubeClient({ transport });
    const as = (username: string) =>
      client((request) => api.handle(request, { username, groups: ["system:authenticated"] }));
    return {
      admin: client(api.transport),
      controller: as("system:serviceaccount:kube-system:holdfast-controller"),
      tenant: as("tenant"),
      hasRights: false,
      stop: async () => api.close(),
    };
  },
  60_000,
);
