import type { AppContext } from '../../base/context.ts';
import { DocketError, isRedisOutage, toDocketError } from '../../base/error.ts';
import { withArchive } from '../../compose/archive.ts';
import { withDecisions } from '../../compose/decisions.ts';
import type { RunIdLookup } from '../../queue/runs/run-ids.ts';
import {
  type IdCandidate,
  isFullId,
  isIdPrefix,
  MAX_CANDIDATES,
  requireUnique,
  resolveRunId,
} from '../../services/runs/resolve-id.ts';

/** Can replace an id, and means the newest recorded run. */
export const LAST_RUN = 'last';

/**
 * The id of the newest run on record. Throws `run.not_found` if there is none, `redis.unreachable`.
 *
 * @param filter restricts it to an organization and report
 */
export async function findLastRunId(
  context: AppContext,
  filter: { readonly org?: string | undefined; readonly report?: string | undefined } = {},
): Promise<string> {
  const [newest] = await withDecisions(context, ({ runs }) => runs.list({ ...filter, limit: 1 }));
  if (newest !== undefined) return newest.id;
  const of = filter.org === undefined ? '' : ` of ${[filter.org, filter.report].filter(Boolean).join('/')}`;
  throw new DocketError('run.not_found', `There is no record of a run${of}.`, {
    next: '`docket runs` lists the recorded runs.',
  });
}

/** The full id of a run, from its id or first digits. Throws `run.not_found`, and what `resolveRunId` throws. */
export async function requireRunId(text: string, runs: RunIdLookup): Promise<string> {
  const id = await resolveRunId(text, runs, '*');
  if (id !== undefined) return id;
  throw new DocketError('run.not_found', `There is no record of a run ${JSON.stringify(text.slice(0, 80))}.`, {
    expected: 'the id of a run, or its first 8 digits or more',
    next: '`docket runs` lists the recorded runs.',
  });
}

/** Like `requireRunId`, but does not look up a full id. For a short one throws `redis.unreachable` as well. */
export async function expandRunId(context: AppContext, text: string): Promise<string> {
  if (text === LAST_RUN) return findLastRunId(context);
  return isFullId(text) ? text : withDecisions(context, ({ runs }) => requireRunId(text, runs));
}

/**
 * For commands that show archived runs: like `requireRunId`, but also searches the archive if Redis does not have the
 * run or is unreachable. Undefined if no run matches. Throws `redis.unreachable` if only Redis may have the run. Does
 * not look up a full id.
 */
export async function findRunId(context: AppContext, given: string): Promise<string | undefined> {
  if (given === LAST_RUN) return findLastRunId(context);
  const text = given.toLowerCase();
  if (!isIdPrefix(text)) return isFullId(text) ? text : undefined;
  const recorded = await findRecordedRunId(context, text);
  if (typeof recorded === 'string') return recorded;
  const archived = await findArchivedRunId(context, text);
  // Redis is unreachable, so there may still be a record.
  if (archived === undefined && recorded !== undefined) throw recorded.outage;
  return archived;
}

/** The id, or the error if Redis is unreachable. */
const findRecordedRunId = (
  context: AppContext,
  text: string,
): Promise<string | { readonly outage: DocketError } | undefined> =>
  withDecisions(context, ({ runs }) => resolveRunId(text, runs, '*')).catch((thrown: unknown) => {
    const outage = toDocketError(thrown);
    if (isRedisOutage(outage)) return { outage };
    throw thrown;
  });

const findArchivedRunId = (context: AppContext, text: string): Promise<string | undefined> =>
  withArchive(context, async ({ storage }) => {
    const found: IdCandidate[] = [];
    for await (const { id, org, report } of storage.listRuns()) {
      if (!isFullId(id) || !id.startsWith(text)) continue;
      found.push({ id, text: `${id} (${org}/${report})` });
      if (found.length > MAX_CANDIDATES) break;
    }
    return requireUnique('run', text, found);
  });
