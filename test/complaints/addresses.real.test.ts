// Complaints about which address whereabouts gives (docs/complaints.md): static ones, lists, gateways, IPv6, reuse.
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from "vitest";

import { Fixture } from "../lab/holdfast/fixture.ts";
import type { CniAnswer } from "../lab/holdfast/request.ts";
import { RestError } from "../lab/rest.ts";
import { coldStartTimeoutMs } from "../lab/start.ts";

const reservations = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/overlappingrangeipreservations";
const networksAnnotation = "k8s.v1.cni.cncf.io/networks";
const node = "node1";

// The real server: it is the one that refuses an illegal name.
let fixture: Fixture;
beforeAll(async () => {
  fixture = await Fixture.start({ api: "real" });
}, coldStartTimeoutMs);
afterAll(() => fixture?.stop());
beforeEach(() => onTestFailed(() => console.error(fixture.lastWords())));

const networkOf = (name: string, ipam: object, cniVersion = "1.0.0") => ({
  cniVersion,
  name,
  type: "bridge",
  ipam: { type: "holdfast", ...ipam },
});
const addressesOf = ({ status, body }: CniAnswer) => {
  expect({ status, body }).toMatchObject({ status: 0 });
  return body!.ips!.map(({ address }) => address);
};
const refusalOf = ({ status, body }: CniAnswer) => {
  expect(status).not.toBe(0);
  return `${body?.msg ?? ""} ${body?.details ?? ""}`;
};

interface ReservationObject {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec: { readonly podref: string };
}
/** Who holds it; undefined for what is free or rests. */
async function holderOf(name: string): Promise<string | undefined> {
  try {
    const { metadata, spec } = await fixture.api.rest.get<ReservationObject>(`${reservations}/${name}`);
    return metadata.labels?.["holdfast.io/cooling"] === "true" ? undefined : spec.podref;
  } catch (error) {
    if (error instanceof RestError && error.code === 404) return undefined;
    throw error;
  }
}

async function add(pod: string, config: object, annotations: Readonly<Record<string, string>> = {}) {
  const identity = await fixture.createPod(pod, node, annotations);
  return { identity, answer: await fixture.request("ADD", node, identity, config) };
}

describe("one range in two clusters", () => {
  test("99: each cluster has its part, and gives nothing of the other's, by request neither", async () => {
    const whole = { range: "10.99.0.0/28", network_name: "both", allow_requested_ips: true };
    const parts = [
      networkOf("both", { ...whole, range_end: "10.99.0.7" }),
      networkOf("both", { ...whole, range_start: "10.99.0.8" }),
    ] as const;
    const other = await Fixture.start({ api: "embedded" });
    try {
      const given: string[] = [];
      for (const [index, config] of parts.entries()) {
        const cluster = index === 0 ? fixture : other;
        for (let pod = 1; ; pod++) {
          const identity = await cluster.createPod(`both-${pod}`, node, {});
          const answer = await cluster.request("ADD", node, identity, config);
          if (answer.status !== 0) break;
          given.push(...addressesOf(answer));
        }
        const wanted = { [networksAnnotation]: JSON.stringify([{ name: "both", ips: [`10.99.0.${14 - 8 * index}`] }]) };
        const asking = await cluster.createPod("both-asks", node, wanted);
        expect(refusalOf(await cluster.request("ADD", node, asking, config))).toContain("hands out");
      }
      expect(given).toHaveLength(14);
      expect(new Set(given).size).toBe(14);
    } finally {
      await other.stop();
    }
  });
});

describe("static addresses", () => {
  test("111, 177: the `ips` of the network selection yield one address, not two, and it is reserved", async () => {
    const config = networkOf("static", { range: "10.111.0.0/24", allow_requested_ips: true });
    const wanted = { [networksAnnotation]: JSON.stringify([{ name: "static", ips: ["10.111.0.9"] }]) };
    const first = await add("static-1", config, wanted);
    expect(addressesOf(first.answer)).toEqual(["10.111.0.9/24"]);
    expect(await holderOf("10.111.0.9")).toBe("default/static-1");
    expect(refusalOf((await add("static-2", config, wanted)).answer)).toContain("static-1");
    for (let index = 3; index < 13; index++) {
      expect(addressesOf((await add(`static-${index}`, config)).answer)).not.toContain("10.111.0.9/24");
    }
    expect(await fixture.request("DEL", node, first.identity, config)).toMatchObject({ status: 0 });
    expect(await holderOf("10.111.0.9")).toBeUndefined();
  });

  test("177: an address of `addresses` outside every range is reserved too", async () => {
    const config = networkOf("outside", { range: "10.177.0.0/24", addresses: [{ address: "192.0.2.7/24" }] });
    const { answer } = await add("outside-1", config);
    expect(addressesOf(answer)).toEqual(["10.177.0.1/24", "192.0.2.7/24"]);
    expect(await holderOf("192.0.2.7")).toBe("default/outside-1");
    expect(refusalOf((await add("outside-2", config)).answer)).toContain("192.0.2.7");
    expect(await holderOf("10.177.0.2")).toBeUndefined();
  });
});

describe("lists of addresses", () => {
  test("722, 573: single addresses in the order they are listed, and no others", async () => {
    const list = ["10.122.0.50", "10.122.3.9", "10.122.1.7"];
    const config = networkOf("list", { range: "10.122.0.0/16", pick_addresses: list });
    for (const [index, address] of list.entries()) {
      expect(addressesOf((await add(`list-${index}`, config)).answer)).toEqual([`${address}/16`]);
    }
    expect(refusalOf((await add("list-late", config)).answer)).toContain("10.122.0.0/16");
  });

  test("738: a second block is used when the first is full, by what lies between being excluded", async () => {
    const config = networkOf("blocks", {
      range: "10.138.0.0/16",
      range_start: "10.138.0.1",
      range_end: "10.138.9.2",
      exclude: ["10.138.0.3-10.138.9.0"],
    });
    const given: string[] = [];
    for (let index = 0; index < 4; index++) given.push(...addressesOf((await add(`blocks-${index}`, config)).answer));
    expect(given).toEqual(["10.138.0.1/16", "10.138.0.2/16", "10.138.9.1/16", "10.138.9.2/16"]);
  });
});

test("601, 107: the gateway's address is never handed out, and is in every answer", async () => {
  const config = networkOf("gateway", { range: "10.101.0.0/29", gateway: "10.101.0.1" });
  for (let index = 0; index < 5; index++) {
    const { answer } = await add(`gateway-${index}`, config);
    expect(addressesOf(answer)).toEqual([`10.101.0.${index + 2}/29`]);
    expect(answer.body!.ips![0]!.gateway).toBe("10.101.0.1");
  }
  expect(refusalOf((await add("gateway-late", config)).answer)).toContain("10.101.0.0/29");
  expect(await holderOf("10.101.0.1")).toBeUndefined();
});

test("291: after a restart the pod's own reservation is its address, even where the range is full", async () => {
  const config = networkOf("full", { range: "10.191.0.0/30" });
  const owners = [await add("full-1", config), await add("full-2", config)];
  const before = owners.map(({ answer }) => addressesOf(answer));
  await fixture.daemon(node).process.restart();
  for (const [index, { identity }] of owners.entries()) {
    const containerId = `later-sandbox-${index}`;
    expect(addressesOf(await fixture.request("ADD", node, identity, config, { containerId }))).toEqual(before[index]);
  }
});

describe("IPv6", () => {
  test("83, 293: all of a /64 is usable, its upper half too", async () => {
    const config = networkOf("upper", { range: "fd83::/64", range_start: "fd83::ffff:ffff:ffff:fff0" });
    const { answer, identity } = await add("upper", config);
    expect(addressesOf(answer)).toEqual(["fd83::ffff:ffff:ffff:fff0/64"]);
    expect(await holderOf("fd83-0000-0000-0000-ffff-ffff-ffff-fff0")).toBe("default/upper");
    expect(await fixture.request("DEL", node, identity, config)).toMatchObject({ status: 0 });
    expect(await holderOf("fd83-0000-0000-0000-ffff-ffff-ffff-fff0")).toBeUndefined();
  });

  test("83, 165: ranges whose names would begin or end with `::` get legal names", async () => {
    const answers = [
      (await add("colons-1", networkOf("colons-1", { range: "::/112", range_start: "::5" }))).answer,
      (await add("colons-2", networkOf("colons-2", { range: "fd65::/16", range_start: "fd65::1:0:0:0" }))).answer,
      (await add("colons-3", networkOf("colons-3", { range: "fd66:0:0:1::/64", enable_l3: true }))).answer,
    ];
    expect(answers.map(addressesOf)).toEqual([["::5/112"], ["fd65::1:0:0:0/16"], ["fd66:0:0:1::/64"]]);
  });

  test("71: exclude works for IPv6, single addresses and blocks", async () => {
    const config = networkOf("except", { range: "fd71::/120", exclude: ["fd71::1", "fd71::2/127", "fd71::4-fd71::9"] });
    expect(addressesOf((await add("except", config)).answer)).toEqual(["fd71::a/120"]);
  });
});

describe("reuse, measures, versions", () => {
  test("288: a released address rests before another pod gets it; its own pod gets it back at once", async () => {
    const config = networkOf("rest", { range: "10.188.0.0/24" });
    const first = await add("rest-1", config);
    expect(addressesOf(first.answer)).toEqual(["10.188.0.1/24"]);
    await fixture.request("DEL", node, first.identity, config);
    expect(addressesOf((await add("rest-2", config)).answer)).toEqual(["10.188.0.2/24"]);
    expect(addressesOf(await fixture.request("ADD", node, first.identity, config))).toEqual(["10.188.0.1/24"]);
  });

  test("288: `cooldown: 0` hands it out at once, as whereabouts does", async () => {
    const config = networkOf("no-rest", { range: "10.189.0.0/24", cooldown: 0 });
    const { identity } = await add("no-rest-1", config);
    await fixture.request("DEL", node, identity, config);
    expect(addressesOf((await add("no-rest-2", config)).answer)).toEqual(["10.189.0.1/24"]);
  });

  test("52: a daemon tells what it did, by command and code", async () => {
    const config = networkOf("measured", { range: "10.152.0.0/30" });
    for (const name of ["measured-1", "measured-2", "measured-3"]) await add(name, config);
    const text = await fixture.metrics(node);
    const counted = (command: string, code: number) => {
      const line = `holdfast_cni_requests_total{command="${command}",code="${code}"} `;
      return Number(
        text
          .split("\n")
          .find((each) => each.startsWith(line))
          ?.slice(line.length) ?? 0,
      );
    };
    expect(counted("ADD", 0)).toBeGreaterThanOrEqual(2);
    expect(counted("ADD", 101)).toBeGreaterThanOrEqual(1);
    expect(text).toContain("# HELP holdfast_cni_requests_total ");
  });

  test.each(["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"])(
    "289: CNI %s is spoken, in its own form",
    async (version) => {
      const name = `version-${version.replaceAll(".", "")}`;
      const { answer } = await add(name, networkOf(name, { range: "10.189.1.0/24" }, version));
      expect(answer).toMatchObject({ status: 0, body: { cniVersion: version } });
      const old = version < "0.3.0";
      expect(old ? answer.body!.ip4?.ip : answer.body!.ips?.[0]?.address).toMatch(/^10\.189\.1\.\d+\/24$/);
      expect(answer.body!.ips?.[0]?.version).toBe(old || version >= "1.0.0" ? undefined : "4");
    },
  );
});
