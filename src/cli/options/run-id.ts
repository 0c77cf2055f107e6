import type { AppContext } from '../../base/context.ts';
import { DocketError, isRedisOutage, toDocketError } from '../../base/error.ts';
import { withArchive } from '../../compose/archive.ts';
import { openDecisions } from '../../compose/decisions.ts';
import type { RunIdLookup } from '../../queue/runs/run-ids.ts';
import {
  type IdCandidate,
  isFullId,
  isIdPrefix,
  MAX_CANDIDATES,
  requireUnique,
  resolveRunId,
} from '../../services/runs/resolve-id.ts';

/** The run that somebody means, by its id or its first digits. Throws `run.not_found`, and as `resolveRunId` does. */
export async function requireRunId(text: string, runs: RunIdLookup): Promise<string> {
  const id = await resolveRunId(text, runs, '*');
  if (id !== undefined) return id;
  throw new DocketError('run.not_found', `There is no record of a run ${JSON.stringify(text.slice(0, 80))}.`, {
    expected: 'the id of a run, or its first 8 digits or more',
    next: '`docket runs` lists what is kept.',
  });
}

/** The same for a command that goes on without the record. Throws `redis.unreachable` for a short id alone. */
export async function expandRunId(around: AppContext, text: string): Promise<string> {
  if (isFullId(text)) return text;
  const { runs, scope } = await openDecisions(around);
  try {
    return await requireRunId(text, runs);
  } finally {
    await scope.close();
  }
}

/**
 * The same, for commands that show what the archive keeps: of runs that Redis does not know, or while it is away, the
 * archive is looked through. Undefined when there is none. A whole id is not looked for anywhere.
 */
export async function findRunId(around: AppContext, text: string): Promise<string | undefined> {
  if (!isIdPrefix(text)) return isFullId(text) ? text : undefined;
  return (await findRecordedRunId(around, text)) ?? (await findArchivedRunId(around, text));
}

/** Undefined as well while Redis is away. */
async function findRecordedRunId(around: AppContext, text: string): Promise<string | undefined> {
  try {
    const { runs, scope } = await openDecisions(around);
    try {
      return await resolveRunId(text, runs, '*');
    } finally {
      await scope.close();
    }
  } catch (thrown) {
    if (isRedisOutage(toDocketError(thrown))) return undefined;
    throw thrown;
  }
}

const findArchivedRunId = (around: AppContext, text: string): Promise<string | undefined> =>
  withArchive(around, async ({ storage }) => {
    const found: IdCandidate[] = [];
    for await (const { id, org, report } of storage.listRuns()) {
      if (!isFullId(id) || !id.startsWith(text)) continue;
      found.push({ id, text: `${id} (${org}/${report})` });
      if (found.length > MAX_CANDIDATES) break;
    }
    return requireUnique('run', text, found);
  });
