import { done, type Outcome } from '../base/outcome.ts';
import { PATHS } from '../contract/organization.ts';
import { reportResponseSchema } from '../contract/report.ts';
import type { Plan, ReportCall } from '../plan/plan.ts';
import { assertValueTypes } from './answer-checks/value-types.ts';
import { requestCoalescer } from './cache/request-coalescer.ts';
import type { CachedResponse } from './cache/response-cache.ts';
import type { ResponseStore } from './cache/response-store.ts';
import type { FetchContext } from './fetch-context.ts';
import { type RateLimitContext, type RateLimitedCall, rateLimitedCall } from './rate-limit/rate-limited-call.ts';

export interface FetchedReport extends CachedResponse {
  /** Tokens left when the call took its own; null if it took none (stored, or another run's response). */
  readonly tokens: number | null;
  /** From dispatch to response; null if no request was made. */
  readonly ms: number | null;
}

/** The response to a report call: the run's stored one, or one requested under the rate limit, which is then stored. */
export async function fetchReport(
  context: Pick<FetchContext, 'client' | 'clock' | 'catalogs' | 'key' | 'run' | 'responseCache' | 'fresh'> & {
    readonly plan: Plan;
    readonly responses: ResponseStore;
    readonly rateLimit: RateLimitContext;
  },
  call: ReportCall,
  options: Omit<RateLimitedCall<unknown>, 'id' | 'attempt'>,
): Promise<Outcome<FetchedReport>> {
  const { client, clock, catalogs, key, run, plan, responses, rateLimit, fresh } = context;
  const stored = fresh ? undefined : await responses.get(run, call.id);
  const body = reportResponseSchema.safeParse(stored?.body);
  if (stored !== undefined && body.success) {
    return done({ ...stored, body: body.data, askedBy: stored.askedBy ?? run, tokens: null, ms: null });
  }
  let dispatchedAt = 0;
  const limitedCall: RateLimitedCall<CachedResponse> = {
    ...options,
    id: `${run}:${call.id}`,
    attempt: async () => {
      dispatchedAt = clock.now();
      const response = await client.report(call.org, call.request, options.signal);
      assertValueTypes(call.request, response.body, `POST ${PATHS.report(call.org)}`);
      return { ...response, at: clock.now(), askedBy: run };
    },
    save: (response) => responses.put(run, call.id, response),
  };
  const result = await rateLimitedCall(rateLimit, limitedCall, requestCoalescer(call, context));
  if (result.kind === 'fail' && result.error.code === 'api.refused') await catalogs.invalidate(key, call.org);
  if (result.kind !== 'done') return result;
  const { value: response, tokens } = result.value;
  if (tokens === null) await responses.put(run, call.id, response);
  const { registry_version } = response.body.meta;
  if (registry_version !== plan.registryVersion) await catalogs.invalidateStale(key, call.org, registry_version);
  return done({ ...response, tokens, ms: tokens === null ? null : response.at - dispatchedAt });
}
