import { verify } from 'node:crypto';
import { z } from 'zod';
import { sha256 } from '../../../base/sha256.ts';
import type { PublicKeys, SigningKey } from './signing-key.ts';

const digestSchema = z.string().regex(/^[0-9a-f]{64}$/);

const chainFileSchema = z.strictObject({ name: z.string(), sha256: digestSchema });
/** A file in the chain, named relative to the run's or the organization's folder. */
export type ChainFile = z.infer<typeof chainFileSchema>;

/**
 * The stored kinds of entries. `sealed`: a run was published, with the hash of its manifest. `papers`: metadata files
 * of a run were written. `removed`: retention deletes the run. `kept`: retention could not delete it. `checkpoint`: a
 * checkpoint was written.
 */
const eventShape = {
  kind: z.enum(['sealed', 'papers', 'removed', 'kept', 'checkpoint']),
  report: z.string().optional(),
  run: z.string().optional(),
  files: z.array(chainFileSchema),
  why: z.string().optional(),
  /**
   * Present if a later process recorded the files because their writer had died. Then the entry proves their content
   * only at `at`.
   */
  late: z.literal(true).optional(),
};
const eventSchema = z.strictObject(eventShape);
export type ChainEvent = z.infer<typeof eventSchema>;

export const entrySchema = z.strictObject({
  version: z.literal(1),
  org: z.string(),
  sequence: z.int().positive(),
  /** SHA-256 of the previous entry's file; null in the first entry. */
  previous: digestSchema.nullable(),
  at: z.iso.datetime(),
  ...eventShape,
});
export type ChainEntry = z.infer<typeof entrySchema>;

export const checkpointSchema = z.strictObject({
  version: z.literal(1),
  org: z.string(),
  day: z.iso.date(),
  /** Sequence of the last entry at that time, and the SHA-256 of its file. */
  sequence: z.int().positive(),
  head: digestSchema,
  at: z.iso.datetime(),
});
export type Checkpoint = z.infer<typeof checkpointSchema>;

type DocumentKind = 'chain entry' | 'checkpoint';
const signedSchema = z.strictObject({ body: z.unknown(), key: z.string(), signature: z.string() });

/** The text begins with the kind, so that a signature of one kind is invalid for another. */
const signedText = (kind: DocumentKind, body: unknown): string => `docket ${kind} 1\n${JSON.stringify(body)}`;

/** Makes the text of a signed document's file. */
export const signDocument = (kind: DocumentKind, body: ChainEntry | Checkpoint, key: SigningKey): string =>
  `${JSON.stringify({ body, key: key.id, signature: key.sign(signedText(kind, body)) })}\n`;

export interface SignedDocument<T> {
  readonly body: T;
  /** Id of the key that signed it. */
  readonly key: string;
  /** SHA-256 of the whole file, hex. */
  readonly sha256: string;
}

/** Key and body of a document, without verifying the signature. Use it for look-ups only. */
export function unverifiedClaim(text: string): { readonly key: string; readonly body: unknown } | undefined {
  try {
    const { key, body } = signedSchema.parse(JSON.parse(text));
    return { key, body };
  } catch {
    return undefined;
  }
}

/** The document, if one of these keys has signed it; otherwise the reason why not, as text. */
export function verifyDocument<T>(
  kind: DocumentKind,
  text: string,
  schema: z.ZodType<T>,
  keys: PublicKeys,
): SignedDocument<T> | string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return 'invalid JSON';
  }
  const signed = signedSchema.safeParse(parsed);
  // Only one serialization is valid: otherwise bytes outside the signed text could be changed.
  if (!signed.success || text !== `${JSON.stringify(parsed)}\n`) return 'not in the form that Docket writes';
  const { body, key, signature } = signed.data;
  const publicKey = keys.get(key);
  if (publicKey === undefined) return `unknown key ${key}`;
  if (!verify(null, Buffer.from(signedText(kind, body)), publicKey, Buffer.from(signature, 'base64'))) {
    return 'invalid signature';
  }
  const read = schema.safeParse(body);
  return read.success ? { body: read.data, key, sha256: sha256(text) } : 'unexpected content';
}
