// A webhook's certificate: loaded, and renewed before it expires. All replicas share one Secret, and so one authority:
// the first replica makes it, the others take it.
import { type Clock, realClock } from "../clock.ts";
import { isApiError } from "../errors.ts";
import type { KubeObject } from "../meta.ts";
import { defineResource } from "../resource.ts";
import type { KubeClient } from "../rest.ts";
import { isPair, type KeyPair } from "./certificate.ts";
import { caBundle, renewed, type ServingMaterial } from "./serving-certificate.ts";

interface Secret extends KubeObject {
  type?: string;
  data?: Record<string, string>;
}

const secrets = defineResource<Secret>({ group: "", version: "v1", kind: "Secret", namespaced: true });

export interface WebhookCertificateOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Of the Secret. */
  readonly name: string;
  /** What the API server calls the webhook: `service.namespace.svc`, or an address. */
  readonly names: readonly string[];
  readonly clock?: Clock;
}

/** Every round is lost to another replica that wrote; ten replicas at most are expected. */
const maxRounds = 20;

export class WebhookCertificate {
  readonly #options: WebhookCertificateOptions;

  constructor(options: WebhookCertificateOptions) {
    this.#options = options;
  }

  /** What to serve now, written down before it is returned. */
  async ensure(signal: AbortSignal): Promise<ServingMaterial> {
    const { client, namespace, name, names, clock = realClock } = this.#options;
    for (let round = 0; round < maxRounds; round++) {
      const secret = await client.lookUp(secrets, { namespace, name }, { signal });
      const before = secret === undefined ? undefined : decode(secret);
      const after = renewed(before, names, clock.wallMs());
      if (after === before || (await this.#save(secret, after, signal))) return after;
    }
    throw new Error(`The Secret ${namespace}/${name} was changed by others ${maxRounds} times in a row.`);
  }

  async #save(secret: Secret | undefined, material: ServingMaterial, signal: AbortSignal): Promise<boolean> {
    const { client, namespace, name } = this.#options;
    const data = encode(material);
    try {
      if (secret === undefined) {
        await client.create(secrets, { metadata: { namespace, name }, type: "Opaque", data }, { signal });
      } else await client.update(secrets, { ...secret, data }, { signal });
      return true;
    } catch (error) {
      // Another replica was faster, or the answer was lost: either way the Secret says what counts.
      if (isApiError(error, "conflict", "already-exists", "not-found", "outcome-unknown") && !signal.aborted)
        return false;
      throw error;
    }
  }
}

function encode(material: ServingMaterial): Record<string, string> {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  return {
    "ca.crt": base64(caBundle(material)),
    "ca.key": base64(material.authorities.map(({ key }) => key).join("")),
    "tls.crt": base64(material.serving.cert),
    "tls.key": base64(material.serving.key),
    names: base64(material.names.join("\n")),
  };
}

/** Undefined if somebody has damaged it: it is then made anew. */
function decode({ data = {} }: Secret): ServingMaterial | undefined {
  const text = (key: string) => Buffer.from(data[key] ?? "", "base64").toString("utf8");
  const blocks = (key: string) => text(key).match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----\n/g) ?? [];
  const certs = blocks("ca.crt");
  const keys = blocks("ca.key");
  const serving = { cert: text("tls.crt"), key: text("tls.key") };
  if (certs.length === 0 || certs.length !== keys.length || serving.cert === "" || serving.key === "") return undefined;
  const authorities = certs.map((cert, i): KeyPair => ({ cert, key: keys[i]! }));
  if (![serving, ...authorities].every(isPair)) return undefined;
  return { authorities, serving, names: text("names").split("\n") };
}
