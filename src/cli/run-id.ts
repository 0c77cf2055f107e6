import { DocketError, isRedisOutage, toDocketError } from '../base/error.ts';
import { withArchive } from '../compose/archive.ts';
import { openDesk } from '../compose/decisions.ts';
import type { Surroundings } from '../compose/ports.ts';
import { type Candidate, isId, isPart, MAX_CANDIDATES, onlyOne, type RunIds, resolveRunId } from '../queue/short-id.ts';

/** The run that somebody means, by its id or its first digits. Throws `run.not_found`, and as `resolveRunId` does. */
export async function runIdOf(text: string, runs: RunIds): Promise<string> {
  const id = await resolveRunId(text, runs, '*');
  if (id !== undefined) return id;
  throw new DocketError('run.not_found', `There is no record of a run ${JSON.stringify(text.slice(0, 80))}.`, {
    expected: 'the id of a run, or its first 8 digits or more',
    next: '`docket runs` lists what is kept.',
  });
}

/** The same for a command that goes on without the record. Throws `redis.unreachable` for a short id alone. */
export async function watchedRunId(around: Surroundings, text: string): Promise<string> {
  if (isId(text)) return text;
  const { runs, scope } = await openDesk(around);
  try {
    return await runIdOf(text, runs);
  } finally {
    await scope.close();
  }
}

/**
 * The same, for commands that show what the archive keeps: of runs that Redis does not know, or while it is away, the
 * archive is looked through. Undefined when there is none. A whole id is not looked for anywhere.
 */
export async function keptRunId(around: Surroundings, text: string): Promise<string | undefined> {
  if (!isPart(text)) return isId(text) ? text : undefined;
  return (await recordedRunId(around, text)) ?? (await archivedRunId(around, text));
}

/** Undefined as well while Redis is away. */
async function recordedRunId(around: Surroundings, text: string): Promise<string | undefined> {
  try {
    const { runs, scope } = await openDesk(around);
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

const archivedRunId = (around: Surroundings, text: string): Promise<string | undefined> =>
  withArchive(around, async ({ shelf }) => {
    const found: Candidate[] = [];
    for await (const { id, org, report } of shelf.runs()) {
      if (!isId(id) || !id.startsWith(text)) continue;
      found.push({ id, text: `${id} (${org}/${report})` });
      if (found.length > MAX_CANDIDATES) break;
    }
    return onlyOne('run', text, found);
  });
