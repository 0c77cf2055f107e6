import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isMetadataAddress, isPrivateAddress, normalizeHost } from '../../../src/base/net/private-address.ts';
import { cases } from '../../support/fuzz.ts';

const PUBLIC = [false, false] as const;
const PRIVATE = [true, false] as const;
const METADATA = [true, true] as const;

test.each([
  ['8.8.8.8', PUBLIC],
  ['1.1.1.1', PUBLIC],
  ['172.32.0.1', PUBLIC],
  ['2606:4700:4700::1111', PUBLIC],
  ['::ffff:8.8.8.8', PUBLIC],
  ['10.0.0.1', PRIVATE],
  ['172.31.255.255', PRIVATE],
  ['192.168.1.1', PRIVATE],
  ['100.64.0.1', PRIVATE],
  ['100.100.100.201', PRIVATE],
  ['::1', PRIVATE],
  ['::ffff:10.0.0.1', PRIVATE],
  ['64:ff9b::a00:1', PRIVATE],
  ['2002:a00:1::', PRIVATE],
  ['not an address', PRIVATE],
  ['fe80::1', METADATA],
  ['169.254.169.254', METADATA],
  ['169.254.170.2', METADATA],
  ['100.100.100.200', METADATA],
  // The metadata service of Azure has a public address.
  ['168.63.129.16', [false, true]],
  ['192.0.0.192', METADATA],
  ['fe80::1%eth0', METADATA],
  ['fd00:ec2::254', METADATA],
  ['fd20:ce::254', METADATA],
  ['::ffff:169.254.169.254', METADATA],
  ['::169.254.169.254', METADATA],
  ['64:ff9b::a9fe:a9fe', METADATA],
  // RFC 6052 with a prefix of 48, 56, 64 and 96 bits.
  ['64:ff9b:1:a9fe:a9:fe00::', METADATA],
  ['64:ff9b:1:a9:fe:a9fe::', METADATA],
  ['64:ff9b:1:0:a9:fea9:fe00::', METADATA],
  ['64:ff9b:1::a9fe:a9fe', METADATA],
  ['2002:a9fe:a9fe::', METADATA],
  // Teredo contains the server unchanged, and the client with inverted bits.
  ['2001:0:a9fe:a9fe::', METADATA],
  ['2001::5601:5601', METADATA],
] as const)('%s is private / belongs to a metadata service: %j', (address, expected) => {
  expect([isPrivateAddress(address), isMetadataAddress(address)]).toEqual(expected);
});

test('an IPv4 address inside an IPv6 address is treated like the IPv4 address', () => {
  const link = fc.tuple(fc.nat(255), fc.nat(255)).map(([third, fourth]) => `169.254.${third}.${fourth}`);
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), link), (address) => {
      expect(isPrivateAddress(`::ffff:${address}`)).toBe(isPrivateAddress(address));
      const alone = isMetadataAddress(address);
      for (const around of ['::ffff:', '64:ff9b::', '::']) expect(isMetadataAddress(around + address)).toBe(alone);
    }),
    cases(10_000),
  );
});

test.each([
  ['SFTP.Acme.Example.', 'sftp.acme.example'],
  ['0x7f.1', '127.0.0.1'],
  ['2852039166', '169.254.169.254'],
  ['[::FFFF:a9fe:a9fe]', '::ffff:a9fe:a9fe'],
  ['0:0:0:0:0:0:0:1', '::1'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['ftp_1.acme.example', 'ftp_1.acme.example'],
])('the host %s is normalized to %s', (host, expected) => {
  expect(normalizeHost(host)).toBe(expected);
});
