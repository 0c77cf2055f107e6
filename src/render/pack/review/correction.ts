import { isolateBidi } from '../../../base/text/bidi.ts';
import type { Column, FigureChange, Status, Table } from '../../../fetch/dataset.ts';
import { type ViewColumn, viewColumns } from '../../figures/columns.ts';
import { formatBucket } from '../../figures/format-date.ts';
import { formatApart, formatValue } from '../../figures/format-value.ts';
import { parseCivilDate, type Quantity } from '../../figures/quantity.ts';
import { statusText } from '../../figures/status-text.ts';
import type { PackContext } from '../pack-context.ts';
import { dayText } from './comments.ts';
import type { PackCorrection } from './review.ts';

/** Changes that the first page lists. */
const MAX_CHANGES = 40;

function bucketText(bucket: string, { granularity }: Pick<Table, 'granularity'>, locale: string): string {
  const date = parseCivilDate(bucket);
  return date === undefined || granularity === null ? bucket : formatBucket(date, granularity, locale);
}

const groupText = (columns: readonly Column[], { dimension, value }: NonNullable<FigureChange['group']>): string =>
  columns.find(({ name }) => name === dimension)?.values?.find((each) => each.value === value)?.label ?? value;

/** Both figures with as many decimals as tell them apart. */
function figureTexts(
  { before, after }: Pick<FigureChange, 'before' | 'after'>,
  quantity: Quantity,
  locale: string,
): readonly [before: string, after: string] {
  if (before === null || after === null || before === after) {
    return [formatValue(before, quantity, locale), formatValue(after, quantity, locale)];
  }
  return formatApart(before, after, quantity, locale);
}

/** `Onboarding: Profiles created (Nov 2026, High): 1,250, was 1,204; ◆ watch, was ● on target`. */
function changeText(
  change: FigureChange,
  { dataset, locale, words, columnsOf }: Pick<PackContext, 'dataset' | 'locale' | 'words' | 'columnsOf'>,
): string {
  const { section, metric, bucket, group, within, statusBefore, statusAfter } = change;
  const table = dataset.tables.find(({ id }) => id === section);
  const view = table && columnsOf(table).find(({ role, source }) => role === 'value' && source.name === metric);
  const [before, after] = figureTexts(change, view?.quantity ?? { kind: 'amount', unit: null, decimals: 0 }, locale);
  const place = [
    ...(bucket === null || table === undefined ? [] : [bucketText(bucket, table, locale)]),
    ...[group, within].flatMap((of) => (of == null ? [] : [isolateBidi(groupText(table?.columns ?? [], of))])),
  ];
  const figure = words.review.changedFigure(
    isolateBidi(table?.title ?? section),
    isolateBidi(view?.source.label ?? metric),
    place,
  );
  const status = (each: Status | undefined) =>
    each === undefined ? words.status.names.undefined : statusText({ status: each }, words);
  const judged =
    statusBefore === statusAfter ? '' : `; ${words.review.change(status(statusAfter), status(statusBefore))}`;
  return `${figure}: ${words.review.change(after, before)}${judged}`;
}

/** Undefined for a first edition. */
export function packCorrection(context: PackContext): PackCorrection | undefined {
  const { dataset, words } = context;
  if (dataset.correction === undefined) return undefined;
  const { replaces, changes } = dataset.correction;
  const listed = changes.slice(0, MAX_CHANGES);
  const others = changes.length - listed.length;
  return {
    text: words.review.corrected(dayText(replaces.at, context)),
    run: replaces.run,
    heading: words.review.changed(changes.length),
    total: changes.length,
    changes: listed.map((change) => changeText(change, context)),
    more: others === 0 ? '' : words.review.moreChanges(others),
  };
}

/** The changes that the first page only counts. */
export function unlistedChanges({
  dataset,
  locale,
  words,
}: Pick<PackContext, 'dataset' | 'locale' | 'words'>): readonly string[] {
  const changes = dataset.correction?.changes.slice(MAX_CHANGES) ?? [];
  const columns = new Map<Table, readonly ViewColumn[]>();
  const columnsOf = (table: Table): readonly ViewColumn[] => {
    const found = columns.get(table) ?? viewColumns(table, locale);
    columns.set(table, found);
    return found;
  };
  return changes.map((change) => changeText(change, { dataset, locale, words, columnsOf }));
}
