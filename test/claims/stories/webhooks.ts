// The webhooks of a controller, in front of a story's server, until the story is over.
import { webhookServiceName } from "../../../src/cluster/webhooks.ts";
import { assembleController } from "../../../src/controller/controller.ts";
import { webhookConfigurations } from "../../../src/kube/admission/webhook-configuration.ts";
import { realClock } from "../../../src/kube/clock.ts";
import { isApiError } from "../../../src/kube/errors.ts";
import { defineResource } from "../../../src/kube/resource.ts";
import type { KubeClient } from "../../../src/kube/rest.ts";
import { silent } from "../../../src/log/log.ts";
import { claimsConfigurations } from "../../../tools/generate/deploy/webhook-configurations.ts";
import { freePort } from "../../lab/port.ts";
import { until } from "../../lab/wait.ts";
import { claims } from "../claim-objects.ts";
import type { StoryFixture } from "./fixture.ts";

const systemNamespace = "kube-system";
const secrets = defineResource({ group: "", version: "v1", plural: "secrets", kind: "Secret", namespaced: true });

/** Runs the story while they answer. The fixture acts as the controller; `tenant` is somebody who may edit claims. */
export async function withWebhooks(
  fixture: StoryFixture,
  tenant: KubeClient,
  story: () => Promise<void>,
): Promise<void> {
  const { admin: client } = fixture;
  const port = await freePort();
  await client.create(secrets, { metadata: { namespace: systemNamespace, name: webhookServiceName } });
  const clientConfig = (path: string) => ({ url: `https://127.0.0.1:${port}${path}` });
  const { mutating, validating } = claimsConfigurations(clientConfig);
  await client.create(webhookConfigurations.mutating, mutating);
  await client.create(webhookConfigurations.validating, validating);
  const stop = new AbortController();
  const errors: Error[] = [];
  const onError = (error: Error) => void errors.push(error);
  const ended = assembleController({
    client,
    clock: realClock,
    log: silent,
    systemNamespace,
    cooldownMs: 0,
    instance: "t",
    reconcilers: [],
    webhook: { host: "127.0.0.1", port, names: ["127.0.0.1"] },
    onError,
  }).run(stop.signal);
  try {
    await until(() => isAsked(fixture, tenant), {
      what: `the webhooks (${errors.map(({ message }) => message).join("; ")})`,
    });
    await story();
  } finally {
    stop.abort();
    await ended;
  }
}

/** An odd claim is refused: the API server has learnt of the configuration and the certificate. */
async function isAsked({ namespace }: StoryFixture, tenant: KubeClient): Promise<boolean> {
  const odd = { metadata: { namespace, name: "probe" }, spec: { network: "no such network", interface: "" } };
  return tenant.create(claims, odd, { dryRun: true }).then(
    () => false,
    (error: unknown) => isApiError(error) && error.message.includes("no such network"),
  );
}
