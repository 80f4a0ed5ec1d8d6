// The codes of options that this folder names (RFC 2132, and the document beside each of the later ones).

export const code = {
  pad: 0,
  subnetMask: 1,
  routers: 3,
  dnsServers: 6,
  hostName: 12,
  domainName: 15,
  mtu: 26,
  broadcastAddress: 28,
  ntpServers: 42,
  vendorInformation: 43,
  requestedAddress: 50,
  leaseTime: 51,
  overload: 52,
  messageType: 53,
  serverIdentifier: 54,
  parameterRequestList: 55,
  message: 56,
  messageSizeMax: 57,
  renewalTime: 58,
  rebindingTime: 59,
  vendorClass: 60,
  clientIdentifier: 61,
  tftpServerName: 66,
  bootFileName: 67,
  /** RFC 3046 */
  relayAgent: 82,
  /** RFC 3397 */
  domainSearch: 119,
  /** RFC 3442 */
  classlessRoutes: 121,
  /** RFC 5859 */
  tftpServers: 150,
  end: 255,
} as const;
