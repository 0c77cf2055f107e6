import { isolateBidi } from '../../base/text/bidi.ts';
import type { FiscalCalendar } from '../../definitions/periods/fiscal-calendar.ts';
import { formatPeriod } from '../../definitions/periods/period.ts';
import type { Dataset } from '../../fetch/dataset.ts';
import { incompleteNotes, lacksCurrentCounts } from '../../fetch/notes.ts';
import { DEFAULT_LOCALE, type Words } from '../../i18n/messages.ts';
import { packDefinitions } from './definitions.ts';
import type { Pack } from './pack.ts';
import { createPackContext } from './pack-context.ts';
import { paperOf } from './paper.ts';
import { approvalText, commentsOn, packComments } from './review/comments.ts';
import { packCorrection } from './review/correction.ts';
import { packSection } from './sections.ts';
import { packSentences } from './sentences.ts';
import { buildSummary, remarksOf } from './summary.ts';

export interface PackOptions {
  /** BCP 47; `en-GB` when absent. */
  readonly locale?: string | undefined;
  /** E.g. `Confidential`. */
  readonly classification?: string | undefined;
  /** The organization's fiscal year: its months are whole months. */
  readonly calendar?: FiscalCalendar | undefined;
}

/** The completeness statement of a dataset without incomplete notes. */
export function completenessText({ tables }: Pick<Dataset, 'tables'>, { workbook }: Words): string {
  const lacking = tables.filter(lacksCurrentCounts).map(({ title }) => isolateBidi(title));
  return lacking.length === 0 ? workbook.complete : workbook.completeBut(lacking);
}

/** The completeness statement, with the notes that it counts. */
export function completenessOf(dataset: Pick<Dataset, 'tables'>, words: Words): Pack['completeness'] {
  const titles = new Map(dataset.tables.map(({ id, title }) => [id, title]));
  const notes = incompleteNotes(dataset, words).map(({ section, text }) => ({
    section,
    title: titles.get(section) ?? section,
    text,
  }));
  return {
    complete: notes.length === 0,
    text: notes.length === 0 ? completenessText(dataset, words) : words.workbook.incomplete(notes.length),
    notes,
  };
}

/** What workbook, PDF and e-mail show of a dataset. Pure; scans the rows of each table a few times at most. */
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
    paper: paperOf(locale),
    organization: dataset.organization,
    title: dataset.title,
    ...(dataset.description === undefined ? {} : { description: dataset.description }),
    period: dataset.period,
    periodText: formatPeriod(dataset.period, locale),
    ...(classification === undefined ? {} : { classification }),
    ...(approval === undefined ? {} : { approval }),
    ...(correction === undefined ? {} : { correction }),
    owner: dataset.owner,
    completeness: completenessOf(dataset, context.words),
    headlines: dataset.headlines ?? [],
    comments: commentsOn(comments, null),
    attention,
    summary,
    remarks: remarksOf(sections, summary?.of),
    sections,
    definitions: packDefinitions(context),
  };
}
