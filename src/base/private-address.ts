import { BlockList, isIP } from 'node:net';

/**
 * IANA's special-purpose registries (RFC 6890 and what was added since): this machine, private networks, the link, the
 * address that clouds serve credentials from, and what carries such an IPv4 address inside an IPv6 one.
 */
const V4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const;
const V6 = [
  ['::', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const;

function privateAddresses(): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of V4) list.addSubnet(network, prefix, 'ipv4');
  for (const [network, prefix] of V6) list.addSubnet(network, prefix, 'ipv6');
  return list;
}

const PRIVATE = Object.freeze(privateAddresses());

/** Whether an address is not one of the public internet. What is no address counts as private: nothing is known of it. */
export function isPrivateAddress(address: string): boolean {
  const plain = address.replace(/%.*$/, '');
  const family = isIP(plain);
  if (family === 0) return true;
  return PRIVATE.check(plain, family === 6 ? 'ipv6' : 'ipv4');
}
