import { expect, it } from "vitest";

import { stateObject } from "../cluster/testing/state.ts";
import { KubeClient } from "../kube/rest.ts";
import { ManualClock } from "../kube/testing/manual-clock.ts";
import { pauseOf } from "./rounds.ts";

it("a server that does not answer has said neither that handing out is paused nor that it is not", async () => {
  const clock = new ManualClock();
  let paused: string | undefined = "";
  const client = new KubeClient({
    transport: async () => {
      if (paused === undefined) throw new Error("no route");
      const body = JSON.stringify(stateObject("kube-system", { coexistence: false, why: "", paused }));
      return { status: 200, headers: {}, body: new Response(body).body! as never };
    },
    timeoutMs: 50,
  });
  const pause = pauseOf({ client, clock, systemNamespace: "kube-system" });
  const ask = async (state: string | undefined) => {
    paused = state;
    await clock.advance(1000);
    return pause(new AbortController().signal);
  };
  expect([await ask(""), await ask("migrate by anna"), await ask(undefined), await ask("")]).toEqual([
    "off",
    "on",
    "unknown",
    "off",
  ]);
});
