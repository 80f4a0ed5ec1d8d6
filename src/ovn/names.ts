// Names of switches, routers and ports: OVN-Kubernetes' own, so that what it has written is recognised and its tools
// and eyes find their way.
export const clusterRouter = "ovn_cluster_router";
export const joinSwitch = "join";
export const transitSwitch = "transit_switch";

export const gatewayRouter = (node: string): string => `GR_${node}`;
export const externalSwitch = (node: string): string => `ext_${node}`;

/** Router port of a node's switch, and the switch port that it is plugged into. */
export const routerToSwitch = (node: string): string => `rtos-${node}`;
export const switchToRouter = (node: string): string => `stor-${node}`;

/** Of a router on the join switch. */
export const routerToJoin = (router: string): string => `rtoj-${router}`;
export const joinToRouter = (router: string): string => `jtor-${router}`;

/** Of a gateway router on the switch of its node's physical network. */
export const routerToExternal = (node: string): string => `rtoe-${gatewayRouter(node)}`;
export const externalToRouter = (node: string): string => `etor-${gatewayRouter(node)}`;

/** Of the cluster router on the transit switch, one for each node. */
export const routerToTransit = (node: string): string => `rtots-${node}`;
export const transitToRouter = (node: string): string => `tstor-${node}`;

export const managementPort = (node: string): string => `k8s-${node}`;
export const podPort = (namespace: string, pod: string): string => `${namespace}_${pod}`;
