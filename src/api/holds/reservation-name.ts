// Names of OverlappingRangeIPReservations: [network-]address. Written: IPv4 exactly as whereabouts does, IPv6 in full
// as its fork does. These are injective: different networks or addresses never share a name. Read besides: whereabouts'
// IPv6 names, where every ':' became '-' ("fd00--1"). Those can mean several things: "a-b--1" is network "a" with b::1,
// or a:b::1 without a network.
import type { Address } from "../../net/address.ts";
import { isLegalName, legalName } from "../name.ts";
import { addressName, readAddressName, tryAddress } from "./address-name.ts";

/** One meaning of a name. */
export interface ReservationNameReading {
  /** Empty: no network name. */
  readonly network: string;
  readonly address: Address;
}

export function reservationName(network: string, address: Address): string {
  const name = withNetwork(network, addressName(address));
  const named = network === "" ? "no network name" : `network ${JSON.stringify(network)}`;
  return legalName("OverlappingRangeIPReservation", name, `${named} and address ${address}`);
}

/** Every name under which the reservation may be, the one to write first. */
export function reservationNamesToRead(network: string, address: Address): string[] {
  const names = [reservationName(network, address), withNetwork(network, legacyText(address))];
  return [...new Set(names)].filter(isLegalName);
}

/** Every meaning of a name. One, where it was written in today's form; the shortest network first otherwise. */
export function readReservationName(name: string): ReservationNameReading[] {
  const today = readAddressName(name);
  if (today !== undefined) return [{ network: today.before, address: today.address }];
  const starts = [0, ...Array.from(name.matchAll(/-/g), ({ index }) => index + 1)];
  return starts.flatMap((from) => {
    const network = name.slice(0, Math.max(from - 1, 0));
    const address = readLegacy(name.slice(from));
    return address !== undefined && (from === 0 || isLegalName(network)) ? [{ network, address }] : [];
  });
}

const withNetwork = (network: string, text: string) => (network === "" ? text : `${network}-${text}`);

/** `fd00::` is "fd00--0": a name must not end with '-'. */
function legacyText(address: Address): string {
  const text = address.toString();
  return (text.endsWith(":") ? `${text}0` : text).replaceAll(":", "-");
}

function readLegacy(text: string): Address | undefined {
  const address = tryAddress(text.replaceAll("-", ":"));
  return address?.family === 6 && legacyText(address) === text ? address : undefined;
}
