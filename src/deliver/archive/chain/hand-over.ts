import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { z } from 'zod';

/** Public keys by their ids. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

/** Folder in the archive with hand-overs, `<from>-<to>.json`. Older versions ignore it. */
export const HAND_OVERS_FOLDER = '.hand-overs';

const bodySchema = z.strictObject({
  version: z.literal(1),
  /** Ids of the keys; public keys in PEM form. */
  from: z.string(),
  to: z.string(),
  from_key: z.string(),
  to_key: z.string(),
  /** Why the old key is lost and could not sign. */
  lost: z.string().min(1).optional(),
});
const documentSchema = z.strictObject({
  body: bodySchema,
  from_signature: z.string().optional(),
  to_signature: z.string(),
});

/**
 * One key's period ends with the first entry of its successor. Both keys have signed this, unless the old key was lost:
 * then only the new key has, and the old key is not trusted because of it.
 */
export interface HandOver {
  readonly from: string;
  readonly to: string;
  readonly keys: PublicKeys;
  /** Why the old key was lost. */
  readonly lost?: string | undefined;
  /** The text of its file. */
  readonly text: string;
}

/** A hand-over as a comment in a key's file, so that older versions ignore it. */
const LINE = /^# docket hand-over (\{.*\})$/gm;
export const handOverLine = (text: string): string => `# docket hand-over ${text.trim()}\n`;

const signedText = (body: unknown): string => `docket hand-over 1\n${JSON.stringify(body)}`;

interface PublicKey {
  readonly id: string;
  readonly publicPem: string;
}
interface Signer extends PublicKey {
  /** Base64. */
  sign(text: string): string;
}

/** Makes the text of a hand-over, signed by both keys. */
export function signHandOver(from: Signer, to: Signer): string {
  const body = { version: 1, from: from.id, to: to.id, from_key: from.publicPem, to_key: to.publicPem } as const;
  const text = signedText(body);
  return `${JSON.stringify({ body, from_signature: from.sign(text), to_signature: to.sign(text) })}\n`;
}

/** Makes the text that begins a new period without the old key. Only the new key signs it. */
export function signKeyBreak(from: PublicKey, to: Signer, lost: string): string {
  const body = { version: 1, from: from.id, to: to.id, from_key: from.publicPem, to_key: to.publicPem, lost } as const;
  return `${JSON.stringify({ body, to_signature: to.sign(signedText(body)) })}\n`;
}

/** Parses a hand-over. Undefined unless both keys have signed it, or only the new key if the old one was lost. */
export function parseHandOver(text: string, parseKeys: (pem: string) => PublicKeys): HandOver | undefined {
  try {
    const { body, from_signature, to_signature } = documentSchema.parse(JSON.parse(text));
    const keys = new Map([...parseKeys(body.from_key), ...parseKeys(body.to_key)]);
    const isSigned = (id: string, pem: string, signature: string): boolean =>
      parseKeys(pem).has(id) &&
      verify(null, Buffer.from(signedText(body)), createPublicKey(pem), Buffer.from(signature, 'base64'));
    const { from, to, lost } = body;
    const fromAgrees =
      lost === undefined
        ? from_signature !== undefined && isSigned(from, body.from_key, from_signature)
        : from_signature === undefined && parseKeys(body.from_key).has(from);
    if (!fromAgrees || !isSigned(to, body.to_key, to_signature)) return undefined;
    return { from, to, keys, lost, text };
  } catch {
    return undefined;
  }
}

/**
 * Finds the keys that precede the given ones, by their hand-overs.
 *
 * @param given trusted keys
 */
export function keyLineage(given: PublicKeys, handOvers: readonly HandOver[]) {
  const trusted = new Map(given);
  const reached = new Set(given.keys());
  const successors = new Map<string, string>();
  /** Whether `from` follows `to`, or is the same key. */
  const follows = (from: string, to: string): boolean => {
    for (let at: string | undefined = to; at !== undefined; at = successors.get(at)) if (at === from) return true;
    return false;
  };
  // Each round finds the keys that handed over to a key found in the round before.
  for (let before = -1; before < successors.size; ) {
    before = successors.size;
    for (const { from, to, keys, lost } of handOvers) {
      const key = keys.get(from);
      // A stolen old key can sign that it follows the current key: such a loop is ignored.
      if (key === undefined || successors.has(from) || !reached.has(to) || follows(from, to)) continue;
      successors.set(from, to);
      reached.add(from);
      if (lost === undefined && trusted.has(to)) trusted.set(from, key);
    }
  }
  return {
    /** The given keys, and the keys that handed over to them. */
    trusted: trusted as PublicKeys,
    successorOf: (id: string): string | undefined => successors.get(id),
    /** How many keys have followed this key; Infinity for a key that does not precede a given one. */
    ageOf: (id: string): number => {
      if (!reached.has(id)) return Number.POSITIVE_INFINITY;
      let age = 0;
      for (let at = successors.get(id); at !== undefined; at = successors.get(at)) age += 1;
      return age;
    },
  };
}

/** The hand-overs in a key's file. */
export const handOversIn = (text: string, parseKeys: (pem: string) => PublicKeys): readonly HandOver[] =>
  [...text.matchAll(LINE)].flatMap(([, json = '']) => parseHandOver(json, parseKeys) ?? []);

/** A chain entry that records lost keys. Older versions take it for files of the organization and ignore it. */
export const keyBreakEntry = (breaks: readonly HandOver[]) => ({
  kind: 'papers' as const,
  files: [],
  why: `key break: ${breaks.map(({ from, to, lost }) => `${from} is lost, ${to} follows: ${lost}`).join('; ')}`,
});
/** The lost keys that an entry records; undefined for any other entry. */
export const parseKeyBreak = ({
  kind,
  run,
  why = '',
}: {
  kind: string;
  run?: string | undefined;
  why?: string | undefined;
}) => (kind === 'papers' && run === undefined ? /^key break: (.+)$/s.exec(why)?.[1] : undefined);
