// The codes of options that this folder names (RFC 8415 section 21, and the document beside each of the others), and
// the codes of status (section 21.13).

export const codeV6 = {
  clientIdentifier: 1,
  serverIdentifier: 2,
  iaNa: 3,
  iaTa: 4,
  iaAddress: 5,
  optionRequest: 6,
  preference: 7,
  elapsedTime: 8,
  relayMessage: 9,
  authentication: 11,
  serverUnicast: 12,
  status: 13,
  rapidCommit: 14,
  interfaceId: 18,
  reconfigureMessage: 19,
  reconfigureAccept: 20,
  /** RFC 3646 */
  dnsServers: 23,
  /** RFC 3646 */
  domainSearch: 24,
  iaPd: 25,
  iaPrefix: 26,
  informationRefreshTime: 32,
  /** RFC 6939 */
  clientLinkLayerAddress: 79,
  solicitTimeMax: 82,
  informationTimeMax: 83,
} as const;

export const statusCode = {
  success: 0,
  noAddressesAvailable: 2,
  noBinding: 3,
  notOnLink: 4,
  useMulticast: 5,
  noPrefixAvailable: 6,
} as const;

export type StatusCode = (typeof statusCode)[keyof typeof statusCode];
