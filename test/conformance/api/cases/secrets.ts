// Secrets.
import { expect } from "vitest";

import { mergePatch, post } from "../call.ts";
import type { Subject } from "../fixture.ts";
import { secret } from "../fixtures.ts";

const encoded = (text: string) => Buffer.from(text).toString("base64");

export const secrets: Subject = {
  name: "secrets",
  cases: {
    "stringData becomes data": async (fixture) => {
      const made = await fixture.make(
        "secrets",
        secret("a", { data: { k: encoded("old"), l: encoded("w") }, stringData: { k: "v" } }),
      );
      expect(made["data"]).toEqual({ k: encoded("v"), l: encoded("w") });
      expect(made).not.toHaveProperty("stringData");
    },
    "a secret is opaque unless told otherwise": async (fixture) => {
      expect((await fixture.make("secrets", secret("a")))["type"]).toBe("Opaque");
    },
    "data that is not base64 is a bad request": async (fixture) => {
      await fixture.api.refused(post(fixture.at("secrets"), secret("a", { data: { k: "%%%" } })), 400, "BadRequest");
    },
    "the type of a secret cannot be changed": async (fixture) => {
      await fixture.make("secrets", secret("a"));
      const status = await fixture.api.refused(
        mergePatch(fixture.at("secrets", "a"), { type: "example.com/x" }),
        422,
        "Invalid",
      );
      expect(status.details?.causes?.[0]).toMatchObject({ field: "type" });
    },
    "a TLS secret needs certificate and key": async (fixture) => {
      const call = post(
        fixture.at("secrets"),
        secret("a", { type: "kubernetes.io/tls", data: { "tls.crt": encoded("c") } }),
      );
      const status = await fixture.api.refused(call, 422, "Invalid");
      expect(status.details?.causes?.map(({ field }) => field)).toContain("data[tls.key]");
    },
    "the data of an immutable secret cannot be changed": async (fixture) => {
      await fixture.make("secrets", secret("a", { immutable: true, stringData: { k: "v" } }));
      await fixture.api.refused(mergePatch(fixture.at("secrets", "a"), { stringData: { k: "w" } }), 422, "Invalid");
      await fixture.api.refused(mergePatch(fixture.at("secrets", "a"), { immutable: false }), 422, "Invalid");
      await fixture.api.done(mergePatch(fixture.at("secrets", "a"), { metadata: { labels: { x: "y" } } }));
    },
  },
};
