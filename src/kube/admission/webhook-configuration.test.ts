import { expect, test } from "vitest";

import { KubeClient } from "../rest.ts";
import { FakeApi } from "../testing/fake-api.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { trustAuthority, webhookConfigurations } from "./webhook-configuration.ts";

const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/holdfast";

function world(bundles: (string | undefined)[]) {
  const api = new FakeApi();
  const client = new KubeClient({ transport: api.transport, clock: new ManualClock() });
  const webhooks = bundles.map((caBundle, i) => ({
    name: `w${i}`,
    clientConfig: caBundle === undefined ? {} : { caBundle },
  }));
  api.put(path, { metadata: {}, webhooks });
  const trusted = async () =>
    (await client.get(webhookConfigurations.validating, { name: "holdfast" })).webhooks!.map(
      ({ clientConfig }) => clientConfig.caBundle,
    );
  return { api, client, trusted };
}

const encoded = Buffer.from("PEM").toString("base64");

test("every webhook of the configuration gets the bundle", async () => {
  const { client, trusted } = world([undefined, "b2xk", encoded]);
  await trustAuthority(client, "validating", "holdfast", "PEM");
  expect(await trusted()).toEqual([encoded, encoded, encoded]);
});

test("nothing is written where it is there already", async () => {
  const { api, client } = world([encoded]);
  await trustAuthority(client, "validating", "holdfast", "PEM");
  expect(api.count("PATCH")).toBe(0);
});

test("a configuration that was changed meanwhile is read again", async () => {
  const { api, client, trusted } = world([undefined]);
  let changed = false;
  api.fault = ({ method }) => {
    if (method === "PATCH" && !changed) {
      changed = true;
      api.put(path, {
        metadata: {},
        webhooks: [
          { name: "w0", clientConfig: {} },
          { name: "w1", clientConfig: {} },
        ],
      });
    }
    return undefined;
  };
  await trustAuthority(client, "validating", "holdfast", "PEM");
  expect(await trusted()).toEqual([encoded, encoded]);
});
