// From a configuration to a client: the network, and the credential of the moment on every request.
import { unrefClock } from "../clock.ts";
import { type ClientOptions, KubeClient } from "../rest.ts";
import { type NetworkTransport, networkTransport } from "../transport/network.ts";
import { type ApiRequest, type ApiResponse, NotSentError, type Transport } from "../transport/transport.ts";
import type { ClusterConfig, Credential } from "./credentials.ts";

export interface Connection extends AsyncDisposable {
  readonly client: KubeClient;
  /** What the client speaks through, for those who put something in between. */
  readonly transport: Transport;
}

/** A client certificate belongs to the connection: a new one means new connections. A token belongs to the request. */
export function connect(config: ClusterConfig, options: Omit<ClientOptions, "transport"> = {}): Connection {
  let network: NetworkTransport | undefined;
  let certInUse: string | undefined;
  let isClosed = false;
  /** Those of older certificates, while calls are under way on them. */
  const retired = new Set<NetworkTransport>();
  const retire = (old: NetworkTransport) => {
    retired.add(old);
    const forget = () => void retired.delete(old);
    old.retire().then(forget, forget);
  };
  const currentCredential = async (): Promise<Credential> => {
    try {
      return await config.credentials.current();
    } catch (cause) {
      throw new NotSentError(`There is no credential to send: ${String(cause)}`, { cause });
    }
  };
  const send = (request: ApiRequest, { cert, key, headers }: Credential): Promise<ApiResponse> => {
    if (isClosed) throw new NotSentError("The connection was closed.");
    if (network === undefined || certInUse !== cert) {
      if (network !== undefined) retire(network);
      const { server, ca, serverName } = config;
      network = networkTransport(server, { ca, serverName, cert, key }, options.clock ?? unrefClock);
      certInUse = cert;
    }
    return network.transport({ ...request, headers: { ...request.headers, ...headers } });
  };
  const transport: Transport = async (request) => {
    const credential = await currentCredential();
    const response = await send(request, credential);
    if (response.status !== 401) return response;
    // Refused before anything was done, so asking again with a newer credential is safe; with the same one pointless.
    config.credentials.reject(credential);
    const newer = await currentCredential().catch(() => credential);
    if (newer === credential) return response;
    await Array.fromAsync(response.body); // so that the connection can be used again
    return send(request, newer);
  };
  const close = async () => {
    isClosed = true;
    const networks = network === undefined ? retired : [...retired, network];
    await Promise.all(Array.from(networks, (each) => each[Symbol.asyncDispose]()));
  };
  return { client: new KubeClient({ ...options, transport }), transport, [Symbol.asyncDispose]: close };
}
