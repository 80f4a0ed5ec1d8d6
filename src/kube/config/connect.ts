// From a configuration to a client: the network, and the credential of the moment on every request.
import { type Clock, realClock } from "../clock.ts";
import { type ClientOptions, KubeClient } from "../rest.ts";
import { type NetworkTransport, networkTransport } from "../transport/network.ts";
import { type ApiRequest, type ApiResponse, NotSentError, type Transport } from "../transport/transport.ts";
import type { ClusterConfig, Credential } from "./credentials.ts";

export interface Connection extends AsyncDisposable {
  readonly client: KubeClient;
  /** What the client speaks through, for those who put something in between. */
  readonly transport: Transport;
}

export function connect(config: ClusterConfig, options: Omit<ClientOptions, "transport"> = {}): Connection {
  const network = new AuthenticatedNetwork(config, options.clock ?? realClock);
  const client = new KubeClient({ ...options, transport: network.transport });
  return { client, transport: network.transport, [Symbol.asyncDispose]: () => network.close() };
}

/** A client certificate belongs to the connection: a new one means new connections. A token belongs to the request. */
class AuthenticatedNetwork {
  readonly #config: ClusterConfig;
  readonly #clock: Clock;
  #network: NetworkTransport | undefined;
  #cert: string | undefined;
  /** Those of older certificates, while calls are under way on them. */
  readonly #retired = new Set<NetworkTransport>();
  #closed = false;

  constructor(config: ClusterConfig, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
  }

  readonly transport: Transport = async (request) => {
    const credential = await this.#credential();
    const response = await this.#send(request, credential);
    if (response.status !== 401) return response;
    // Refused before anything was done, so asking again with a newer credential is safe; with the same one pointless.
    this.#config.credentials.reject(credential);
    const newer = await this.#credential().catch(() => credential);
    if (newer === credential) return response;
    await Array.fromAsync(response.body); // so that the connection can be used again
    return this.#send(request, newer);
  };

  async close(): Promise<void> {
    this.#closed = true;
    const networks = this.#network === undefined ? this.#retired : [...this.#retired, this.#network];
    await Promise.all(Array.from(networks, (each) => each[Symbol.asyncDispose]()));
  }

  async #credential(): Promise<Credential> {
    try {
      return await this.#config.credentials.current();
    } catch (cause) {
      throw new NotSentError(`There is no credential to send: ${String(cause)}`, { cause });
    }
  }

  #send(request: ApiRequest, credential: Credential): Promise<ApiResponse> {
    if (this.#closed) throw new NotSentError("The connection was closed.");
    if (this.#network === undefined || this.#cert !== credential.cert) {
      const { server, ca, serverName } = this.#config;
      if (this.#network !== undefined) this.#retire(this.#network);
      const { cert, key } = credential;
      this.#network = networkTransport(server, { ca, serverName, cert, key }, this.#clock);
      this.#cert = cert;
    }
    return this.#network.transport({ ...request, headers: { ...request.headers, ...credential.headers } });
  }

  #retire(network: NetworkTransport): void {
    this.#retired.add(network);
    const forget = () => void this.#retired.delete(network);
    network.retire().then(forget, forget);
  }
}
