import { BlockList, isIP } from 'node:net';
import { asciiLowerCase } from '../text/fold.ts';

/**
 * Special-purpose addresses in IANA's registries (RFC 6890 and later additions): loopback, private networks,
 * link-local, cloud metadata, and IPv6 ranges that embed such IPv4 addresses.
 */
const PRIVATE_V4 = [
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
const PRIVATE_V6 = [
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

/**
 * Cloud metadata services, which give credentials to any process on a machine: link-local (most clouds), and the
 * addresses of Alibaba Cloud, Azure, Oracle, AWS (IPv6), Google (IPv6) and Scaleway (IPv6).
 */
const METADATA_V4 = [
  ['169.254.0.0', 16],
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['192.0.0.192', 32],
] as const;
const METADATA_V6 = [
  ['fe80::', 10],
  ['fd00:ec2::', 32],
  ['fd20:ce::254', 128],
  ['fd00:42::42', 128],
] as const;

type Subnets = readonly (readonly [network: string, prefix: number])[];

function buildBlockList(v4: Subnets, v6: Subnets): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of v4) list.addSubnet(network, prefix, 'ipv4');
  for (const [network, prefix] of v6) list.addSubnet(network, prefix, 'ipv6');
  return list;
}

const PRIVATE = Object.freeze(buildBlockList(PRIVATE_V4, PRIVATE_V6));
const METADATA = Object.freeze(buildBlockList(METADATA_V4, METADATA_V6));

const stripZoneId = (address: string): string => address.replace(/%.*$/, '');

/** Whether an address is not public. Invalid addresses count as private. */
export function isPrivateAddress(address: string): boolean {
  const plain = stripZoneId(address);
  const family = isIP(plain);
  if (family === 0) return true;
  return PRIVATE.check(plain, family === 6 ? 'ipv6' : 'ipv4');
}

/** Whether an address is that of a cloud metadata service, or an IPv6 address that embeds one. */
export function isMetadataAddress(address: string): boolean {
  const plain = stripZoneId(address);
  const family = isIP(plain);
  if (family === 4) return METADATA.check(plain, 'ipv4');
  if (family !== 6) return false;
  return METADATA.check(plain, 'ipv6') || embeddedIpv4(plain).some((inner) => METADATA.check(inner, 'ipv4'));
}

/**
 * The IPv4 addresses embedded in an IPv6 address: mapped and compatible (::/96, ::ffff:0:0/96), NAT64 (64:ff9b::/96,
 * and 64:ff9b:1::/48 with each fitting length of RFC 6052), 6to4 (2002::/16), Teredo (2001::/32).
 */
function embeddedIpv4(address: string): readonly string[] {
  const groups = ipv6Groups(address);
  const [first, second, third] = groups;
  const bytes = groups.flatMap((group) => [group >> 8, group & 0xff]);
  const at = (...positions: number[]): string => positions.map((position) => bytes[position]).join('.');
  const last = at(12, 13, 14, 15);
  if (groups.slice(0, 5).every((group) => group === 0)) return [last];
  if (first === 0x64 && second === 0xff9b)
    return third === 1 ? [at(6, 7, 9, 10), at(7, 9, 10, 11), at(9, 10, 11, 12), last] : [last];
  if (first === 0x2002) return [at(2, 3, 4, 5)];
  if (first === 0x2001 && second === 0) {
    const client = bytes.slice(12).map((byte) => byte ^ 0xff);
    return [at(4, 5, 6, 7), client.join('.')];
  }
  return [];
}

/** The eight groups of an IPv6 address. */
function ipv6Groups(address: string): readonly number[] {
  // The URL parser writes every form, even with a dotted end, as groups with at most one "::".
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const read = (text: string | undefined): number[] =>
    text ? text.split(':').map((group) => Number.parseInt(group, 16)) : [];
  const [front, back] = [read(head), read(tail)];
  return [...front, ...new Array<number>(8 - front.length - back.length).fill(0), ...back];
}

const METADATA_NAMES: ReadonlySet<string> = new Set([
  'metadata',
  'metadata.goog',
  'metadata.google.internal',
  'instance-data',
  'instance-data.ec2.internal',
]);

/** Whether a host is a metadata service, by name or address. Other names are checked after DNS lookup. */
export const isMetadataHost = (host: string): boolean => METADATA_NAMES.has(host) || isMetadataAddress(host);

/** Whether a host is private, judging only by its name or address. */
export const isPrivateHost = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || (isIP(host) !== 0 && isPrivateAddress(host));

/**
 * Canonical form of a host: lower case, Punycode, no dot at the end, no brackets. Addresses are written as by the URL
 * parser (`0x7f.1` becomes 127.0.0.1).
 */
export function normalizeHost(host: string): string {
  const plain = host.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const url = isIP(plain) === 6 ? `http://[${stripZoneId(plain)}]` : `http://${plain}`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '') : asciiLowerCase(plain);
}
