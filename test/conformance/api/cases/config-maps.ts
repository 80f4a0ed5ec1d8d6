// ConfigMaps.
import { expect } from "vitest";

import { mergePatch, post } from "../call.ts";
import type { Subject } from "../fixture.ts";
import { configMap } from "../fixtures.ts";

export const configMaps: Subject = {
  name: "configmaps",
  cases: {
    "binary data is kept in base64": async (fixture) => {
      const binaryData = { blob: Buffer.from([0, 255, 1]).toString("base64") };
      expect((await fixture.make("configmaps", { ...configMap("a"), binaryData }))["binaryData"]).toEqual(binaryData);
    },
    "a key has a syntax": async (fixture) => {
      const status = await fixture.api.refused(
        post(fixture.at("configmaps"), configMap("a", { "no spaces": "v" })),
        422,
        "Invalid",
      );
      expect(status.details?.causes?.[0]).toMatchObject({ field: "data[no spaces]" });
    },
    "a key is in data or in binaryData, not in both": async (fixture) => {
      const body = { ...configMap("a", { k: "v" }), binaryData: { k: "AAAA" } };
      await fixture.api.refused(post(fixture.at("configmaps"), body), 422, "Invalid");
    },
    "the data of an immutable configmap cannot be changed": async (fixture) => {
      await fixture.make("configmaps", { ...configMap("a", { k: "v" }), immutable: true });
      const status = await fixture.api.refused(
        mergePatch(fixture.at("configmaps", "a"), { data: { k: "w" } }),
        422,
        "Invalid",
      );
      expect(status.details?.causes?.[0]).toMatchObject({ field: "data", reason: "FieldValueForbidden" });
    },
    "a configmap of more than 1 MiB is too large": async (fixture) => {
      const status = await fixture.api.refused(
        post(fixture.at("configmaps"), configMap("a", { k: "v".repeat(1024 * 1024 + 1) })),
        422,
        "Invalid",
      );
      expect(status.details?.causes?.[0]).toMatchObject({ reason: "FieldValueTooLong" });
    },
    "text outside ASCII is kept": async (fixture) => {
      const text = 'Grüße, 世界 🚢\n\t"quoted" \\ \u2028';
      expect((await fixture.make("configmaps", configMap("a", { k: text })))["data"]).toEqual({ k: text });
    },
  },
};
