import { createHash, verify } from 'node:crypto';
import { z } from 'zod';
import type { PublicKeys, SigningKey } from './signing-key.ts';

export const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

const digestSchema = z.string().regex(/^[0-9a-f]{64}$/);

const chainFileSchema = z.strictObject({ name: z.string(), sha256: digestSchema });
/** A file as the chain knows it: by its name in the run's folder, or in the organization's. */
export type ChainFile = z.infer<typeof chainFileSchema>;

/**
 * `sealed`: a run's manifest. `papers`: what was written of a run later. `removed`: retention takes the run away. `kept`: it
 * could not. `checkpoint`: a checkpoint was written.
 */
const eventShape = {
  kind: z.enum(['sealed', 'papers', 'removed', 'kept', 'checkpoint']),
  report: z.string().optional(),
  run: z.string().optional(),
  files: z.array(chainFileSchema),
  why: z.string().optional(),
  /** Entered afterwards, because the process that wrote the files had died: it proves only that they were so by then. */
  late: z.literal(true).optional(),
};
const eventSchema = z.strictObject(eventShape);
export type ChainEvent = z.infer<typeof eventSchema>;

export const entrySchema = z.strictObject({
  version: z.literal(1),
  org: z.string(),
  sequence: z.int().positive(),
  /** SHA-256 of the file of the entry before; null in the first one. */
  previous: digestSchema.nullable(),
  at: z.iso.datetime(),
  ...eventShape,
});
export type ChainEntry = z.infer<typeof entrySchema>;

export const checkpointSchema = z.strictObject({
  version: z.literal(1),
  org: z.string(),
  day: z.iso.date(),
  /** Of the last entry at that moment, and the SHA-256 of its file. */
  sequence: z.int().positive(),
  head: digestSchema,
  at: z.iso.datetime(),
});
export type Checkpoint = z.infer<typeof checkpointSchema>;

type What = 'chain entry' | 'checkpoint';
const signedSchema = z.strictObject({ body: z.unknown(), key: z.string(), signature: z.string() });

/** What is signed begins with its kind, so that one cannot stand for another. */
const signedText = (what: What, body: unknown): string => `docket ${what} 1\n${JSON.stringify(body)}`;

/** The text of a signed document's file. */
export const signDocument = (what: What, body: ChainEntry | Checkpoint, key: SigningKey): string =>
  `${JSON.stringify({ body, key: key.id, signature: key.sign(signedText(what, body)) })}\n`;

export interface SignedDocument<T> {
  readonly body: T;
  /** Id of the key that signed it. */
  readonly key: string;
  /** Of the whole file. */
  readonly sha256: string;
}

/** What a text says that it is, signed or not: only good for knowing where to look. */
export function claimOf(text: string): { readonly key: string; readonly body: unknown } | undefined {
  try {
    const { key, body } = signedSchema.parse(JSON.parse(text));
    return { key, body };
  } catch {
    return undefined;
  }
}

/** A document with a valid signature of one of these keys; a text says why there is none. */
export function readDocument<T>(
  what: What,
  text: string,
  schema: z.ZodType<T>,
  keys: PublicKeys,
): SignedDocument<T> | string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return 'it is no JSON';
  }
  const signed = signedSchema.safeParse(parsed);
  // One form alone: else bytes could change that no signature covers.
  if (!signed.success || text !== `${JSON.stringify(parsed)}\n`) return 'it is not what Docket writes';
  const { body, key, signature } = signed.data;
  const publicKey = keys.get(key);
  if (publicKey === undefined) return `key ${key} is not known`;
  if (!verify(null, Buffer.from(signedText(what, body)), publicKey, Buffer.from(signature, 'base64'))) {
    return 'its signature is not valid';
  }
  const read = schema.safeParse(body);
  return read.success ? { body: read.data, key, sha256: sha256(text) } : 'it is of another form';
}
