// The record in the cluster, for a Job whose disk goes with its pod: compressed, in as many ConfigMaps as it needs. The
// first one names the others by a generation, and is written last: whoever reads sees one whole record.
import { gunzipSync, gzipSync } from "node:zlib";

import { type ConfigMap, configMaps } from "../../cluster/resources.ts";
import { picked } from "../../kube/meta.ts";
import type { KubeClient } from "../../kube/rest.ts";
import { TransferError } from "../error.ts";
import { decodeRecord, encodeRecord, type MigrationRecord, type RecordStore } from "./record.ts";

/** A ConfigMap holds 1 MiB; base64 makes four bytes of three: so many compressed bytes leave room for the rest. */
const partBytes = 700 * 1024;
/** 64 parts are 44 MiB compressed, about half a gigabyte of objects: more than etcd keeps of them. */
const mostParts = 64;

export function configMapStore(client: KubeClient, namespace: string, name: string): RecordStore {
  const place = `ConfigMap ${namespace}/${name}`;
  const read = (each: string, signal: AbortSignal) => client.lookUp(configMaps, { namespace, name: each }, { signal });
  const write = async (object: ConfigMap, signal: AbortSignal): Promise<void> => {
    const there = await read(object.metadata.name!, signal);
    const metadata = { ...object.metadata, ...picked(there?.metadata, "resourceVersion") };
    if (there === undefined) await client.create(configMaps, object, { signal });
    else await client.update(configMaps, { ...object, metadata }, { signal });
  };
  return {
    place,
    async load(signal) {
      const head = await read(name, signal);
      if (head === undefined) return undefined;
      const { generation = "", parts = "0" } = head.data ?? {};
      const pieces: Buffer[] = [];
      for (let n = 0; n < Math.min(Number(parts), mostParts); n++) {
        const part = await read(`${name}-${generation}-${n}`, signal);
        pieces.push(Buffer.from(part?.data?.["part"] ?? "", "base64"));
      }
      return decodeRecord(unpacked(Buffer.concat(pieces)), place);
    },
    async save(record: MigrationRecord, signal) {
      const packed = gzipSync(encodeRecord(record));
      const count = Math.ceil(packed.length / partBytes);
      if (count > mostParts) {
        const words = `The record needs ${count} ConfigMaps, ${mostParts} at most: migrate fewer definitions at once (--definition), or keep it in a file.`;
        throw new TransferError("bad-record", words);
      }
      const before = (await read(name, signal))?.data;
      const generation = before?.["generation"] === "a" ? "b" : "a";
      for (let n = 0; n < count; n++) {
        const part = packed.subarray(n * partBytes, (n + 1) * partBytes).toString("base64");
        await write({ metadata: { namespace, name: `${name}-${generation}-${n}` }, data: { part } }, signal);
      }
      const data = { generation, parts: String(count), id: record.id, state: record.state };
      await write({ metadata: { namespace, name }, data }, signal);
    },
  };
}

/** What cannot be unpacked is handed on as it is: the decoder refuses it with the right words. */
function unpacked(bytes: Buffer): string {
  try {
    return gunzipSync(bytes).toString("utf8");
  } catch {
    return "";
  }
}
