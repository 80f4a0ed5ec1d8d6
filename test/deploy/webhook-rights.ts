// deploy/webhooks.yaml on the real server: it applies over a controller's writes, and gives the controller its rights.
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import type { Cluster } from "../lab/cluster.ts";
import { type Access, Rest } from "../lab/rest.ts";
import { mayI } from "./reviews.ts";

const webhooksFile = join(import.meta.dirname, "..", "..", "deploy", "webhooks.yaml");

export function webhookRights(open: () => Cluster, account: (name: string) => Promise<Access>): void {
  describe("the webhooks, where they are installed", () => {
    const named = (verb: string, group: string, resource: string, name: string, namespace = "") => ({
      namespace,
      verb,
      group,
      resource,
      name,
    });
    const registration = "admissionregistration.k8s.io";
    const secret = (verb: string, name: string) => named(verb, "", "secrets", name, "kube-system");

    test("one file makes them, and a second time changes nothing that the controller wrote", async () => {
      await open().kubectl(["apply", "-f", webhooksFile]);
      const bundle = Buffer.from("PEM").toString("base64");
      const path = `/apis/${registration}/v1/validatingwebhookconfigurations/holdfast-claims`;
      interface Configuration {
        webhooks: { clientConfig: { caBundle?: string } }[];
      }
      const { webhooks } = await open().rest.get<Configuration>(path);
      const trusted = webhooks.map((each) => ({ ...each, clientConfig: { ...each.clientConfig, caBundle: bundle } }));
      await open().rest.patch(path, { webhooks: trusted });
      await open().rest.patch("/api/v1/namespaces/kube-system/secrets/holdfast-webhook", {
        data: { "tls.crt": bundle },
      });
      await open().kubectl(["apply", "-f", webhooksFile]);
      const after = await open().rest.get<Configuration>(path);
      expect(after.webhooks.map(({ clientConfig }) => clientConfig.caBundle)).toEqual([bundle]);
      const kept = await open().rest.get<{ data: object }>("/api/v1/namespaces/kube-system/secrets/holdfast-webhook");
      expect(kept.data).toEqual({ "tls.crt": bundle });
    });

    test.each([
      ["holdfast-controller", secret("get", "holdfast-webhook"), true],
      ["holdfast-controller", secret("update", "holdfast-webhook"), true],
      ["holdfast-controller", secret("get", "another"), false],
      ["holdfast-controller", secret("list", ""), false],
      ["holdfast-controller", secret("create", ""), false],
      ["holdfast-controller", secret("delete", "holdfast-webhook"), false],
      ["holdfast-controller", named("patch", registration, "mutatingwebhookconfigurations", "holdfast-claims"), true],
      ["holdfast-controller", named("patch", registration, "validatingwebhookconfigurations", "holdfast-claims"), true],
      ["holdfast-controller", named("patch", registration, "mutatingwebhookconfigurations", "holdfast-vmnet"), true],
      ["holdfast-controller", named("patch", registration, "validatingwebhookconfigurations", "holdfast-vmnet"), true],
      ["holdfast-controller", named("list", "networking.k8s.io", "servicecidrs", ""), true],
      ["holdfast-controller", named("patch", registration, "validatingwebhookconfigurations", "another"), false],
      ["holdfast-controller", named("create", registration, "validatingwebhookconfigurations", ""), false],
      ["holdfast-controller", named("create", "authorization.k8s.io", "subjectaccessreviews", ""), true],
      ["holdfast-node", secret("get", "holdfast-webhook"), false],
      ["holdfast-node", named("get", registration, "mutatingwebhookconfigurations", "holdfast-claims"), false],
    ])("%s: %o: %s", async (who, question, isAllowed) => {
      const rest = new Rest(await account(who));
      expect(await mayI(rest, question)).toBe(isAllowed);
      rest.close();
    });
  });
}
