// Inputs that Harvester's own webhook and kind were seen to take or refuse, each with what is to come of it here. What
// it took and we refuse was a defect: an object that could never work, or worked for nobody.

/** A pool's ipv4Config -> a part of the refusal, or what the object then says. */
interface PoolCase {
  readonly what: string;
  readonly config: object;
  readonly outcome: RegExp | object;
  readonly more?: object | undefined;
}

const subnet = { cidr: "10.1.0.0/24" };
const ends = { start: "10.1.0.10", end: "10.1.0.20" };

const pools: readonly (readonly [string, object, RegExp | object, object?])[] = [
  ["serverIP missing: the first free host", { ...subnet, pool: ends }, { serverIP: "10.1.0.1", pool: ends }],
  [
    "beside router and exclude",
    { ...subnet, router: "10.1.0.1", pool: { ...ends, exclude: ["10.1.0.2"] } },
    { serverIP: "10.1.0.3" },
  ],
  [
    "serverIP garbage: not replaced",
    { ...subnet, serverIP: "zz" },
    /^422 Invalid .*serverIP: "zz" is not an IP address/,
  ],
  ["pool missing", subnet, { serverIP: "10.1.0.1", pool: { start: "10.1.0.1", end: "10.1.0.254" } }],
  ["a /30", { cidr: "10.1.0.0/30" }, { serverIP: "10.1.0.1", pool: { start: "10.1.0.1", end: "10.1.0.2" } }],
  [
    "start and end beside an empty pool",
    { ...subnet, pool: null, ...ends, serverIP: "10.1.0.2" },
    { ...ends, pool: null },
  ],
  [
    "start in both places, and different",
    { ...subnet, start: "10.1.0.9", pool: ends },
    /^422 .*leave one of the two out/,
  ],
  ["start > end", { ...subnet, pool: { start: "10.1.0.20", end: "10.1.0.10" } }, /^422 .*swap start and end/],
  ["cidr without a length", { cidr: "10.1.0.0" }, /^422 .*"10.1.0.0" has no prefix length/],
  ["cidr with host bits", { cidr: "10.1.0.7/24" }, { cidr: "10.1.0.7/24", serverIP: "10.1.0.1" }],
  ["a /31", { cidr: "10.1.0.0/31" }, /^422 .*no room for a server and a VM/],
  ["a /32", { cidr: "10.1.0.0/32" }, /^422 .*no room for a server and a VM/],
  ["start outside", { ...subnet, pool: { ...ends, start: "10.2.0.1" } }, /^422 .*10.2.0.1 is not within the subnet/],
  ["end outside", { ...subnet, pool: { ...ends, end: "10.2.0.1" } }, /^422 .*10.2.0.1 is not within the subnet/],
  [
    "start is the network",
    { ...subnet, pool: { ...ends, start: "10.1.0.0" } },
    /^422 .*10.1.0.0 is the network address/,
  ],
  [
    "end is the broadcast",
    { ...subnet, pool: { ...ends, end: "10.1.0.255" } },
    /^422 .*10.1.0.255 is the broadcast address/,
  ],
  ["server outside", { ...subnet, serverIP: "10.2.0.1" }, /^422 .*serverIP: 10.2.0.1 is not within/],
  ["server is the network", { ...subnet, serverIP: "10.1.0.0" }, /^422 .*serverIP: 10.1.0.0 is the network address/],
  ["router outside", { ...subnet, router: "10.2.0.1" }, /^422 .*router: 10.2.0.1 is not within/],
  [
    "router is the broadcast",
    { ...subnet, router: "10.1.0.255" },
    /^422 .*router: 10.1.0.255 is the broadcast address/,
  ],
  ["server = router", { ...subnet, serverIP: "10.1.0.1", router: "10.1.0.1" }, /^422 .*10.1.0.1 is the router too/],
  ["exclude zz", { ...subnet, pool: { exclude: ["zz"] } }, /^422 .*exclude\[0\]: "zz" cannot be read/],
  ["exclude outside the cidr", { ...subnet, pool: { exclude: ["10.2.0.9"] } }, /^422 .*excludes nothing/],
  [
    "serverIP in exclude",
    { ...subnet, serverIP: "10.1.0.9", pool: { exclude: ["10.1.0.9"] } },
    /^422 .*take it out there/,
  ],
  ["dns a", { ...subnet, dns: ["a"] }, /^422 .*dns\[0\]: "a" is not an IP address/],
  ["leaseTime -5", { ...subnet, leaseTime: -5 }, /^422 .*write 8 to 31536000 seconds/],
  ["4 DNS: accepted", { ...subnet, dns: ["10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.0.4"] }, { cidr: "10.1.0.0/24" }],
  ["IPv6 serverIP", { ...subnet, serverIP: "fd00::1" }, /^422 .*write an IPv4 address/],
  ["router zz", { ...subnet, router: "zz" }, /^422 .*router: "zz" is not an IP address/],
  [
    "NAD missing",
    subnet,
    /^422 .*no NetworkAttachmentDefinition .*\/nope; make it first/,
    { networkName: "NAMESPACE/nope" },
  ],
  [
    "networkName without a namespace",
    subnet,
    /^403 Forbidden .*is read as default\/net-48; write that/,
    { networkName: "net-48" },
  ],
  [
    "another tenant's network",
    subnet,
    /^403 Forbidden .*network of another namespace/,
    { networkName: "other/net-48" },
  ],
];

/** NICs -> a part of the refusal; undefined: it is accepted. */
interface ConfigCase {
  readonly what: string;
  readonly nics: readonly object[];
  readonly refused: RegExp | undefined;
  readonly more?: object | undefined;
}

const nic = { networkName: "NAMESPACE/net-48", macAddress: "02:00:00:00:00:01" };

/** Beside a pool of 10.1.0.10 to 10.1.0.20 on net-48, and none on net-49. */
const configs: readonly (readonly [string, readonly object[], RegExp | undefined, object?])[] = [
  ["one NIC", [nic], undefined],
  ["a MAC in capitals", [{ ...nic, macAddress: "02:00:00:00:00:AB" }], undefined],
  ["NAD missing", [{ ...nic, networkName: "NAMESPACE/zip" }], /^422 .*no NetworkAttachmentDefinition .*\/zip/],
  ["no pool on one of two: accepted, with a word", [nic, { ...nic, networkName: "NAMESPACE/net-49" }], undefined],
  ["another tenant's network", [{ ...nic, networkName: "other/net-48" }], /^403 Forbidden .*may not use/],
  ["MAC zz", [{ ...nic, macAddress: "zz" }], /^422 .*"zz" is not a MAC address/],
  ["ipAddress zz", [{ ...nic, ipAddress: "zz" }], /^422 .*"zz" is not an IP address/],
  [
    "ipAddress out of the subnet",
    [{ ...nic, ipAddress: "10.2.0.9" }],
    /^422 .*10.2.0.9 is not in a subnet of its network/,
  ],
  ["ipAddress out of the range", [{ ...nic, ipAddress: "10.1.0.99" }], /^422 .*not in the range 10.1.0.10-10.1.0.20/],
  ["ipAddress in the range", [{ ...nic, ipAddress: "10.1.0.12" }], undefined],
  ["ipAddress taken", [{ ...nic, ipAddress: "10.1.0.15" }], /^422 .*10.1.0.15 is already allocated: VM/],
  ["an empty list", [], /^422 .*it has no NIC/],
  ["5 NICs", [1, 2, 3, 4, 5].map((at) => ({ ...nic, macAddress: `02:00:00:00:00:0${at}` })), undefined],
  ["one MAC twice", [nic, nic], /^422 .*is NIC 0's on/],
  ["no vmName", [nic], /^422 .*vmName/, { vmName: undefined }],
];

export const createdPools = pools.map(([what, config, outcome, more]): PoolCase => ({ what, config, outcome, more }));
export const createdConfigs = configs.map(([what, nics, refused, more]): ConfigCase => ({ what, nics, refused, more }));

const condition = (type: string, status: string, more: object = {}) => ({
  type,
  status,
  lastUpdateTime: "2026-07-20T08:00:00Z",
  ...more,
});

/** As they were seen on a server; names and addresses are others. */
export const harvester = {
  config: {
    serverIP: "10.1.0.2",
    cidr: "10.1.0.0/24",
    pool: { start: "10.1.0.10", end: "10.1.0.20", exclude: ["10.1.0.10"] },
    router: "10.1.0.1",
    dns: ["10.1.0.53"],
    domainName: "vms.example",
    domainSearch: ["vms.example"],
    ntp: ["10.1.0.53"],
    leaseTime: 300,
  },
  poolStatus: {
    lastUpdate: "2026-07-20T08:00:00Z",
    agentPodRef: { namespace: "harvester-system", name: "t-pool-48-agent", image: "agent:v1", uid: "u" },
    ipv4: {
      allocated: { "10.1.0.10": "EXCLUDED", "10.1.0.12": "02:00:00:00:00:AB", "10.1.0.13": "not-a-mac" },
      used: 2,
      available: 8,
    },
    conditions: [
      condition("Registered", "True"),
      condition("CacheReady", "False", { reason: "NotInitialized" }),
      condition("AgentReady", "False", { reason: "Error", message: "agent pod t-pool-48-agent not ready" }),
      condition("Stopped", "False"),
    ],
  },
  configStatus: {
    networkConfigs: [
      { allocatedIPAddress: "10.1.0.12", macAddress: "02:00:00:00:02:00", networkName: "t/net-48", state: "Allocated" },
      { macAddress: "02:00:00:00:02:01", networkName: "t/net-48", status: "Pending" },
    ],
    conditions: [condition("Allocated", "True"), condition("InSynced", "True"), condition("Disabled", "False")],
  },
} as const;

/** `NAMESPACE` becomes the test's. */
export function inNamespace<T>(value: T, namespace: string): T {
  return JSON.parse(JSON.stringify(value).replaceAll("NAMESPACE/", `${namespace}/`)) as T;
}
