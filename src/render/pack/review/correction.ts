import { isolateBidi, toSingleLine } from '../../../base/text/bidi.ts';
import type { Column, Dataset, FigureChange, Status, Table } from '../../../fetch/dataset.ts';
import { type ViewColumn, viewColumns } from '../../figures/columns.ts';
import { formatBucket } from '../../figures/format-date.ts';
import { formatApart, formatJudged, formatValue, judgedDecimals } from '../../figures/format-value.ts';
import { parseCivilDate, type Quantity } from '../../figures/quantity.ts';
import { findBoundaries, statusText } from '../../figures/status-text.ts';
import type { PackContext } from '../pack-context.ts';
import { dayText } from './comments.ts';
import type { PackCorrection } from './review.ts';

/** The most changes that the first page lists. */
const MAX_CHANGES = 40;

function bucketText(bucket: string, { granularity }: Pick<Table, 'granularity'>, locale: string): string {
  const date = parseCivilDate(bucket);
  return date === undefined || granularity === null ? bucket : formatBucket(date, granularity, locale);
}

const groupText = (columns: readonly Column[], { dimension, value }: NonNullable<FigureChange['group']>): string =>
  columns.find(({ name }) => name === dimension)?.values?.find((each) => each.value === value)?.label ?? value;

/** The target by which a figure is judged now. */
const boundariesOfChange = (dataset: Dataset, { section, metric, bucket, group }: FigureChange) =>
  findBoundaries(
    dataset,
    dataset.judgements?.find(
      (each) =>
        each.section === section &&
        each.metric === metric &&
        each.bucket === bucket &&
        each.group?.dimension === group?.dimension &&
        each.group?.value === group?.value,
    ),
  );

/** Both figures, with enough decimals to tell them apart and to agree with their statuses. */
function figureTexts(
  change: FigureChange,
  quantity: Quantity,
  { dataset, locale }: Pick<PackContext, 'dataset' | 'locale'>,
): readonly [before: string, after: string] {
  const { before, after } = change;
  const boundaries = boundariesOfChange(dataset, change);
  if (before === null || after === null || before === after) {
    const text = (value: number | null): string =>
      value === null || boundaries === undefined
        ? formatValue(value, quantity, locale)
        : formatJudged(value, boundaries, quantity, locale);
    return [text(before), text(after)];
  }
  const judged =
    boundaries === undefined
      ? []
      : [before, after].flatMap((value) => judgedDecimals(value, boundaries, quantity) ?? []);
  return formatApart(before, after, quantity, locale, judged.length === 0 ? undefined : Math.max(...judged));
}

/**
 * A changed figure as a sentence: `Onboarding: Profiles created (Nov 2026, High): 1,250, was 1,204; ◆ watch, was ● on
 * target`.
 */
function changeText(
  change: FigureChange,
  { dataset, locale, words, columnsOf }: Pick<PackContext, 'dataset' | 'locale' | 'words' | 'columnsOf'>,
): string {
  const { section, metric, bucket, group, within, statusBefore, statusAfter } = change;
  const table = dataset.tables.find(({ id }) => id === section);
  const view = table && columnsOf(table).find(({ role, source }) => role === 'value' && source.name === metric);
  const quantity = view?.quantity ?? ({ kind: 'amount', unit: null, decimals: 0 } as const);
  const [before, after] = figureTexts(change, quantity, { dataset, locale });
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

/** Undefined if the period is delivered for the first time. */
function repeatedCopy(context: PackContext): PackCorrection | undefined {
  const { dataset, words } = context;
  if (dataset.repeats === undefined) return undefined;
  const { run, at } = dataset.repeats;
  const { repeated, repeats: runLabel } = words.review;
  return {
    text: repeated(dayText(at, context)),
    reason: '',
    run,
    runLabel,
    heading: '',
    total: 0,
    changes: [],
    more: '',
  };
}

/** Undefined for a first edition. */
export function packCorrection(context: PackContext): PackCorrection | undefined {
  const { dataset, words } = context;
  if (dataset.correction === undefined) return repeatedCopy(context);
  const { replaces, changes, unchanged, reason: typed = '' } = dataset.correction;
  const reason = toSingleLine(typed)
    .trim()
    .replace(/[.:;,\s]+$/u, '');
  const listed = changes.slice(0, MAX_CHANGES);
  const others = changes.length - listed.length;
  return {
    text: words.review.corrected(dayText(replaces.at, context)),
    reason: [...(reason === '' ? [] : [isolateBidi(reason)]), ...(unchanged ? [words.review.unchanged] : [])].join(
      '. ',
    ),
    run: replaces.run,
    runLabel: words.review.replaces,
    heading: changes.length === 0 ? '' : words.review.changed(changes.length),
    total: changes.length,
    changes: listed.map((change) => changeText(change, context)),
    more: others === 0 ? '' : words.review.moreChanges(others),
  };
}

/** What a corrected edition is. The reason is included, so use it only where figures may be named. */
export const correctionText = ({ text, reason }: Pick<PackCorrection, 'text' | 'reason'>): string =>
  reason === '' ? text : `${text}: ${reason}`;

/** The changes that the first page counts but does not list. */
export function unlistedChanges({
  dataset,
  locale,
  words,
}: Pick<PackContext, 'dataset' | 'locale' | 'words'>): readonly string[] {
  const changes = dataset.correction?.changes.slice(MAX_CHANGES) ?? [];
  const columns = new Map<Table, readonly ViewColumn[]>();
  const loadColumns = (table: Table): readonly ViewColumn[] => {
    const found = columns.get(table) ?? viewColumns(table, locale);
    columns.set(table, found);
    return found;
  };
  return changes.map((change) => changeText(change, { dataset, locale, words, columnsOf: loadColumns }));
}
