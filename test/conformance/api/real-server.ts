// The real thing for this suite: the lab's control plane without nodes.
import { cluster } from "../../lab/start.ts";
import type { RunningServer } from "./suite.ts";

export async function startRealServer(): Promise<RunningServer> {
  const lab = await cluster();
  const { url, token, ca } = lab.access;
  return { url, token, caPem: ca, compact: () => lab.compact(), stop: () => lab.stop() };
}
