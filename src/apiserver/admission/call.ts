// One call of one webhook over HTTPS, its certificate checked against the configuration's caBundle.
import { request } from "node:https";

import { type Clock, deadline } from "../../kube/clock.ts";
import { type JsonObject, isObject } from "../json.ts";
import type { AdmissionTarget } from "./webhook.ts";

/** A response carries at most a patch of one object: twice the object limit, in base64 (4/3), leaves room for more. */
const replyBytesMax = 4 * 1024 * 1024;

interface WebhookCall extends AdmissionTarget {
  readonly caBundle: string | undefined;
  readonly timeoutMs: number;
  readonly body: string;
}

/** Rejects with a sentence that says what went wrong. Injected, so that a simulation needs no sockets. */
export type CallWebhook = (call: WebhookCall) => Promise<JsonObject>;

export async function callOverHttps(clock: Clock, call: WebhookCall): Promise<JsonObject> {
  using limit = deadline(clock, call.timeoutMs);
  return await exchange(call, limit.signal); // awaited here, or the deadline would be over with this line
}

function exchange(call: WebhookCall, signal: AbortSignal): Promise<JsonObject> {
  return new Promise((resolve, reject) => {
    const fail = (message: string, cause?: unknown) => reject(new Error(message, { cause }));
    const outgoing = request(
      call.url,
      {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json",
          "content-length": Buffer.byteLength(call.body),
        },
        ...(call.caBundle === undefined ? {} : { ca: call.caBundle }),
        ...(call.serverName !== undefined && { servername: call.serverName }),
        ...(call.host !== undefined && { host: call.host, hostname: call.host, port: call.port }),
        agent: false,
        signal,
      },
      (reply) => {
        const chunks: Buffer[] = [];
        let size = 0;
        reply.on("data", (chunk: Buffer) => {
          size += chunk.length;
          if (size > replyBytesMax) outgoing.destroy(new Error(`the reply is larger than ${replyBytesMax} bytes`));
          chunks.push(chunk);
        });
        reply.on("error", (cause) => fail(cause.message, cause));
        reply.on("end", () => {
          if (reply.statusCode !== 200) return fail(`the webhook answered with status ${reply.statusCode}`);
          try {
            const value: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
            if (isObject(value)) resolve(value);
            else fail("the webhook's reply is no AdmissionReview");
          } catch (cause) {
            fail("the webhook's reply is not JSON", cause);
          }
        });
      },
    );
    outgoing.on("error", (cause) => {
      const isTimeout = cause.name === "AbortError";
      fail(isTimeout ? "context deadline exceeded" : cause.message, cause);
    });
    outgoing.end(call.body);
  });
}
