import { isolateBidi } from '../../base/text/bidi.ts';
import type { Dataset, Table } from '../../fetch/dataset.ts';
import type { Words } from '../../i18n/messages.ts';
import { isTransposed, type ViewColumn } from './columns.ts';
import { formatTarget } from './format-value.ts';

/** The targets of the statuses of a table, which has no column for them; empty for a transposed one, which has. */
export function targetNotes(
  { targets = [], judgements = [] }: Pick<Dataset, 'targets' | 'judgements'>,
  table: Table,
  columns: readonly ViewColumn[],
  words: Words,
  locale: string,
): string[] {
  if (isTransposed(table, columns)) return [];
  const own = judgements.filter(({ section }) => section === table.id);
  const texts = own.flatMap(({ metric, group, target }) => {
    const view = columns.find(({ role, source }) => role === 'value' && source.name === metric);
    const value = targets[target]?.target;
    if (view === undefined || value == null) return [];
    const groups = table.columns.find(({ name }) => name === group?.dimension)?.values ?? [];
    const label = groups.find((each) => each.value === group?.value)?.label ?? group?.value;
    const about = label === undefined ? [] : [isolateBidi(label)];
    const name = isolateBidi(view.source.label);
    const named = about.length === 0 ? name : words.mail.named(name, about);
    const figures = own.flatMap((each) => (each.target === target ? [each.figure] : []));
    return [words.status.headline(named, [formatTarget(value, view.quantity, locale, figures)], undefined)];
  });
  return texts.length === 0 ? [] : [words.status.targets([...new Set(texts)])];
}
