// Which pools definitions use: those of OVN's networks too, whose ranges stand beside the ipam object.
import { expect, it } from "vitest";

import { networksOf } from "./networks.ts";

const blue = { cniVersion: "1.0.0", name: "blue", type: "ovn-k8s-cni-overlay", topology: "layer2" };

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
