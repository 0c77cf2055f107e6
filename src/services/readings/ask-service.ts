import { done, type Outcome } from '../../base/outcome.ts';
import { MINUTE_MS } from '../../base/time.ts';
import type { Catalog } from '../../contract/catalog.ts';
import { PATHS } from '../../contract/organization.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import { assertValueTypes } from '../../fetch/answer-checks/value-types.ts';
import { rateLimitContext, rateLimitedCall } from '../../fetch/rate-limit/rate-limited-call.ts';
import { checkReadings } from '../../plan/checks/reading-check.ts';
import { readingRequest } from '../../plan/reading.ts';
import type { RunPorts } from '../../run/run-context.ts';
import type { ReadingRequester } from './take-reading.ts';

export type RequestPorts = Pick<RunPorts, 'client' | 'key' | 'budget' | 'catalogs' | 'clock'>;

/** These rounds' waiters in the queues of the budget. No other rounds have this id. */
interface Rounds {
  readonly roundsId: string;
}

/** Longest wait for a token in one round, ms. The next round continues at the same position in the queue. */
const MAX_TOKEN_WAIT_MS = 60_000;

/** A catalog that lacks something in `readings` is requested again once it is older than this, ms. */
const INCOMPLETE_CATALOG_MAX_AGE_MS = 10 * MINUTE_MS;

/**
 * The organization's catalog, cached or from the service, in the budget's scheduled class. A cached catalog may lack a
 * metric that was added since, so that its reading of the day would be missed.
 */
export async function catalogForReadings(
  { id: tenant, org, readings }: OrgSettings,
  ports: RequestPorts & Rounds,
  signal: AbortSignal,
): Promise<Outcome<Catalog>> {
  const get = (maxAgeMs?: number): Promise<Outcome<Catalog>> =>
    ports.catalogs.get(
      {
        ...ports,
        org,
        tenant,
        priority: 'scheduled',
        maxWaitMs: MAX_TOKEN_WAIT_MS,
        maxAgeMs,
      },
      signal,
      () => {},
    );
  const catalog = await get();
  if (catalog.kind !== 'done' || readings === undefined) return catalog;
  return checkReadings(readings, catalog.value).length === 0 ? catalog : get(INCOMPLETE_CATALOG_MAX_AGE_MS);
}

/** Makes one request per question, within the organization's budget, in the scheduled class. */
export function createReadingRequester(
  { id: tenant, org, timezone }: OrgSettings,
  ports: RequestPorts & Rounds,
): ReadingRequester {
  const { client, budget, catalogs, key, clock, roundsId } = ports;
  return async (question, record, { signal, stop }) => {
    const request = readingRequest(question, timezone);
    const context = rateLimitContext(
      tenant,
      { client, key, clock, priority: 'scheduled', maxWaitMs: MAX_TOKEN_WAIT_MS },
      budget,
    );
    const result = await rateLimitedCall(context, {
      id: `reading:${roundsId}:${tenant}:${question.id}`,
      attempt: () =>
        record(async () => {
          const { body, correlationId } = await client.report(org, request, signal);
          assertValueTypes(request, body, `POST ${PATHS.report(org)}`);
          return { body, correlationId, receivedAt: clock.now() };
        }),
      onWait: () => {},
      signal,
      stop,
    });
    // The catalog allowed the question, so it is out of date.
    if (result.kind === 'fail' && result.error.code === 'api.refused') await catalogs.invalidate(key, org);
    if (result.kind !== 'done') return result;
    const { value } = result.value;
    await catalogs.invalidateStale(key, org, value.body.meta.registry_version);
    return done(value);
  };
}
