import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { DAY_MS, epochMsSchema } from '../../base/time.ts';
import type { Period } from '../../definitions/periods/period.ts';
import { kindOfTarget } from '../../definitions/schema/kinds.ts';
import type { RedisClient } from '../../redis/client.ts';
import { beforeSending, mapRedisErrors } from '../../redis/errors.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';
import type { PeriodDays } from '../archive/archived-runs.ts';
import type { DeliveryRow, DeliveryState } from '../ledger/ledger.ts';
import { TARGETS } from '../targets/registry.ts';
import type { Target } from '../targets/target.ts';

/** A report's period, which only one run at a time may deliver. */
export interface ClaimedPeriod {
  readonly org: string;
  readonly report: string;
  readonly period: PeriodDays;
}

/** The right of one run to deliver a report for a period. */
export interface Claim {
  readonly run: string;
  /** Epoch ms. */
  readonly at: number;
  /** The run has ended without delivering anything, so any run may claim the period. */
  readonly released?: true | undefined;
  /** Runs whose claims this one has taken over, newest first. */
  readonly replaces?: readonly Pick<Claim, 'run' | 'at'>[] | undefined;
}

export interface StoredClaim extends Claim {
  /** Identifies the stored claim, for `ClaimStore.write`. */
  readonly version: string;
}

/** Stores claims. Throws `redis.unreachable`, `archive.unreachable`, `archive.unwritable`. */
export interface ClaimStore {
  read(of: ClaimedPeriod): Promise<StoredClaim | undefined>;
  /**
   * Replaces the stored claim in one step, if it is still `before`. May be repeated after a lost reply.
   * @param before the result of `read`
   * @returns false if another process has written since
   */
  write(of: ClaimedPeriod, claim: Claim, before: StoredClaim | undefined): Promise<boolean>;
}

/** Loose: a newer version may have written more fields. */
const storedSchema = z.looseObject({
  run: z.string(),
  at: epochMsSchema,
  released: z.literal(true).optional(),
  replaces: z.array(z.object({ run: z.string(), at: epochMsSchema })).optional(),
});

/** `by` identifies this write: after a lost reply, the stored content shows who wrote it. */
export const claimText = ({ org, report, period: { from, to, timezone } }: ClaimedPeriod, claim: Claim): string =>
  `${JSON.stringify({ org, report, period: { from, to, timezone }, ...claim, by: randomUUID() })}\n`;

/**
 * Parses a claim. An unreadable claim counts as the oldest possible: it is replaced, unless the period was delivered.
 */
export function parseClaim(text: string, version: string): StoredClaim {
  try {
    const { run, at, released, replaces } = storedSchema.parse(JSON.parse(text));
    return { run, at, released, replaces, version };
  } catch {
    return { run: 'unreadable', at: 0, version };
  }
}

/** Whether a delivery to the target reaches an audience. Folders and notices do not, so they need no claim. */
export const needsClaim = (target: string, targets: readonly Target[] = TARGETS): boolean =>
  targets.some(({ kind, audience }) => audience !== undefined && kindOfTarget(target) === kind);

const BEGUN: ReadonlySet<DeliveryState> = new Set<DeliveryState>(['sent', 'sending', 'unknown']);

/** Whether a delivery in this state has arrived or may have arrived. */
export const isBegun = (state: DeliveryState): boolean => BEGUN.has(state);

/**
 * Whether the run has delivered something, may have done so, or has a delivery that a person decided to send again.
 * Such a run continues even if another run has taken over its claim meanwhile.
 */
export const hasBegun = (
  rows: readonly Pick<DeliveryRow, 'target' | 'state' | 'decisions'>[],
  targets?: readonly Target[],
): boolean =>
  rows.some(
    ({ target, state, decisions }) =>
      needsClaim(target, targets) && (isBegun(state) || decisions.some(({ to }) => to === 'pending')),
  );

/** Claims the periods of runs. */
export interface PeriodClaims {
  /**
   * Claims the period for the run, or finds its existing claim. Throws `already_delivered` if another run has the
   * claim, or has delivered since this run was opened, unless the run insists.
   * @param insists called only if needed; true: the run delivers anyway, and takes over the claim
   */
  acquire(run: ClaimingRun, insists: () => Promise<boolean>): Promise<void>;
  /** Releases the run's own claim after the run has ended without delivering anything. */
  release(run: ClaimingRun): Promise<void>;
}

export interface ClaimingRun extends ClaimedPeriod {
  readonly id: string;
  readonly period: Period;
  /** Epoch ms. */
  readonly createdAt: number;
  /** In a report with `split`: the run delivers only the pack of this value. */
  readonly value?: string;
}

/**
 * Stores claims in Redis: one string per report and period, `<prefix>claim:<org>/<report>:<first day>..<last
 * day>:<zone>`.
 *
 * @param prefix of every key, with its separator, e.g. `docket:`
 * @param ttlDays after which an unchanged claim expires; the archive keeps it longer
 */
export function redisClaims(
  redis: RedisClient,
  { prefix, ttlDays }: { readonly prefix: string; readonly ttlDays: number },
): ClaimStore {
  const script = loadLuaScript('./write-claim-1.lua', import.meta.url);
  const mapped = mapRedisErrors(undefined, beforeSending('The claim of the period'));
  const keyOf = ({ org, report, period: { from, to, timezone } }: ClaimedPeriod): string =>
    `${prefix}claim:${org}/${report}:${from}..${to}:${timezone}`;
  return {
    read: mapped(async (of: ClaimedPeriod) => {
      const text = await redis.get(keyOf(of));
      return text === null ? undefined : parseClaim(text, text);
    }),
    write: mapped(async (of: ClaimedPeriod, claim: Claim, before: StoredClaim | undefined) => {
      const args = [before?.version ?? '', claimText(of, claim), ttlDays * DAY_MS];
      return (await runLuaScript(redis, script, [keyOf(of)], args)) === 1;
    }),
  };
}
