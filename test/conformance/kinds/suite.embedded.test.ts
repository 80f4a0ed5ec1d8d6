// Our kinds on the embedded API, in the process.
import { openApi } from "../../../src/apiserver/api.ts";
import { kindsConformance } from "./suite.ts";

kindsConformance("embedded API", async () => {
  const api = openApi({ path: ":memory:" });
  return { url: "in-process:", token: "unused", transport: api.transport, stop: async () => api.close() };
});
