import { DocketError } from '../base/error.ts';
import type { RunRecord } from '../run/record.ts';
import type { Decisions } from './decisions.ts';

/** Digits of a run's or a delivery's id. */
const ID_LENGTH = 32;
/** The fewest that stand for it: what people see of a run's id. */
const MIN_LENGTH = 8;
/** Digits that a delivery's id has from its run's. */
const RUN_PART = 16;
/** Of those that begin alike. */
export const MAX_CANDIDATES = 10;
/** Runs of others that are looked at before the search is given up. */
const MAX_LOOKED_AT = 1_000;

/** Where runs are found by the beginning of their ids. */
export interface RunIds {
  get(id: string): Promise<RunRecord | undefined>;
  /** In the order of the ids, some at a time. @param after the last one that is known */
  idsFrom(prefix: string, after?: string): Promise<readonly string[]>;
}

/** Whether a text has the form of a whole id of runs and deliveries. */
export const isId = (text: string): boolean => new RegExp(`^[0-9a-f]{${ID_LENGTH}}$`).test(text);

/**
 * The id of the run that somebody means: a whole id as it is, and of a shorter one the only run that begins so among those
 * of these organizations; runs of others are as if they did not exist. Undefined when there is none. Throws
 * `usage.invalid` for fewer than eight digits, `run.ambiguous` with the candidates.
 */
export async function resolveRunId(
  text: string,
  runs: RunIds,
  orgs: readonly string[] | '*',
): Promise<string | undefined> {
  if (!isPart(text)) return isId(text) ? text : undefined;
  const found: Candidate[] = [];
  for await (const { id, org, report, period } of runsFrom(text, runs, orgs)) {
    found.push({ id, text: `${id} (${org}/${report} ${period.label})` });
    if (found.length > MAX_CANDIDATES) break;
  }
  return onlyOne('run', text, found);
}

/** What may be meant by a short id. */
export interface Candidate {
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
  { runs, deliveries }: { readonly runs: RunIds; readonly deliveries: Pick<Decisions, 'page'> },
  orgs: readonly string[] | '*',
): Promise<string | undefined> {
  if (!isPart(text)) return isId(text) ? text : undefined;
  const found: Candidate[] = [];
  for await (const { id: run } of runsFrom(text.slice(0, RUN_PART), runs, orgs)) {
    const page = await deliveries.page({ orgs, run, limit: 1 });
    for (const { id, recipient, state } of page.deliveries) {
      if (id.startsWith(text)) found.push({ id, text: `${id} (${recipient}, ${state})` });
    }
    if (found.length > MAX_CANDIDATES) break;
  }
  return onlyOne('delivery', text, found);
}

/** Runs of these organizations whose ids begin so. */
async function* runsFrom(prefix: string, runs: RunIds, orgs: readonly string[] | '*'): AsyncGenerator<RunRecord> {
  let after: string | undefined;
  for (let seen = 0; seen < MAX_LOOKED_AT; ) {
    const ids = await runs.idsFrom(prefix, after);
    if (ids.length === 0) return;
    seen += ids.length;
    after = ids.at(-1);
    for (const record of await Promise.all(ids.map((id) => runs.get(id).catch(passOver)))) {
      if (record !== undefined && (orgs === '*' || orgs.includes(record.org))) yield record;
    }
  }
}

/** A record that cannot be read is found by its whole id alone, which says why. */
function passOver(thrown: unknown): undefined {
  if (thrown instanceof DocketError && thrown.code === 'run.unreadable') return undefined;
  throw thrown;
}

/** Whether the text is the beginning of an id, and no whole one. Throws `usage.invalid` for one that is too short. */
export function isPart(text: string): boolean {
  if (!/^[0-9a-f]+$/.test(text) || text.length >= ID_LENGTH) return false;
  if (text.length >= MIN_LENGTH) return true;
  throw new DocketError('usage.invalid', `The id ${text} is too short.`, {
    expected: `an id, or its first ${MIN_LENGTH} digits or more`,
    got: `${text.length} ${text.length === 1 ? 'digit' : 'digits'}`,
    next: '`docket runs` and the page list runs, `docket deliveries` lists deliveries.',
  });
}

/** The id of the only candidate; undefined when there is none. Throws `run.ambiguous`, `delivery.ambiguous`. */
export function onlyOne(what: 'run' | 'delivery', text: string, found: readonly Candidate[]): string | undefined {
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
