import { z } from 'zod';
import { type ReportResponse, reportResponseSchema } from '../../contract/report.ts';
import type { CachedResponse } from './response-cache.ts';
import type { ResponseStore } from './response-store.ts';

/** Who answered a call: one that was made with another key, at another service or by another catalog is made again. */
export interface ResponseSource {
  /** Address of the service. */
  readonly service: string;
  /** Fingerprint of the API key. */
  readonly key: string;
  readonly registryVersion: number;
}

/** `response` is null if it failed a check: the run makes the call again, a preparation does not. */
const preparedSchema = z.object({
  service: z.string(),
  key: z.string(),
  registryVersion: z.int(),
  response: reportResponseSchema.nullable(),
});

/** Apart from the responses of the run itself: 0.2.0 does not know the source of a prepared one, and makes the call. */
const fieldOf = (call: string): string => `prepared:${call}`;

export interface PreparedEntry {
  /** Null: rejected by a check. */
  readonly response: CachedResponse | null;
}

/** The entry of a call that was prepared by this source. Undefined without one, and for one of another source. */
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

/** The response that was stored before the slot of the run; undefined if the run has to make the call. */
export async function getPrepared(
  responses: ResponseStore,
  run: string,
  call: string,
  source: ResponseSource,
): Promise<CachedResponse | undefined> {
  return (await findPrepared(responses, run, call, source))?.response ?? undefined;
}

/** Stores a response before the slot of its run. False: a limit is reached. */
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
