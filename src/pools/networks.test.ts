// Which pools definitions use: those of OVN's networks too, whose ranges stand beside the ipam object.
import { expect, it } from "vitest";

import { parseAddress } from "../net/address.ts";
import { heldOf, poolOf } from "./leaks/testing/values.ts";
import { poolRangeOf } from "./membership.ts";
import { planMirror } from "./mirror/mirror.ts";
import { totalsOf } from "./mirror/pool-status.ts";
import { networksOf, usefulIn, usesOfPool } from "./networks.ts";

const blue = { cniVersion: "1.0.0", name: "blue", type: "ovs", topology: "layer2" };

it("who reads definitions sees these pools", () => {
  const config = JSON.stringify({ ...blue, subnets: "10.0.0.0/24,fd00::/64", ipam: { type: "holdfast" } });
  const sliced = JSON.stringify({
    ...blue,
    name: "green",
    subnets: "10.0.0.0/24",
    ipam: { type: "holdfast", node_slice_size: "/28" },
  });
  const definition = (name: string, text: string) => ({
    metadata: { namespace: "shop", name },
    spec: { config: text },
  });
  const {
    uses,
    sliced: cut,
    unreadable,
  } = networksOf(
    [
      definition("blue", config),
      definition("green", sliced),
      definition(
        "red",
        JSON.stringify({ ...blue, topology: "layer3", subnets: "10.0.0.0/16", ipam: { type: "holdfast" } }),
      ),
    ],
    "kube-system",
  );
  expect(uses.map(({ definition: key, names }) => [key, names[0]])).toEqual([
    ["shop/blue", "blue-10.0.0.0-24"],
    ["shop/blue", "blue-fd00---64"],
  ]);
  expect(cut.map(({ identity }) => `${identity.network} ${identity.range}`)).toEqual(["green 10.0.0.0/24"]);
  expect(unreadable).toMatchObject([{ definition: "shop/red", why: expect.stringContaining("layer3") as unknown }]);
});

it("what a pool has and what is free of it is what its definitions hand out", () => {
  const definition = (name: string, ipam: object) => ({
    metadata: { namespace: "shop", name },
    spec: {
      config: JSON.stringify({ cniVersion: "1.0.0", name, type: "bridge", ipam: { type: "holdfast", ...ipam } }),
    },
  });
  const range = "10.0.0.0/24";
  const pool = poolOf(range);
  const place = poolRangeOf(pool)!;
  const held = [heldOf({ address: "10.0.0.20" }), heldOf({ address: "10.0.0.99" })];
  const plan = planMirror(pool, held, { coexistence: false });
  const totals = (...definitions: ReturnType<typeof definition>[]) => {
    const uses = usesOfPool(networksOf(definitions, "kube-system").uses, place);
    const { total, used, free } = totalsOf({ pool, range: place, held, plan, useful: usefulIn(uses) });
    return [total, used, free];
  };
  const few = { range, range_start: "10.0.0.10", range_end: "10.0.0.29" };
  expect(totals()).toEqual([254n, 2n, 252n]);
  expect(totals(definition("a", { range }))).toEqual([254n, 2n, 252n]);
  expect(totals(definition("a", few))).toEqual([20n, 2n, 19n]);
  expect(totals(definition("a", { ...few, exclude: ["10.0.0.16/29"] }))).toEqual([12n, 2n, 12n]);
  const other = definition("b", { range, range_start: "10.0.0.90", range_end: "10.0.0.99" });
  expect(totals(definition("a", few), other)).toEqual([30n, 2n, 28n]);
  expect(usefulIn(networksOf([other], "kube-system").uses)?.has(parseAddress("10.0.0.89"))).toBe(false);
});
