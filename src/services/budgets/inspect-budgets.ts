import type { Clock } from '../../base/clock.ts';
import { type ErrorJson, toDocketError } from '../../base/error.ts';
import type { SecretSource } from '../../base/secrets/secret.ts';
import { RATE_LIMITS } from '../../contract/limits.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { BudgetLimits, BudgetState } from '../../fetch/rate-limit/budget.ts';
import type { BudgetFactory, BudgetKind } from './budgets.ts';
import { type BudgetConflict, budgetConflict, lowestLimits, orgsSharingKey } from './key-limits.ts';

/** The current budgets of one API key. */
export interface KeyBudgets {
  /** Fingerprint of the key. */
  readonly key: string;
  readonly organizations: readonly string[];
  /** The configured limits for metrics calls. */
  readonly limits: BudgetLimits;
  /** Set if organizations that share the key have different limits. */
  readonly conflict: BudgetConflict | undefined;
  readonly metrics: BudgetState;
  /** Null while no lists are being read. */
  readonly reads: BudgetState | null;
}

/**
 * The budgets of the organizations' API keys. Organizations whose key this process does not have are listed with the
 * reason.
 */
export interface BudgetInspection {
  readonly keys: readonly KeyBudgets[];
  readonly unknown: readonly { readonly org: string; readonly error: ErrorJson }[];
}

/**
 * Inspects the budgets of these organizations' API keys. Only reads Redis: makes no call and uses no token. Throws
 * `redis.unreachable`.
 */
export async function inspectBudgets(
  orgs: Iterable<OrgSettings>,
  { secrets, budgetOf, activeOrgs }: InspectBudgetsPorts,
): Promise<BudgetInspection> {
  const requested = [...orgs];
  const all = activeOrgs === undefined ? requested : [...activeOrgs];
  const byKey = new Map<string, [OrgSettings, ...OrgSettings[]]>();
  const unknown: { org: string; error: ErrorJson }[] = [];
  for (const settings of requested) {
    try {
      const key = (await secrets(settings.api_key)).fingerprint();
      const known = byKey.get(key);
      if (known === undefined) byKey.set(key, [settings]);
      else known.push(settings);
    } catch (thrown) {
      unknown.push({ org: settings.id, error: toDocketError(thrown).toJSON() });
    }
  }
  const inspect = (of: BudgetKind, key: string, limits: BudgetLimits) => budgetOf(of, limits).inspect(key);
  const keys = await Promise.all(
    [...byKey].map(async ([key, sharing]): Promise<KeyBudgets> => {
      const [first = sharing[0], ...others] = all === requested ? sharing : await orgsSharingKey(key, all, secrets);
      const limits = lowestLimits([first, ...others]);
      const [metrics, reads] = await Promise.all([
        inspect('metrics', key, limits),
        inspect('reads', key, RATE_LIMITS.reads),
      ]);
      return {
        key,
        organizations: sharing.map(({ id }) => id),
        limits,
        conflict: budgetConflict([first, ...others]),
        metrics,
        reads: isIdle(reads) ? null : reads,
      };
    }),
  );
  return { keys, unknown };
}

export interface InspectBudgetsPorts {
  readonly secrets: SecretSource;
  readonly budgetOf: BudgetFactory;
  /** All active organizations, which determine the limits of a key. Absent: only the inspected ones. */
  readonly activeOrgs?: Iterable<OrgSettings> | undefined;
}

const isIdle = ({ tokens, limit, inFlight, waiting, blockedUntil, throttled }: BudgetState): boolean =>
  tokens === RATE_LIMITS.reads.calls &&
  limit === RATE_LIMITS.reads.calls &&
  inFlight + waiting + throttled === 0 &&
  blockedUntil === null;

/**
 * When a run that starts now can have started its last call, epoch ms: after the calls that wait now, at `limit` tokens
 * per window. Calls with a higher priority may delay it.
 *
 * @param calls number of tokens that the run needs
 */
export function expectedFinish(state: BudgetState, windowMs: number, calls: number, now: number): number {
  const start = Math.max(now, state.blockedUntil ?? now);
  const without = state.waiting + calls - state.tokens;
  return calls === 0 ? now : start + Math.max(0, Math.ceil(without / state.limit)) * windowMs;
}

/** Budgets by API key. Organizations whose key this process does not have are listed with the reason. */
export interface BudgetOverview {
  readonly budgets: readonly BudgetEntry[];
  readonly unknown: readonly { readonly org: string; readonly why: string }[];
}

/** The budget of one API key for one kind of calls. */
export interface BudgetEntry {
  /** Only visible organizations. Whether others share the key is not revealed. */
  readonly organizations: readonly string[];
  readonly of: BudgetKind;
  /** Configured limit: tokens per window. */
  readonly calls: number;
  readonly windowMs: number;
  readonly state: BudgetState;
  /** When a call that is requested now can expect its token, epoch ms. Equals now if a token is free. */
  readonly expected: number;
}

/**
 * The budgets of these organizations' API keys, for display. Costs two Redis commands per key. Throws
 * `redis.unreachable`.
 */
export async function budgetOverview(
  orgs: readonly OrgSettings[],
  ports: InspectBudgetsPorts & { readonly clock: Clock },
): Promise<BudgetOverview> {
  const { keys, unknown } = await inspectBudgets(orgs, ports);
  const now = ports.clock.now();
  const entry = (
    of: BudgetKind,
    organizations: readonly string[],
    { calls, windowMs }: BudgetLimits,
    state: BudgetState,
  ): BudgetEntry => {
    const expected = expectedFinish(state, windowMs, 1, now);
    return { organizations, of, calls, windowMs, state, expected };
  };
  return {
    budgets: keys.flatMap(({ organizations, limits, metrics, reads }) => [
      entry('metrics', organizations, limits, metrics),
      ...(reads === null ? [] : [entry('reads', organizations, RATE_LIMITS.reads, reads)]),
    ]),
    unknown: unknown.map(({ org, error }) => ({ org, why: error.message })),
  };
}
