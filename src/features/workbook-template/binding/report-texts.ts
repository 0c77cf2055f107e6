import { spansText } from '../../../definitions/commentary/comment-text.ts';
import type { Dataset } from '../../../fetch/dataset.ts';
import { messagesFor } from '../../../i18n/messages.ts';
import { parseCivilDate } from '../../../render/figures/quantity.ts';
import { buildCompleteness } from '../../../render/pack/build-pack.ts';
import type { Pack } from '../../../render/pack/pack.ts';
import { createPackContext } from '../../../render/pack/pack-context.ts';
import { blockLines } from '../../../render/pack/review/block-lines.ts';
import { approvalText, commentsOn, packComments } from '../../../render/pack/review/comments.ts';
import { packCorrection } from '../../../render/pack/review/correction.ts';
import type { PackComment } from '../../../render/pack/review/review.ts';
import { incompleteNoteText, tableFacts, tableNotes } from '../../../render/table-notes.ts';
import type { ExcelDate, NameTarget, TextVariable } from './bindings.ts';
import { createInstantReader, excelDate } from './excel-dates.ts';

export interface ReportTextOptions {
  /** BCP 47. */
  readonly locale: string;
  /** Epoch ms: the time when the file is made. */
  readonly madeAt: number;
  /** E.g. `Confidential`. */
  readonly classification?: string | undefined;
}

/** The first or last day of the period, or the time when the file is made, in the zone of the period. */
export function reportDate(
  { period }: Pick<Dataset, 'period'>,
  of: Extract<NameTarget, { readonly kind: 'date' }>['of'],
  { madeAt }: Pick<ReportTextOptions, 'madeAt'>,
): ExcelDate | string {
  if (of === 'made_at') {
    const at = new Date(madeAt);
    return createInstantReader(period.timezone)(at) ?? at.toISOString();
  }
  const text = of === 'period.start' ? period.from : period.to;
  const day = parseCivilDate(text);
  return (day && excelDate(day)) ?? text;
}

/** A heading with author and day, then one line per paragraph and item. */
const commentText = ({ heading, blocks }: PackComment): string =>
  [
    heading,
    ...blockLines(blocks).map(({ marker, spans }) => `${marker === '' ? '' : `${marker} `}${spansText(spans)}`),
  ].join('\n');

/** The statement and one line for each note it counts, because a template has no other place for the notes. */
const completenessText = ({ text, notes }: Pack['completeness']): string =>
  [notes.length === 0 ? text : `${text}:`, ...notes.map(({ title, text: note }) => `– ${title}: ${note}`)].join('\n');

/** One line for each note about a section in Docket's own workbook, because a template cannot mark single figures. */
function notesText(dataset: Dataset, section: string, locale: string): string | null {
  const table = dataset.tables.find(({ id }) => id === section);
  if (table === undefined) return null;
  const words = messagesFor(locale);
  const notes = tableNotes(table, locale).map((note) => incompleteNoteText(note, words));
  const lines = [...tableFacts(dataset, table, locale), ...notes];
  return lines.length === 0 ? null : lines.join('\n');
}

function variableText(
  dataset: Dataset,
  of: TextVariable,
  { locale, classification }: ReportTextOptions,
): string | null {
  const words = messagesFor(locale);
  switch (of) {
    case 'period.label':
      return dataset.period.label;
    case 'org':
      return dataset.organization;
    case 'report':
      return dataset.report;
    case 'title':
      return dataset.title;
    case 'completeness':
      return completenessText(buildCompleteness(dataset, words, locale));
    case 'classification':
      return classification ?? null;
    case 'approval':
      return approvalText({ dataset, locale, words }) ?? null;
    case 'correction': {
      const correction = packCorrection(createPackContext(dataset, { locale, calendar: {} }));
      if (correction === undefined) return null;
      const { text, heading, changes, more } = correction;
      return [`${text}. ${heading}:`, ...changes.map((change) => `– ${change}`), ...(more === '' ? [] : [more])].join(
        '\n',
      );
    }
  }
}

/** A text of the report in the wording of Docket's own files; null if it has none. */
export function reportText(
  dataset: Dataset,
  target: Extract<NameTarget, { readonly kind: 'text' | 'headline' | 'comment' | 'notes' }>,
  options: ReportTextOptions,
): string | null {
  switch (target.kind) {
    case 'text':
      return variableText(dataset, target.of, options);
    case 'headline':
      return dataset.headlines?.[target.number - 1] ?? null;
    case 'comment': {
      const words = messagesFor(options.locale);
      const comments = commentsOn(packComments({ dataset, words, locale: options.locale }), target.section);
      return comments.length === 0 ? null : comments.map(commentText).join('\n\n');
    }
    case 'notes':
      return notesText(dataset, target.section, options.locale);
  }
}
