// A dial that stands between client and server, and sees and spoils their messages.
import { duplexPair } from "node:stream";

import { type Dial, dialer } from "../../src/ovsdb/rpc/dial.ts";
import { MessageReader } from "../../src/ovsdb/rpc/framing.ts";

interface WireMessage {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: readonly unknown[];
  readonly result?: unknown;
}

/** `pass` it on, `cut` the connection in its place, or answer it with an error. */
type Meddling = "pass" | "cut" | { readonly refuse: string };

export interface Meddler {
  readonly sent?: (message: WireMessage) => Meddling;
  readonly received?: (message: WireMessage) => "pass" | "cut";
}

export function meddlingDial({ sent = () => "pass", received = () => "pass" }: Meddler): Dial {
  return async (endpoint, signal) => {
    const server = await dialer()(endpoint, signal);
    const [client, ours] = duplexPair();
    const [up, down] = [new MessageReader(2 ** 28), new MessageReader(2 ** 28)];
    const cut = () => {
      server.destroy();
      ours.destroy();
    };
    ours.on("data", (chunk: Uint8Array) => {
      for (const message of up.push(chunk) as WireMessage[]) {
        const what = sent(message);
        if (what === "cut") return cut();
        if (what === "pass") server.write(JSON.stringify(message));
        else ours.write(JSON.stringify({ id: message.id, result: null, error: what.refuse }));
      }
    });
    server.on("data", (chunk: Uint8Array) => {
      for (const message of down.push(chunk) as WireMessage[]) {
        if (received(message) === "cut") return cut();
        ours.write(JSON.stringify(message));
      }
    });
    for (const stream of [server, ours]) stream.on("close", cut).on("error", cut);
    return client;
  };
}
