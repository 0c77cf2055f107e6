import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { z } from 'zod';

/** Public keys by their ids. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

/** Hand-overs in the archive, `<from>-<to>.json`. An older version ignores the folder. */
export const HAND_OVERS_FOLDER = '.hand-overs';

const bodySchema = z.strictObject({
  version: z.literal(1),
  /** Ids of the keys; public keys in PEM form. */
  from: z.string(),
  to: z.string(),
  from_key: z.string(),
  to_key: z.string(),
});
const documentSchema = z.strictObject({ body: bodySchema, from_signature: z.string(), to_signature: z.string() });

/** A key's period ends with the first entry of its successor: both have signed this. */
export interface HandOver {
  readonly from: string;
  readonly to: string;
  readonly keys: PublicKeys;
  /** Its file. */
  readonly text: string;
}

/** A comment in the file of a key: an older version ignores it. */
const LINE = /^# docket hand-over (\{.*\})$/gm;
export const handOverLine = (text: string): string => `# docket hand-over ${text.trim()}\n`;

const signedText = (body: unknown): string => `docket hand-over 1\n${JSON.stringify(body)}`;

interface Signer {
  readonly id: string;
  readonly publicPem: string;
  /** Base64. */
  sign(text: string): string;
}

/** The text of a hand-over, signed by both keys. */
export function signHandOver(from: Signer, to: Signer): string {
  const body = { version: 1, from: from.id, to: to.id, from_key: from.publicPem, to_key: to.publicPem } as const;
  const text = signedText(body);
  return `${JSON.stringify({ body, from_signature: from.sign(text), to_signature: to.sign(text) })}\n`;
}

/** Undefined unless both keys have signed it. */
export function parseHandOver(text: string, parseKeys: (pem: string) => PublicKeys): HandOver | undefined {
  try {
    const { body, from_signature, to_signature } = documentSchema.parse(JSON.parse(text));
    const keys = new Map([...parseKeys(body.from_key), ...parseKeys(body.to_key)]);
    const isSigned = (id: string, pem: string, signature: string): boolean =>
      parseKeys(pem).has(id) &&
      verify(null, Buffer.from(signedText(body)), createPublicKey(pem), Buffer.from(signature, 'base64'));
    const { from, to } = body;
    if (!isSigned(from, body.from_key, from_signature) || !isSigned(to, body.to_key, to_signature)) return undefined;
    return { from, to, keys, text };
  } catch {
    return undefined;
  }
}

/**
 * The keys that the given ones follow, by hand-overs.
 *
 * @param given trusted keys
 */
export function keyLineage(given: PublicKeys, handOvers: readonly HandOver[]) {
  const trusted = new Map(given);
  const successors = new Map<string, string>();
  // One round more for each key that handed over to a key of the round before.
  for (let before = -1; before < successors.size; ) {
    before = successors.size;
    for (const { from, to, keys } of handOvers) {
      const key = keys.get(from);
      if (key === undefined || from === to || successors.has(from) || !trusted.has(to)) continue;
      successors.set(from, to);
      trusted.set(from, key);
    }
  }
  return {
    /** The given keys and those before them. */
    trusted: trusted as PublicKeys,
    /** How many keys have followed a key; Infinity for a key that is not trusted. */
    ageOf: (id: string): number => {
      if (!trusted.has(id)) return Number.POSITIVE_INFINITY;
      let age = 0;
      for (let at = successors.get(id); at !== undefined && age <= successors.size; at = successors.get(at)) age += 1;
      return age;
    },
  };
}

/** The hand-overs in the file of a key. */
export const handOversIn = (text: string, parseKeys: (pem: string) => PublicKeys): readonly HandOver[] =>
  [...text.matchAll(LINE)].flatMap(([, json = '']) => parseHandOver(json, parseKeys) ?? []);
