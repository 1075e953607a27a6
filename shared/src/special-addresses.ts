/**
 * Addresses that are not the public internet: the machine itself, its neighbours, its cloud's services, documentation,
 * multicast, and prefixes that carry another address. One list for everything that code or tenants can point somewhere.
 *
 * @module
 */

/** Services that clouds offer to a machine, with its credentials among them. No setting makes them reachable. */
export const METADATA_V4 = ["169.254.0.0/16", "168.63.129.16/32"] as const;

/** The same, where clouds have it at an address of version 6. */
export const METADATA_V6 = ["fd00:ec2::254", "fd20:ce::254"] as const;

export const SPECIAL_V4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  ...METADATA_V4,
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
] as const;

export const SPECIAL_V6 = [
  // Unspecified, loopback and IPv4-compatible; IPv4-mapped ones are compared as the IPv4 address that they are.
  "::/96",
  // Prefixes that carry an IPv4 address: a translator on the way would deliver to it.
  "64:ff9b::/96",
  "64:ff9b:1::/48",
  "100::/64",
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
  "5f00::/16",
  "fc00::/7",
  "fe80::/9",
  "ff00::/8",
] as const;
