// What every server of the DHCP benchmark is given: one subnet, and a host reservation for each of the clients.

export const clients = 10_000;
export const subnet = "10.42.0.0/16";
export const netmask = "255.255.0.0";
export const serverAddress = "10.42.0.1";
/** Where the load comes from: a relay of the same subnet. */
export const relayAddress = "10.42.0.2";
export const router = "10.42.0.254";
export const dnsServer = "10.42.0.253";
export const leaseSeconds = 3600;
/** Of the first client; the others follow. */
export const firstAddress = "10.42.16.0";
/** perfdhcp adds 0 to 9,999 to it, on the last bytes. */
export const macBase = "02:00:00:00:00:00";

export interface Reservation {
  readonly mac: string;
  readonly address: string;
}

/** perfdhcp goes beyond its base by one at times: a few more than there are clients. */
export function reservations(): Reservation[] {
  return Array.from({ length: clients + 2 }, (_, index) => ({
    mac: `02:00:00:00:${hex(index >> 8)}:${hex(index & 0xff)}`,
    address: `10.42.${16 + (index >> 8)}.${index & 0xff}`,
  }));
}

const hex = (byte: number) => byte.toString(16).padStart(2, "0");
