import { DocketError } from '../../base/error.ts';
import type { RunIdLookup } from '../../queue/runs/run-ids.ts';
import type { RunRecord } from '../../run/run-record.ts';
import type { DecisionService } from '../deliveries/decisions.ts';

/** Number of hex digits in the id of a run or delivery. */
const ID_LENGTH = 32;
/** Shortest allowed prefix: as many digits as are shown of a run's id. */
const MIN_LENGTH = 8;
/** Number of digits that a delivery's id shares with its run's id. */
const RUN_PREFIX_LENGTH = 16;
/** Most candidates listed in an error. */
export const MAX_CANDIDATES = 10;
/** How many records to read before the search stops: most may belong to other organizations. */
const MAX_SCANNED_RUNS = 1_000;

/** Whether a text has the form of a full run or delivery id. */
export const isFullId = (text: string): boolean => new RegExp(`^[0-9a-f]{${ID_LENGTH}}$`).test(text);

/**
 * Resolves a full run id, or a unique prefix of one among these organizations' runs. Undefined when no run matches.
 * Throws `usage.invalid` for fewer than eight digits, and `run.ambiguous` with the candidates.
 */
export async function resolveRunId(
  given: string,
  runs: RunIdLookup,
  orgs: readonly string[] | '*',
): Promise<string | undefined> {
  const text = given.toLowerCase();
  if (!isIdPrefix(text)) return isFullId(text) ? text : undefined;
  const found: IdCandidate[] = [];
  for await (const { id, org, report, period } of runsWithPrefix(text, runs, orgs)) {
    found.push({ id, text: `${id} (${org}/${report} ${period.label})` });
    if (found.length > MAX_CANDIDATES) break;
  }
  return requireUnique('run', text, found);
}

/** A run or delivery that matches a prefix. */
export interface IdCandidate {
  readonly id: string;
  /** The id with a description, for the error. */
  readonly text: string;
}

/**
 * Resolves a full delivery id, or a prefix of one. A delivery's id starts with the digits of its run: a prefix of up to
 * sixteen digits matches all deliveries of the run. Throws `usage.invalid`, `delivery.ambiguous`.
 */
export async function resolveDeliveryId(
  given: string,
  { runs, deliveries }: { readonly runs: RunIdLookup; readonly deliveries: DecisionService },
  orgs: readonly string[] | '*',
): Promise<string | undefined> {
  const text = given.toLowerCase();
  if (!isIdPrefix(text)) return isFullId(text) ? text : undefined;
  const found: IdCandidate[] = [];
  for await (const { id: run } of runsWithPrefix(text.slice(0, RUN_PREFIX_LENGTH), runs, orgs)) {
    const page = await deliveries.page({ orgs, run, limit: 1 });
    for (const { id, recipient, state } of page.deliveries) {
      if (id.startsWith(text)) found.push({ id, text: `${id} (${recipient}, ${state})` });
    }
    if (found.length > MAX_CANDIDATES) break;
  }
  return requireUnique('delivery', text, found);
}

/** The runs of these organizations whose id has the prefix. */
export async function* runsWithPrefix(
  prefix: string,
  runs: RunIdLookup,
  orgs: readonly string[] | '*',
): AsyncGenerator<RunRecord> {
  let after: string | undefined;
  for (let seen = 0; seen < MAX_SCANNED_RUNS; ) {
    const ids = await runs.findIdsByPrefix(prefix, after);
    if (ids.length === 0) return;
    seen += ids.length;
    after = ids.at(-1);
    for (const record of await Promise.all(ids.map((id) => runs.get(id).catch(ignoreUnreadable)))) {
      if (record !== undefined && (orgs === '*' || orgs.includes(record.org))) yield record;
    }
  }
}

/** An unreadable record is only found by its full id, which reports the error. */
function ignoreUnreadable(thrown: unknown): undefined {
  if (thrown instanceof DocketError && thrown.code === 'run.unreadable') return undefined;
  throw thrown;
}

/** Whether the text is a prefix of an id, as opposed to a full id. Throws `usage.invalid` if it is too short. */
export function isIdPrefix(text: string): boolean {
  if (!/^[0-9a-f]+$/.test(text) || text.length >= ID_LENGTH) return false;
  if (text.length >= MIN_LENGTH) return true;
  throw new DocketError('usage.invalid', `The id ${text} is too short.`, {
    expected: `an id, or its first ${MIN_LENGTH} digits or more`,
    got: `${text.length} ${text.length === 1 ? 'digit' : 'digits'}`,
    next: '`docket runs` and the page list runs, `docket deliveries` lists deliveries.',
  });
}

/** The only candidate's id; undefined without candidates. Throws `run.ambiguous`, `delivery.ambiguous`. */
export function requireUnique(
  what: 'run' | 'delivery',
  text: string,
  found: readonly IdCandidate[],
): string | undefined {
  if (found.length < 2) return found[0]?.id;
  const many = found.length > MAX_CANDIDATES;
  const named = found.slice(0, MAX_CANDIDATES).map((each) => each.text);
  const all = what === 'run' ? 'runs' : 'deliveries';
  throw new DocketError(
    `${what}.ambiguous`,
    `${many ? 'Many' : found.length} ${all} have an id that starts with ${text}.`,
    {
      expected: 'enough digits to identify one',
      got: named.join(', ') + (many ? ', …' : ''),
      next: 'Give more digits of the id.',
    },
  );
}
