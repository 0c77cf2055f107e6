import { createHash } from 'node:crypto';
import { z } from 'zod';

/** SHA-256 in base64 without its padding, as OpenSSH prints fingerprints. */
const FINGERPRINT = /^SHA256:[A-Za-z0-9+/]{43}=?$/;
const KEY_TYPE = /^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521))$/;
const HOST_KEY_DESCRIPTION = 'a fingerprint (SHA256:…) or a line of known_hosts (host, type, key)';

/** A server key that the definition pins. */
export interface HostKey {
  /** `SHA256:…` without padding. */
  readonly fingerprint: string;
  /** E.g. `ssh-ed25519`; undefined if only the fingerprint is known. */
  readonly type: string | undefined;
}

export const computeFingerprint = (key: Uint8Array): string =>
  `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;

/** The type of a key blob, which is its first string (RFC 4253 §6.6). Undefined for an unknown type. */
export function hostKeyType(key: Buffer): string | undefined {
  const length = key.length >= 4 ? key.readUInt32BE(0) : 0;
  const type = key.subarray(4, 4 + length).toString('latin1');
  return KEY_TYPE.test(type) ? type : undefined;
}

/** Parses a host key. Undefined if the text has neither of the two forms, or if type and key contradict each other. */
export function parseHostKey(text: string): HostKey | undefined {
  const trimmed = text.trim();
  if (FINGERPRINT.test(trimmed)) return { fingerprint: trimmed.replace(/=$/, ''), type: undefined };
  const fields = trimmed.split(/\s+/);
  const at = fields.findIndex((field) => KEY_TYPE.test(field));
  const type = fields[at];
  const encoded = fields[at + 1];
  // A marker (`@revoked`, `@cert-authority`) changes the meaning of the line.
  if (at < 0 || at > 1 || trimmed.startsWith('@') || type === undefined || encoded === undefined) return undefined;
  const key = Buffer.from(encoded, 'base64');
  return hostKeyType(key) === type ? { fingerprint: computeFingerprint(key), type } : undefined;
}

export const hostKeySchema = z.string().refine((text) => parseHostKey(text) !== undefined, HOST_KEY_DESCRIPTION);
