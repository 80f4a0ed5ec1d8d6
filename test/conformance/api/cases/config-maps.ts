// ConfigMaps.
import { expect } from "vitest";

import { mergePatch, post } from "../call.ts";
import { configMap } from "../fixtures.ts";
import type { Subject } from "../world.ts";

export const configMaps: Subject = {
  name: "configmaps",
  cases: {
    "binary data is kept in base64": async (world) => {
      const binaryData = { blob: Buffer.from([0, 255, 1]).toString("base64") };
      expect((await world.make("configmaps", { ...configMap("a"), binaryData }))["binaryData"]).toEqual(binaryData);
    },
    "a key has a syntax": async (world) => {
      const status = await world.api.refused(
        post(world.at("configmaps"), configMap("a", { "no spaces": "v" })),
        422,
        "Invalid",
      );
      expect(status.details?.causes?.[0]).toMatchObject({ field: "data[no spaces]" });
    },
    "a key is in data or in binaryData, not in both": async (world) => {
      const body = { ...configMap("a", { k: "v" }), binaryData: { k: "AAAA" } };
      await world.api.refused(post(world.at("configmaps"), body), 422, "Invalid");
    },
    "the data of an immutable configmap cannot be changed": async (world) => {
      await world.make("configmaps", { ...configMap("a", { k: "v" }), immutable: true });
      const status = await world.api.refused(
        mergePatch(world.at("configmaps", "a"), { data: { k: "w" } }),
        422,
        "Invalid",
      );
      expect(status.details?.causes?.[0]).toMatchObject({ field: "data", reason: "FieldValueForbidden" });
    },
    "a configmap of more than 1 MiB is too large": async (world) => {
      const status = await world.api.refused(
        post(world.at("configmaps"), configMap("a", { k: "v".repeat(1024 * 1024 + 1) })),
        422,
        "Invalid",
      );
      expect(status.details?.causes?.[0]).toMatchObject({ reason: "FieldValueTooLong" });
    },
    "text outside ASCII is kept": async (world) => {
      const text = 'Grüße, 世界 🚢\n\t"quoted" \\ \u2028';
      expect((await world.make("configmaps", configMap("a", { k: text })))["data"]).toEqual({ k: text });
    },
  },
};
