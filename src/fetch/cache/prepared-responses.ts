import { z } from 'zod';
import { type ReportResponse, reportResponseSchema } from '../../contract/report.ts';
import type { CachedResponse } from './response-cache.ts';
import type { ResponseStore } from './response-store.ts';

/** Where a prepared response came from. If key, service or catalog has changed since, the call is made again. */
export interface ResponseSource {
  /** Address of the service. */
  readonly service: string;
  /** Fingerprint of the API key. */
  readonly key: string;
  readonly registryVersion: number;
}

/** `response` is null if it failed a check: the run then makes the call again, but a preparation does not. */
const preparedSchema = z.object({
  service: z.string(),
  key: z.string(),
  registryVersion: z.int(),
  response: reportResponseSchema.nullable(),
});

/**
 * A field of its own, separate from the run's responses: version 0.2.0 does not know the source of a prepared response
 * and makes the call.
 */
const fieldOf = (call: string): string => `prepared:${call}`;

export interface PreparedEntry {
  /** Null: a check rejected it. */
  readonly response: CachedResponse | null;
}

/**
 * The stored entry of a call that was prepared from this source. Undefined if there is none, or if it is from another
 * source.
 */
export async function findPrepared(
  responses: ResponseStore,
  run: string,
  call: string,
  source: ResponseSource,
): Promise<PreparedEntry | undefined> {
  const stored = await responses.get(run, fieldOf(call));
  const parsed = preparedSchema.safeParse(stored?.body);
  if (stored === undefined || !parsed.success) return undefined;
  const { service, key, registryVersion, response } = parsed.data;
  if (service !== source.service || key !== source.key || registryVersion !== source.registryVersion) return undefined;
  return { response: response && { ...stored, body: response, askedBy: stored.askedBy ?? run } };
}

/** The response that was stored before the run's slot; undefined if the run has to make the call. */
export async function getPrepared(
  responses: ResponseStore,
  run: string,
  call: string,
  source: ResponseSource,
): Promise<CachedResponse | undefined> {
  return (await findPrepared(responses, run, call, source))?.response ?? undefined;
}

/** Stores a response before the slot of its run. Returns false if a limit is reached. */
export const putPrepared = (
  responses: ResponseStore,
  run: string,
  call: string,
  source: ResponseSource,
  { body, ...received }: Omit<CachedResponse, 'body'> & { readonly body: ReportResponse | null },
): Promise<boolean> =>
  responses.put(run, fieldOf(call), {
    ...received,
    body: { ...source, response: body } satisfies z.infer<typeof preparedSchema>,
  });
