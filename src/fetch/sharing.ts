import { DateTime } from 'luxon';
import type { Clock } from '../base/clock.ts';
import { LIMITS } from '../contract/limits.ts';
import type { ReportResponse } from '../contract/report.ts';
import type { Plan, ReportCall } from '../plan/plan.ts';
import type { ComplianceClient } from './client.ts';
import {
  type Claim,
  type Found,
  questionOf,
  type SharedAnswer,
  type SharedAnswers,
  type Wish,
} from './shared-answers.ts';

/** How a call stands among the runs that want it too; `paidCall` asks before it takes a token, and before it uses one. */
export interface Sharing<Value> {
  look(): Promise<Elsewhere<Value>>;
  /** `nobody`: the call is this run's to make, and others wait for it, for `forMs` at most. */
  claim(forMs: number): Promise<Elsewhere<Value>>;
  /** The answer to the call that was claimed. */
  land(value: Value): Promise<void>;
  /** The call that was claimed has no answer. */
  release(): Promise<void>;
}

export type Elsewhere<Value> =
  | { readonly kind: 'answered'; readonly value: Value }
  | { readonly kind: 'asking'; readonly forMs: number }
  | { readonly kind: 'nobody' };

/**
 * The sharing of one call of a run, as its definition's `max_age` allows; undefined when that is 0: the call is then its
 * own, and nobody else's. An answer is never older than the day on which it is wanted, in the zone of its days: at
 * midnight "yesterday" is over, buckets close, and what was asked a minute before is short of a minute. Nor is it used for longer than the report that asked allows.
 */
export function sharingOf(
  call: ReportCall,
  of: {
    readonly sharedAnswers: SharedAnswers;
    readonly client: Pick<ComplianceClient, 'service'>;
    readonly clock: Clock;
    readonly key: string;
    readonly run: string;
    readonly plan: Plan;
  },
): Sharing<SharedAnswer> | undefined {
  const { sharedAnswers: shared, client, clock, key, run, plan } = of;
  const maxAgeMs = plan.definition.max_age * 1000;
  if (maxAgeMs === 0) return undefined;
  const { org: tenant, registryVersion } = plan;
  const question = questionOf(call, { tenant, service: client.service, key, registryVersion });
  const since = clock.now();
  const holder = `${run}:${call.id}`;
  const zone = call.request.time?.timezone ?? 'UTC';
  let claimed: { readonly claim: Claim; readonly at: number } | undefined;

  const wish = (): Wish => {
    const now = clock.now();
    const today = now - DateTime.fromMillis(now, { zone }).startOf('day').toMillis();
    return { maxAgeMs: Math.min(maxAgeMs, today), wantedMs: Math.min(now - since, today), holder };
  };
  const elsewhere = (found: Found): Elsewhere<SharedAnswer> =>
    found.kind === 'answered' ? { kind: 'answered', value: found.answer } : found;

  return {
    look: async () => elsewhere(await shared.look(question, wish())),
    claim: async (forMs) => {
      const found = await shared.claim(question, wish(), forMs);
      if (found.kind !== 'claimed') return elsewhere(found);
      claimed = { claim: found.claim, at: clock.now() };
      return { kind: 'nobody' };
    },
    land: async (answer) => {
      if (claimed === undefined) return;
      const { claim, at } = claimed;
      claimed = undefined;
      await shared.land(question, claim, answer, behind(answer.body.meta, at), maxAgeMs);
    },
    release: async () => {
      if (claimed === undefined) return;
      const { claim } = claimed;
      claimed = undefined;
      await shared.release(question, claim);
    },
  };
}

/** How long (ms) before it was asked for the service had computed it: only what it had kept (specification §4, rule 5). */
function behind({ as_of, cached }: ReportResponse['meta'], asked: number): number {
  if (!cached) return 0;
  const computed = as_of === null ? Number.NaN : Date.parse(as_of);
  return Number.isNaN(computed) ? LIMITS.report_cache_seconds * 1000 : Math.max(0, asked - computed);
}
