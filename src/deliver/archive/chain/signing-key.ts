import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { DocketError } from '../../../base/error.ts';
import type { Secret } from '../../../base/secrets/secret.ts';
import { sha256 } from '../../../base/sha256.ts';
import {
  type HandOver,
  handOverLine,
  handOversIn,
  keyLineage,
  type PublicKeys,
  signHandOver,
  signKeyBreak,
} from './hand-over.ts';

export type { PublicKeys } from './hand-over.ts';

/** The private key that signs the archive's chain. */
export interface SigningKey {
  readonly id: string;
  readonly publicPem: string;
  /** Its own public key, and the public keys of earlier keys. */
  readonly trusted: PublicKeys;
  /** The hand-overs from earlier keys to this one. */
  readonly handOvers: readonly HandOver[];
  /** How many keys have followed a key; Infinity for a key that did not hand over. */
  readonly ageOf: (id: string) => number;
  /** Base64. */
  sign(text: string): string;
}

const PEM_BLOCK = /-----BEGIN ([A-Z ]+)-----[A-Za-z0-9+/=\s]+-----END \1-----/g;

/** Id of a key: 16 hex digits of the SHA-256 of its DER form. */
const keyId = (key: KeyObject): string => sha256(key.export({ type: 'spki', format: 'der' })).slice(0, 16);

const toPem = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();

const invalid = (where: string, expected: string): DocketError =>
  new DocketError('config.invalid', 'The key that signs the archive cannot be used.', {
    where,
    expected,
    got: 'something else (not shown)',
    next: 'Create one with `docket init --signing-key FILE`, or correct the reference.',
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

/** Public keys in PEM form, concatenated. Throws `config.invalid`. */
export const parsePublicKeys = (text: string, where: string): PublicKeys =>
  byId(
    readBlocks(text, where, 'Ed25519 public keys in PEM form').map(({ isPrivate, key }) =>
      isPrivate ? createPublicKey(key) : key,
    ),
  );

/** The hand-overs in a public or private key file. */
export const parseHandOvers = (text: string, where: string): readonly HandOver[] =>
  handOversIn(text, (pem) => parsePublicKeys(pem, where));

/**
 * Parses an Ed25519 private key in PEM form, followed by the public keys of earlier keys, whose signatures stay
 * trusted. Throws `config.invalid`, which never contains the text.
 */
export function parseSigningKey(pem: Secret, where: string): SigningKey {
  const expected = 'one Ed25519 private key in PEM form, then the public keys of earlier keys';
  const blocks = readBlocks(pem.reveal(), where, expected);
  const [privateBlock, ...others] = blocks.filter(({ isPrivate }) => isPrivate);
  if (privateBlock === undefined || others.length > 0) throw invalid(where, expected);
  const publicKey = createPublicKey(privateBlock.key);
  const earlier = blocks.filter(({ isPrivate }) => !isPrivate).map(({ key }) => key);
  const handOvers = parseHandOvers(pem.reveal(), where);
  return {
    id: keyId(publicKey),
    publicPem: toPem(publicKey),
    trusted: byId([publicKey, ...earlier]),
    handOvers,
    ageOf: keyLineage(byId([publicKey]), handOvers).ageOf,
    sign: (text) => sign(null, Buffer.from(text), privateBlock.key).toString('base64'),
  };
}

/** The texts of a key file and of its public part. */
interface KeyFiles {
  readonly pem: string;
  readonly publicPem: string;
}

/** Generates a key. @param previous hands over to the new key, which keeps its public keys as trusted */
export const generateSigningKey = (previous?: SigningKey): KeyFiles =>
  generateAfter(previous, (next) => (previous === undefined ? [] : [signHandOver(previous, next)]));

/**
 * Generates a key after the private key was lost. Throws `config.invalid`.
 *
 * @param publicPem public part of the lost key, with its own public key first
 * @param reason why the key is lost
 */
export function generateAfterLoss(publicPem: string, where: string, reason: string): KeyFiles {
  const trusted = parsePublicKeys(publicPem, where);
  const [lost] = [...trusted].map(([id, key]) => ({ id, publicPem: toPem(key) }));
  if (lost === undefined) throw invalid(where, 'the public part of the lost key');
  const handOvers = parseHandOvers(publicPem, where);
  return generateAfter({ trusted, handOvers }, (next) => [signKeyBreak(lost, next, reason)]);
}

function generateAfter(
  before: Pick<SigningKey, 'trusted' | 'handOvers'> | undefined,
  follow: (next: Pick<SigningKey, 'id' | 'publicPem' | 'sign'>) => readonly string[],
): KeyFiles {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const next = {
    id: keyId(publicKey),
    publicPem: toPem(publicKey),
    sign: (text: string) => sign(null, Buffer.from(text), privateKey).toString('base64'),
  };
  const handOvers = [...(before?.handOvers ?? []).map(({ text }) => text), ...follow(next)];
  const earlier = [...[...(before?.trusted.values() ?? [])].map(toPem), ...handOvers.map(handOverLine)].join('');
  const publicPem = `${next.publicPem}${earlier}`;
  return { pem: `${privateKey.export({ type: 'pkcs8', format: 'pem' })}${earlier}`, publicPem };
}
