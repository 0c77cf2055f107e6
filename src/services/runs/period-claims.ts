import { DocketError } from '../../base/error.ts';
import { DAY_MS, HOUR_MS } from '../../base/time.ts';
import type { Claim, ClaimingRun, ClaimStore, PeriodClaims, StoredClaim } from '../../deliver/claims/claim.ts';
import { TERMINAL_STATES } from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { alreadyDeliveredError, beingDeliveredError, type FindEarlierDelivery } from './already-delivered.ts';

/** How often other processes may write in between before the run's attempt gives up and is repeated. */
const MAX_TRIES = 20;
/** A run of another Redis that claimed a period and delivered nothing within this time counts as dead. */
const ABANDONED_AFTER_MS = DAY_MS;
/** A run that waits for a target renews its claim this often, so that it never counts as abandoned. */
const RENEW_AFTER_MS = HOUR_MS;
/** Most earlier holders that a claim names, newest first. */
const MAX_REPLACED = 10;

/** A period's claim in each store. */
type Held = readonly (StoredClaim | undefined)[];

/** Other runs' claims, except released ones. */
const othersIn = (held: Held, run: string): readonly StoredClaim[] =>
  held.flatMap((claim) => (claim === undefined || claim.run === run || claim.released ? [] : claim));

/** The run's claim, which names those that it replaces. */
function buildClaim({ id }: ClaimingRun, held: Held, at: number): Claim {
  const named = [...othersIn(held, id), ...held.flatMap((claim) => claim?.replaces ?? [])];
  const replaces = new Map(named.map((other) => [other.run, { run: other.run, at: other.at }] as const));
  replaces.delete(id);
  return { run: id, at, ...(replaces.size > 0 && { replaces: [...replaces.values()].slice(0, MAX_REPLACED) }) };
}

/**
 * Manages claims in Redis and the archive. A claim counts as released once its run has ended without delivering,
 * judging by its record and deliveries. So it is released however the run ended.
 */
export function createPeriodClaims(
  { runs, clock }: Pick<Deployment, 'runs' | 'clock'>,
  stores: readonly ClaimStore[],
  find: FindEarlierDelivery,
): PeriodClaims {
  /** Throws `already_delivered` while one of the other runs may deliver, and if any run has delivered. */
  const assertFree = async (run: ClaimingRun, others: readonly Pick<Claim, 'run' | 'at'>[]): Promise<void> => {
    const now = clock.now();
    const earlier = await find(run);
    // Deliveries from before this run was opened do not count: its request was checked against them, or had `again`.
    const counts = earlier && (earlier.at >= run.createdAt || others.some((other) => other.run === earlier.run));
    if (counts) throw alreadyDeliveredError(run, earlier, now, 'sent');
    for (const other of others) {
      const record = await runs.get(other.run);
      const isOver = record === undefined ? now - other.at > ABANDONED_AFTER_MS : TERMINAL_STATES.has(record.state);
      if (!isOver) throw beingDeliveredError(run, other);
    }
  };

  const readAll = (run: ClaimingRun): Promise<Held> => Promise.all(stores.map((store) => store.read(run)));

  const writeAll = async (run: ClaimingRun, claim: Claim, held: Held): Promise<boolean> => {
    for (const [index, store] of stores.entries()) if (!(await store.write(run, claim, held[index]))) return false;
    return true;
  };

  /** Returns the run's claim to its previous holder, if there was one, unless another run has taken it over since. */
  const giveBack = async (run: ClaimingRun): Promise<void> => {
    for (const [index, stored] of (await readAll(run)).entries()) {
      if (stored === undefined || stored.run !== run.id || stored.released) continue;
      const { at, replaces: [before, ...replaces] = [] } = stored;
      const claim: Claim = before === undefined ? { run: run.id, at, released: true } : { ...before, replaces };
      await stores[index]?.write(run, claim, stored);
    }
  };

  /** @returns the run's claims */
  const claimAll = async (run: ClaimingRun, insists: () => Promise<boolean>): Promise<readonly Claim[]> => {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const held = await readAll(run);
      const now = clock.now();
      const isOwn = (claim: StoredClaim | undefined): boolean =>
        claim?.run === run.id && !claim.released && now - claim.at < RENEW_AFTER_MS;
      if (held.every(isOwn)) return held.flatMap((claim) => claim ?? []);
      const others = othersIn(held, run.id);
      if (others.length > 0 && !(await insists())) await assertFree(run, others);
      const claim = buildClaim(run, held, now);
      if (await writeAll(run, claim, held)) return [claim];
    }
    throw new DocketError('run.conflict', 'Other runs keep claiming the period.', {
      where: `${run.org}/${run.report}`,
      retryable: true,
    });
  };

  return {
    acquire: async (run, isInsisting) => {
      let answer: Promise<boolean> | undefined;
      const insists = (): Promise<boolean> => {
        answer ??= isInsisting();
        return answer;
      };
      try {
        const claims = await claimAll(run, insists);
        if (await insists()) return;
        // Checked again with the claim: a run that had ended may have been reopened just before its claim was taken
        // over.
        await assertFree(
          run,
          claims.flatMap(({ replaces = [] }) => replaces),
        );
      } catch (error) {
        if (error instanceof DocketError && error.code === 'already_delivered') await giveBack(run);
        throw error;
      }
    },

    release: giveBack,
  };
}
