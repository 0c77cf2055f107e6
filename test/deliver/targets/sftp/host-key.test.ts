import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { computeFingerprint, hostKeyType, parseHostKey } from '../../../../src/deliver/targets/sftp/host-key.ts';

const field = (bytes: Buffer) => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};
/** A public key as servers send it: its type, then 32 bytes. */
const keyOf = (type: string) => Buffer.concat([field(Buffer.from(type)), field(Buffer.alloc(32, 7))]);
const KEY = keyOf('ssh-ed25519');
const BASE64 = KEY.toString('base64');
const FINGERPRINT = `SHA256:${createHash('sha256').update(KEY).digest('base64').replace('=', '')}`;

test('a fingerprint is read as printed by ssh-keygen, with or without padding', () => {
  expect(computeFingerprint(KEY)).toBe(FINGERPRINT);
  expect(parseHostKey(` ${FINGERPRINT}\n`)).toEqual({ fingerprint: FINGERPRINT, type: undefined });
  expect(parseHostKey(`${FINGERPRINT}=`)).toEqual({ fingerprint: FINGERPRINT, type: undefined });
});

test.each([
  ['with its host', `sftp.example ssh-ed25519 ${BASE64}`],
  ['with a comment', `[sftp.example]:2222,10.0.0.1 ssh-ed25519 ${BASE64} of the old server`],
  ['with a hashed host', `|1|c2FsdA==|aGFzaA== ssh-ed25519 ${BASE64}`],
  ['without a host, as a shortened line of ssh-keyscan', `ssh-ed25519 ${BASE64}`],
])('a line of known_hosts is read %s', (_, line) => {
  expect(parseHostKey(line)).toEqual({ fingerprint: FINGERPRINT, type: 'ssh-ed25519' });
});

test.each([
  ['a key that was revoked', `@revoked sftp.example ssh-ed25519 ${BASE64}`],
  ['an authority, which signs keys', `@cert-authority ssh-ed25519 ${BASE64}`],
  ['a key whose type differs from the type written before it', `sftp.example ssh-rsa ${BASE64}`],
  ['a type that servers no longer have', `sftp.example ssh-dss ${keyOf('ssh-dss').toString('base64')}`],
  ['a type behind two words', `a b ssh-ed25519 ${BASE64}`],
  ['a type without its key', 'sftp.example ssh-ed25519'],
  ['a key of too few bytes', 'sftp.example ssh-ed25519 AAA='],
  ['a fingerprint by MD5', 'MD5:00:11:22'],
  ['a fingerprint cut short', FINGERPRINT.slice(0, -1)],
  ['nothing', ''],
])('%s is no valid host key', (_, text) => {
  expect(parseHostKey(text)).toBeUndefined();
});

test('a key contains its own type, which must be a known one', () => {
  expect(['ssh-rsa', 'ecdsa-sha2-nistp521', 'sk-unheard-of'].map(keyOf).map(hostKeyType)).toEqual([
    'ssh-rsa',
    'ecdsa-sha2-nistp521',
    undefined,
  ]);
});
