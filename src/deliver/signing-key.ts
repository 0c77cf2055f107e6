import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { DocketError } from '../base/error.ts';
import type { Secret } from '../base/secret.ts';

/** Public keys by their ids. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

/** The private key that signs the chain of the archive. Whoever holds it can forge. */
export interface SigningKey {
  readonly id: string;
  readonly publicPem: string;
  /** Its own public key, and those of the keys before it. */
  readonly trusted: PublicKeys;
  /** Base64. */
  sign(text: string): string;
}

const PEM_BLOCK = /-----BEGIN ([A-Z ]+)-----[A-Za-z0-9+/=\s]+-----END \1-----/g;

/** What a public key is called: 16 hex digits of the SHA-256 of its DER form. */
const keyId = (key: KeyObject): string =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex')
    .slice(0, 16);

const pemOf = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();

const invalid = (where: string, expected: string): DocketError =>
  new DocketError('config.invalid', 'The key that signs the archive cannot be used.', {
    where,
    expected,
    got: 'something else (not shown)',
    next: 'Make one with `docket init --signing-key FILE`, or correct the reference.',
  });

function readBlocks(text: string, where: string, expected: string): { isPrivate: boolean; key: KeyObject }[] {
  const blocks = [...text.matchAll(PEM_BLOCK)].map(([pem, label = '']) => {
    const isPrivate = label.includes('PRIVATE');
    try {
      return { isPrivate, key: isPrivate ? createPrivateKey(pem) : createPublicKey(pem) };
    } catch {
      throw invalid(where, expected);
    }
  });
  if (blocks.length === 0 || blocks.some(({ key }) => key.asymmetricKeyType !== 'ed25519')) {
    throw invalid(where, expected);
  }
  return blocks;
}

const byId = (keys: readonly KeyObject[]): PublicKeys => new Map(keys.map((key) => [keyId(key), key] as const));

/** Public keys in PEM form, one after another. Throws `config.invalid`. */
export const readPublicKeys = (text: string, where: string): PublicKeys =>
  byId(
    readBlocks(text, where, 'Ed25519 public keys in PEM form').map(({ isPrivate, key }) =>
      isPrivate ? createPublicKey(key) : key,
    ),
  );

/**
 * An Ed25519 private key in PEM form; the public keys that follow it are those of keys before, trusted for what they
 * signed. Throws `config.invalid`, which repeats nothing.
 */
export function readSigningKey(pem: Secret, where: string): SigningKey {
  const expected = 'one Ed25519 private key in PEM form, then the public keys of those before it';
  const blocks = readBlocks(pem.reveal(), where, expected);
  const [own, ...others] = blocks.filter(({ isPrivate }) => isPrivate);
  if (own === undefined || others.length > 0) throw invalid(where, expected);
  const publicKey = createPublicKey(own.key);
  const earlier = blocks.filter(({ isPrivate }) => !isPrivate).map(({ key }) => key);
  return {
    id: keyId(publicKey),
    publicPem: pemOf(publicKey),
    trusted: byId([publicKey, ...earlier]),
    sign: (text) => sign(null, Buffer.from(text), own.key).toString('base64'),
  };
}

/** The text of a new key's file, and of its public part. @param before the keys that it follows */
export function makeSigningKey(before?: SigningKey): { readonly pem: string; readonly publicPem: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const earlier = [...(before?.trusted.values() ?? [])].map(pemOf).join('');
  const publicPem = `${pemOf(publicKey)}${earlier}`;
  return { pem: `${privateKey.export({ type: 'pkcs8', format: 'pem' })}${earlier}`, publicPem };
}
