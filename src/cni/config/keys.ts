// Every key of the `ipam` object, with the JSON type that it must have. docs/cni.md describes each; a test compares.
//
// The types are whereabouts': a value of another type is refused in every mode, as Go's decoder refuses it there.

export type KeyType = "string" | "boolean" | "integer" | "strings" | "object" | "objects";

export interface Key {
  readonly type: KeyType;
  /** The keys inside an object, or inside each object of a list. */
  readonly inside?: Keys;
  /** Accepted, so that old configurations load, and without effect; the reason, as a part of a sentence. */
  readonly unused?: string;
}

export type Keys = Readonly<Record<string, Key>>;

const noLease = "there is no lease to tune: an address is taken by writing its own record";
const noEtcd = "allocations live in the Kubernetes API; whereabouts has dropped its etcd backend too";
const daemonLogs = "the daemon logs, see its own options";
const overwritten = "it is set from the network and from CNI_ARGS";

const rangeKeys = {
  range: { type: "string" },
  range_start: { type: "string" },
  range_end: { type: "string" },
  exclude: { type: "strings" },
  enable_l3: { type: "boolean" },
  pick_addresses: { type: "strings" },
  node_slice_size: { type: "string" },
  floating_slice_size: { type: "string" },
} as const satisfies Keys;

const routeKeys = {
  dst: { type: "string" },
  gw: { type: "string" },
  mtu: { type: "integer" },
  advmss: { type: "integer" },
  priority: { type: "integer" },
  table: { type: "integer" },
  scope: { type: "integer" },
} as const satisfies Keys;

const dnsKeys = {
  nameservers: { type: "strings" },
  domain: { type: "string" },
  search: { type: "strings" },
  options: { type: "strings" },
} as const satisfies Keys;

export const ipamKeys = {
  type: { type: "string" },
  ...rangeKeys,
  ipRanges: { type: "objects", inside: rangeKeys },
  gateway: { type: "string" },
  exclude_gateway: { type: "boolean" },
  routes: { type: "objects", inside: routeKeys },
  dns: { type: "object", inside: dnsKeys },
  addresses: { type: "objects", inside: { address: { type: "string" }, gateway: { type: "string" } } },
  allow_requested_ips: { type: "boolean" },
  network_name: { type: "string" },
  enable_overlapping_ranges: { type: "boolean" },
  fast_ipam: { type: "boolean" },
  pool_naming: { type: "string" },
  pool_namespace: { type: "string" },
  sticky: { type: "string" },
  cooldown: { type: "integer" },
  probe: { type: "boolean" },
  allowPersistentIPs: { type: "boolean" },
  strict: { type: "boolean" },
  configuration_path: { type: "string" },
  kubernetes: {
    type: "object",
    inside: {
      kubeconfig: { type: "string", unused: "the daemon has its own connection (--kubeconfig of `holdfast node`)" },
      k8s_api_root: { type: "string", unused: "the daemon knows the address of the API server" },
    },
  },
  log_file: { type: "string", unused: daemonLogs },
  log_level: { type: "string", unused: daemonLogs },
  reconciler_cron_expression: { type: "string", unused: "leaks are collected continuously, not by the clock" },
  optimistic_ipam: { type: "boolean" },
  sleep_for_race: { type: "integer" },
  leader_lease_duration: { type: "integer", unused: noLease },
  leader_renew_deadline: { type: "integer", unused: noLease },
  leader_retry_period: { type: "integer", unused: noLease },
  service_cidrs: { type: "strings", unused: "it is deprecated where it comes from and did nothing there" },
  datastore: { type: "string" },
  etcd_host: { type: "string", unused: noEtcd },
  etcd_username: { type: "string", unused: noEtcd },
  etcd_password: { type: "string", unused: noEtcd },
  etcd_key_file: { type: "string", unused: noEtcd },
  etcd_cert_file: { type: "string", unused: noEtcd },
  etcd_ca_cert_file: { type: "string", unused: noEtcd },
  // Go's decoder fills these keys although nobody is meant to write them: configurations from Go programs contain them.
  Name: { type: "string", unused: overwritten },
  PodName: { type: "string", unused: overwritten },
  PodNamespace: { type: "string", unused: overwritten },
} as const satisfies Keys;
