import { isolateBidi } from '../../base/text/bidi.ts';
import type { Dataset } from '../../fetch/dataset.ts';
import { incompleteNotes, lacksCurrentCounts } from '../../fetch/notes.ts';
import type { Words } from '../../i18n/messages.ts';
import type { Pack } from './pack.ts';

/** The completeness statement of a dataset without incomplete notes. */
export function completenessText({ tables }: Pick<Dataset, 'tables'>, { workbook }: Words): string {
  const lacking = tables.filter(lacksCurrentCounts).map(({ title }) => isolateBidi(title));
  return lacking.length === 0 ? workbook.complete : workbook.completeBut(lacking);
}

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
