import { isolateBidi } from '../../base/text/bidi.ts';
import type { Dataset, Table } from '../../fetch/dataset.ts';
import type { Words } from '../../i18n/messages.ts';
import { isTransposed, type ViewColumn } from './columns.ts';
import { formatTarget } from './format-value.ts';

/**
 * The targets of the statuses of a table, which has no column for them; of a transposed one, which has, only those whose
 * column does not say what they are per.
 */
export function targetNotes(
  { targets = [], judgements = [] }: Pick<Dataset, 'targets' | 'judgements'>,
  table: Table,
  columns: readonly ViewColumn[],
  words: Words,
  locale: string,
): string[] {
  const hasColumn = isTransposed(table, columns);
  const own = judgements.filter(({ section }) => section === table.id);
  const texts = own.flatMap(({ metric, group, target }) => {
    const view = columns.find(({ role, source }) => role === 'value' && source.name === metric);
    const { target: value, per } = targets[target] ?? {};
    if (view === undefined || value == null || (hasColumn && per === undefined)) return [];
    const groups = table.columns.find(({ name }) => name === group?.dimension)?.values ?? [];
    const label = groups.find((each) => each.value === group?.value)?.label ?? group?.value;
    const about = label === undefined ? [] : [isolateBidi(label)];
    const name = isolateBidi(view.source.label);
    const named = about.length === 0 ? name : words.mail.named(name, about);
    const figures = own.flatMap((each) => (each.target === target ? [each.figure] : []));
    const text = formatTarget(value, view.quantity, locale, figures);
    return [words.status.headline(named, [per === undefined ? text : words.status.targetPer(text, per)], undefined)];
  });
  return texts.length === 0 ? [] : [words.status.targets([...new Set(texts)])];
}
