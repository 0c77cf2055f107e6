import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isMetadataAddress, isPrivateAddress, normalizeHost } from '../../../src/base/net/private-address.ts';

test.each([
  ['169.254.169.254', true],
  ['169.254.170.2', true],
  ['100.100.100.200', true],
  ['100.100.100.201', false],
  ['168.63.129.16', true],
  ['192.0.0.192', true],
  ['fe80::1%eth0', true],
  ['fd00:ec2::254', true],
  ['fd20:ce::254', true],
  ['::ffff:169.254.169.254', true],
  ['::169.254.169.254', true],
  ['64:ff9b::a9fe:a9fe', true],
  // RFC 6052 with a prefix of 48, 56, 64 and 96 bits.
  ['64:ff9b:1:a9fe:a9:fe00::', true],
  ['64:ff9b:1:a9:fe:a9fe::', true],
  ['64:ff9b:1:0:a9:fea9:fe00::', true],
  ['64:ff9b:1::a9fe:a9fe', true],
  ['2002:a9fe:a9fe::', true],
  // Teredo: the server as it is, the client with its bits inverted.
  ['2001:0:a9fe:a9fe::', true],
  ['2001::5601:5601', true],
  ['10.0.0.1', false],
  ['::ffff:10.0.0.1', false],
  ['2606:4700:4700::1111', false],
  ['not an address', false],
])('%s is of a metadata service: %s', (address, expected) => {
  expect(isMetadataAddress(address)).toBe(expected);
});

test('an IPv4 address is as much of a metadata service inside an IPv6 one as it is alone', () => {
  const link = fc.tuple(fc.nat(255), fc.nat(255)).map(([third, fourth]) => `169.254.${third}.${fourth}`);
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), link), (address) => {
      const alone = isMetadataAddress(address);
      for (const around of ['::ffff:', '64:ff9b::', '::']) expect(isMetadataAddress(around + address)).toBe(alone);
    }),
  );
});

test('what is of a metadata service is private, but for the public address of Azure’s', () => {
  for (const address of [
    '169.254.169.254',
    '100.100.100.200',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd20:ce::254',
    'fe80::1',
  ])
    expect(isPrivateAddress(address), address).toBe(true);
});

test.each([
  ['SFTP.Acme.Example.', 'sftp.acme.example'],
  ['0x7f.1', '127.0.0.1'],
  ['2852039166', '169.254.169.254'],
  ['[::FFFF:a9fe:a9fe]', '::ffff:a9fe:a9fe'],
  ['0:0:0:0:0:0:0:1', '::1'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['ftp_1.acme.example', 'ftp_1.acme.example'],
])('the host %s is %s', (host, expected) => {
  expect(normalizeHost(host)).toBe(expected);
});
