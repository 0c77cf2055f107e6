import type { Clock } from '../../base/clock.ts';
import { toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { formatCivilDay, parseCivilDay } from '../../definitions/schedules/civil-day.ts';
import { localDay } from '../../definitions/schedules/reading-window.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { QuestionRef, ReadingArchive } from '../../deliver/archive/readings/reading-archive.ts';
import type { ReadingIndex, ReadingSummary } from '../../queue/schedules/reading-index.ts';
import { isGap, readingHistory } from './reading-history.ts';

/** For how many days metrics, page and doctor show gaps. */
export const RECENT_DAYS = 7;

/** @param now epoch ms */
export async function summarizeReadings(
  archive: ReadingArchive,
  settings: OrgSettings,
  now: number,
): Promise<ReadingSummary> {
  const today = localDay(now, settings.timezone);
  const recent = formatCivilDay(parseCivilDay(today) - RECENT_DAYS + 1);
  const entries = (await readingHistory(archive, settings, {}, now)).filter(({ day }) => day >= recent).toReversed();
  return {
    org: settings.id,
    at: now,
    newest: await newestReading(archive, settings.id),
    missed: entries.filter(isGap).map(({ day, question, why }) => ({ day, question, why: why?.message ?? null })),
  };
}

/** When the newest readable reading was taken, however old it is: alerts measure its age. */
async function newestReading(archive: ReadingArchive, org: string): Promise<number | null> {
  const stored = (await archive.list(org)).filter((state) => state.stored);
  const days = [...new Set(stored.map(({ day }) => day))].toReversed();
  for (const day of days) {
    const ofDay = stored.filter((state) => state.day === day);
    const found = (await Promise.all(ofDay.map((state) => asOfReading(archive, state)))).filter(
      (at) => at !== undefined,
    );
    if (found.length > 0) return Math.max(...found);
  }
  return null;
}

/** When a reading was taken; undefined if it is damaged. */
async function asOfReading(archive: ReadingArchive, ref: QuestionRef): Promise<number | undefined> {
  try {
    const reading = await archive.get(ref);
    return reading === undefined ? undefined : Date.parse(reading.as_of);
  } catch (thrown) {
    if (toDocketError(thrown).code !== 'archive.corrupt') throw thrown;
    return undefined;
  }
}

export interface SummarizePorts {
  readonly archive: ReadingArchive;
  readonly index: ReadingIndex;
  readonly clock: Clock;
  readonly log: Log;
}

/** Updates an organization's summary, and logs today's gaps. */
export async function updateSummary(settings: OrgSettings, ports: SummarizePorts): Promise<void> {
  const { archive, index, clock, log } = ports;
  const now = clock.now();
  const summary = await summarizeReadings(archive, settings, now);
  await index.put(summary);
  const today = localDay(now, settings.timezone);
  for (const { day, question, why } of summary.missed) {
    if (day !== today) continue;
    log.error('Reading missed: the day stays without it', {
      org: settings.id,
      event: 'reading.missed',
      path: `${day}/${question}`,
      ...(why === null ? {} : { why }),
    });
  }
}

/** Rebuilds all summaries from the archive. */
export async function rebuildSummaries(orgs: ReadonlyMap<string, OrgSettings>, ports: SummarizePorts): Promise<void> {
  const reading = [...orgs.values()].filter(({ readings }) => readings !== undefined);
  await ports.index.retain(new Set(reading.map(({ id }) => id)));
  for (const settings of reading) {
    try {
      await ports.index.put(await summarizeReadings(ports.archive, settings, ports.clock.now()));
    } catch (thrown) {
      const error = toDocketError(thrown).toJSON();
      ports.log.error('Readings could not be compared with the archive', { org: settings.id, error });
    }
  }
}
