import { isolateBidi } from '../../base/text/bidi.ts';
import type { FiscalCalendar } from '../../definitions/periods/fiscal-calendar.ts';
import { formatPeriod } from '../../definitions/periods/period.ts';
import type { Dataset, Table } from '../../fetch/dataset.ts';
import { incompleteNotes, lacksCurrentCounts } from '../../fetch/notes.ts';
import { DEFAULT_LOCALE, type Words } from '../../i18n/messages.ts';
import { endOfDay } from '../../plan/buckets.ts';
import { formatZonedInstant } from '../figures/format-date.ts';
import { parseIsoInstant } from '../figures/quantity.ts';
import { packDefinitions } from './definitions.ts';
import type { Pack } from './pack.ts';
import { createPackContext } from './pack-context.ts';
import { selectPaper } from './paper.ts';
import { approvalText, commentsOn, packComments } from './review/comments.ts';
import { packCorrection } from './review/correction.ts';
import { packSection } from './sections.ts';
import { packSentences } from './sentences.ts';
import { buildSummary, selectRemarks, summaryNotes } from './summary.ts';

export interface PackOptions {
  /** BCP 47. Default: `en-GB`. */
  readonly locale?: string | undefined;
  /** E.g. `Confidential`. */
  readonly classification?: string | undefined;
  /** The organization's fiscal calendar: its months count as whole months. */
  readonly calendar?: FiscalCalendar | undefined;
}

type CompleteDataset = Pick<Dataset, 'tables' | 'period'>;

/** The completeness statement for a dataset without notes on incomplete data. */
export function completenessText(dataset: CompleteDataset, { workbook }: Words, locale: string): string {
  const lacking = dataset.tables.filter(lacksCurrentCounts).map(({ title }) => isolateBidi(title));
  const running = runningTables(dataset);
  if (running.length > 0) {
    const oldest = running.flatMap(({ asOf }) => parseIsoInstant(asOf) ?? []).sort((a, b) => Number(a) - Number(b))[0];
    const at = oldest && formatZonedInstant(oldest, dataset.period.timezone, locale);
    return workbook.completeSoFar(at, lacking);
  }
  return lacking.length === 0 ? workbook.complete : workbook.completeBut(lacking);
}

/**
 * The tables that were computed before their range had ended. If no table covers the report's last day, as with current
 * counts: all tables, if the report had not ended at the latest response. A last bucket that the range cuts off does
 * not count.
 */
function runningTables({ tables, period }: CompleteDataset): readonly Table[] {
  const isBefore = (day: string, { asOf }: Table) =>
    Number(parseIsoInstant(asOf) ?? 0) < endOfDay(day, period.timezone);
  const running = tables.filter((table) => table.running && isBefore(table.range?.to ?? period.to, table));
  if (running.length > 0) return running;
  const runs = tables.every((table) => table.range?.to !== period.to && isBefore(period.to, table));
  return runs ? tables.filter(({ asOf }) => parseIsoInstant(asOf) !== undefined) : [];
}

/** The most sections that a note about several names. */
const MAX_SECTIONS_NAMED = 3;

/** The completeness statement, and the notes that it counts. */
export function buildCompleteness(dataset: CompleteDataset, words: Words, locale: string): Pack['completeness'] {
  const titles = new Map(dataset.tables.map(({ id, title }) => [id, title]));
  const found = incompleteNotes(dataset, words).map(({ section, text }) => ({
    section,
    title: titles.get(section) ?? section,
    text,
  }));
  const notes = found.flatMap((note) => {
    const same = found.filter(({ text }) => text === note.text);
    if (same[0] !== note) return [];
    // A note that many sections share is written once.
    const others = same.length - MAX_SECTIONS_NAMED;
    const named = same.slice(0, MAX_SECTIONS_NAMED).map(({ title }) => title);
    return [{ ...note, title: `${named.join(', ')}${others > 0 ? ` … (+${others})` : ''}` }];
  });
  return {
    complete: notes.length === 0,
    text: notes.length === 0 ? completenessText(dataset, words, locale) : words.workbook.incomplete(notes.length),
    notes,
  };
}

/** Builds what workbook, PDF and e-mail show of a dataset. Pure; scans the rows of each table a few times at most. */
export function buildPack(
  dataset: Dataset,
  { locale = DEFAULT_LOCALE, classification, calendar = {} }: PackOptions = {},
): Pack {
  const context = createPackContext(dataset, { locale, calendar });
  const { attention, takeaways } = packSentences(context);
  const summary = buildSummary(context);
  const comments = packComments(context);
  const sections = dataset.tables.map((table) => packSection(table, context, { takeaways, comments }));
  const approval = approvalText(context);
  const correction = packCorrection(context);
  return {
    locale,
    paper: selectPaper(locale),
    organization: dataset.organization,
    title: dataset.title,
    ...(dataset.description === undefined ? {} : { description: dataset.description }),
    period: dataset.period,
    periodText: formatPeriod(dataset.period, locale),
    ...(classification === undefined ? {} : { classification }),
    ...(approval === undefined ? {} : { approval }),
    ...(correction === undefined ? {} : { correction }),
    owner: dataset.owner,
    completeness: buildCompleteness(dataset, context.words, locale),
    headlines: dataset.headlines ?? [],
    comments: commentsOn(comments, null),
    attention,
    summary,
    summaryNotes: summaryNotes(sections, summary),
    remarks: selectRemarks(sections, summary?.of),
    sections,
    definitions: packDefinitions(context),
  };
}
