import { mapWithConcurrency } from '../../base/concurrency.ts';
import { toDocketError } from '../../base/error.ts';
import type { OrgRef } from '../../contract/organization.ts';
import { formatCivilDay, parseCivilDay } from '../../definitions/schedules/civil-day.ts';
import { daysBetween, localDay, readingWindow } from '../../definitions/schedules/reading-window.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { QuestionRef, QuestionState, ReadingArchive } from '../../deliver/archive/readings/reading-archive.ts';
import { type FindReadings, questionId, readingQuestions } from '../../plan/reading.ts';

/**
 * - `stored`: with its counts
 * - `missed`: a permanent gap
 * - `due`: its hour has not ended
 * - `unreadable`: stored, but damaged since
 */
const READING_STATES = ['stored', 'missed', 'due', 'unreadable'] as const;
export type ReadingState = (typeof READING_STATES)[number];

/** One question on one day. */
export interface ReadingEntry extends QuestionRef {
  readonly state: ReadingState;
  /** Null unless the reading is stored. */
  readonly asOf: string | null;
  /** Number of calls made for it. */
  readonly asked: number;
  /** Why it is missing: code and message of the last call. Null if no call was made, or if it is stored. */
  readonly why: { readonly code: string; readonly message: string } | null;
}

export interface HistoryRange {
  /** YYYY-MM-DD. Absent: the first reading, but at most `DEFAULT_DAYS` ago. */
  readonly from?: string | undefined;
  /** Absent: today in the organization's time zone. */
  readonly to?: string | undefined;
}

/** How many days are listed without a range. */
const DEFAULT_DAYS = 31;
/** Readings opened at the same time. */
const CONCURRENCY = 8;

/** The questions that a day should have: those in org.yaml, each from the first day on which it was used. */
function expectedQuestions(settings: OrgSettings, states: readonly QuestionState[]): (day: string) => Set<string> {
  const configured = settings.readings === undefined ? [] : readingQuestions(settings.readings, undefined);
  const firstDays = new Map<string, string>();
  for (const { day, question } of states) if (!firstDays.has(question)) firstDays.set(question, day);
  return (day) =>
    new Set(
      configured
        .map(({ id }) => id)
        // A dimension that no metric accepts is never requested.
        .filter((id) => (firstDays.size === 0 ? id === 'whole' : day >= (firstDays.get(id) ?? '9'))),
    );
}

/**
 * Lists an organization's readings by day and question, including missed ones. Includes stored readings that org.yaml
 * no longer requests. With `from`, days before the first reading count as missed.
 *
 * @param now epoch ms
 */
export async function readingHistory(
  archive: ReadingArchive,
  settings: OrgSettings,
  { from, to }: HistoryRange,
  now: number,
): Promise<readonly ReadingEntry[]> {
  const { id: org, timezone, readings } = settings;
  const states = await archive.list(org);
  const today = localDay(now, timezone);
  const last = to ?? today;
  const earliest = formatCivilDay(parseCivilDay(last) - DEFAULT_DAYS + 1);
  const firstSeen = states[0]?.day ?? today;
  const first = from ?? (firstSeen > earliest ? firstSeen : earliest);
  const questionsOf = expectedQuestions(settings, states);
  const known = new Map(states.map((state) => [`${state.day} ${state.question}`, state]));
  const refs = daysBetween(first, last).flatMap((day) => {
    const questions = new Set([
      ...states.filter((state) => state.day === day).map(({ question }) => question),
      ...(from !== undefined && day < firstSeen ? ['whole'] : questionsOf(day)),
    ]);
    return [...questions].sort().map((question): QuestionRef => ({ org, day, question }));
  });
  return mapWithConcurrency(refs, CONCURRENCY, async (ref): Promise<ReadingEntry> => {
    const { stored = false, asked = 0 } = known.get(`${ref.day} ${ref.question}`) ?? {};
    if (stored) return { ...ref, asked, ...(await storedEntry(archive, ref)) };
    const window = readings && readingWindow(ref.day, readings.at, timezone);
    const isDue = window !== undefined && now < window.until;
    const end = asked === 0 ? undefined : (await archive.lastCall(ref))?.end;
    const skipped =
      window === undefined && readings !== undefined
        ? { code: 'no_such_time', message: `The zone skips ${readings.at} and the rest of this day.` }
        : null;
    const why = end === undefined ? skipped : { code: end.code, message: end.message };
    return { ...ref, state: isDue ? 'due' : 'missed', asOf: null, asked, why };
  });
}

async function storedEntry(
  archive: ReadingArchive,
  ref: QuestionRef,
): Promise<Pick<ReadingEntry, 'state' | 'asOf' | 'why'>> {
  try {
    const reading = await archive.get(ref);
    return { state: 'stored', asOf: reading?.as_of ?? null, why: null };
  } catch (thrown) {
    const { code, message } = toDocketError(thrown);
    if (code !== 'archive.corrupt') throw thrown;
    return { state: 'unreadable', asOf: null, why: { code, message } };
  }
}

/** Whether the entry is a gap. */
export const isGap = ({ state }: Pick<ReadingEntry, 'state'>): boolean => state === 'missed' || state === 'unreadable';

/** Readings opened at the same time. */
const OPENED_AT_ONCE = 8;

/**
 * Finds the stored readings in an archive. A damaged reading counts as a gap; `docket archive verify` reports it. So
 * does one of another organization of the service, because a folder of definitions may have belonged to another one
 * before.
 */
export const findReadings =
  (archive: ReadingArchive, serviceOrg: OrgRef): FindReadings =>
  async (org, dimension, days) => {
    const question = questionId(dimension);
    const wanted = new Set(days);
    const stored = (await archive.list(org)).filter(
      (state) => state.stored && state.question === question && wanted.has(state.day),
    );
    const readings = await mapWithConcurrency(stored, OPENED_AT_ONCE, ({ day }) =>
      archive.get({ org, day, question }).catch((thrown: unknown) => {
        if (toDocketError(thrown).code !== 'archive.corrupt') throw thrown;
        return undefined;
      }),
    );
    const own = readings.filter((reading) => reading?.service_org === String(serviceOrg));
    return new Map(own.flatMap((reading) => (reading === undefined ? [] : [[reading.day, reading] as const])));
  };
