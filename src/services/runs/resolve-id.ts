import { DocketError } from '../../base/error.ts';
import type { RunIdLookup } from '../../queue/runs/run-ids.ts';
import type { RunRecord } from '../../run/run-record.ts';
import type { DeliveryFilter, DeliveryPage } from '../deliveries/query-deliveries.ts';

/** Digits of a run's or a delivery's id. */
const ID_LENGTH = 32;
/** The fewest that stand for it: what people see of a run's id. */
const MIN_LENGTH = 8;
/** Digits that a delivery's id has from its run's. */
const RUN_PREFIX_LENGTH = 16;
/** Of those that begin alike. */
export const MAX_CANDIDATES = 10;
/** Runs of others that are looked at before the search is given up. */
const MAX_SCANNED_RUNS = 1_000;

/** Whether a text has the form of a whole id of runs and deliveries. */
export const isFullId = (text: string): boolean => new RegExp(`^[0-9a-f]{${ID_LENGTH}}$`).test(text);

/**
 * The id of the run that somebody means: a whole id as it is, and of a shorter one the only run that begins so among those
 * of these organizations; runs of others are as if they did not exist. Undefined when there is none. Throws
 * `usage.invalid` for fewer than eight digits, `run.ambiguous` with the candidates.
 */
export async function resolveRunId(
  text: string,
  runs: RunIdLookup,
  orgs: readonly string[] | '*',
): Promise<string | undefined> {
  if (!isIdPrefix(text)) return isFullId(text) ? text : undefined;
  const found: IdCandidate[] = [];
  for await (const { id, org, report, period } of runsWithPrefix(text, runs, orgs)) {
    found.push({ id, text: `${id} (${org}/${report} ${period.label})` });
    if (found.length > MAX_CANDIDATES) break;
  }
  return requireUnique('run', text, found);
}

/** What may be meant by a short id. */
export interface IdCandidate {
  readonly id: string;
  /** Its id, and what tells a person which one it is. */
  readonly text: string;
}

/**
 * The same of a delivery. Its id begins with its run's, so that sixteen digits or fewer name the only delivery of a run.
 * Throws `delivery.ambiguous`.
 */
export async function resolveDeliveryId(
  text: string,
  {
    runs,
    deliveries,
  }: { readonly runs: RunIdLookup; readonly deliveries: { page(filter: DeliveryFilter): Promise<DeliveryPage> } },
  orgs: readonly string[] | '*',
): Promise<string | undefined> {
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

/** Runs of these organizations whose ids begin so. */
async function* runsWithPrefix(
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

/** A record that cannot be read is found by its whole id alone, which says why. */
function ignoreUnreadable(thrown: unknown): undefined {
  if (thrown instanceof DocketError && thrown.code === 'run.unreadable') return undefined;
  throw thrown;
}

/** Whether the text is the beginning of an id, and no whole one. Throws `usage.invalid` for one that is too short. */
export function isIdPrefix(text: string): boolean {
  if (!/^[0-9a-f]+$/.test(text) || text.length >= ID_LENGTH) return false;
  if (text.length >= MIN_LENGTH) return true;
  throw new DocketError('usage.invalid', `The id ${text} is too short.`, {
    expected: `an id, or its first ${MIN_LENGTH} digits or more`,
    got: `${text.length} ${text.length === 1 ? 'digit' : 'digits'}`,
    next: '`docket runs` and the page list runs, `docket deliveries` lists deliveries.',
  });
}

/** The id of the only candidate; undefined when there is none. Throws `run.ambiguous`, `delivery.ambiguous`. */
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
    `${many ? 'Many' : found.length} ${all} have an id that begins with ${text}.`,
    {
      expected: 'enough digits to name one',
      got: named.join(', ') + (many ? ', …' : ''),
      next: 'Give more digits.',
    },
  );
}
