import type { ComparisonKind } from '../../../definitions/schema/comparison.ts';
import type { Table, TableReading, Value } from '../../../fetch/dataset.ts';
import { messagesFor } from '../../../i18n/messages.ts';
import { formatZonedInstant } from '../../figures/format-date.ts';
import { UNDEFINED_TEXT } from '../../figures/format-value.ts';
import { parseIsoInstant } from '../../figures/quantity.ts';
import { fieldText, rawText } from './csv-fields.ts';
import { type CsvColumn, type CsvSettings, csvLocale } from './section-csv.ts';

/**
 * When the figures of each row and of the totals were read, where they are readings of current counts: one column for the
 * figures, and one for each comparison. Empty for a gap.
 */
export function readingColumns(table: Table, settings: CsvSettings): CsvColumn[] {
  const { readings, granularity, comparisons, period } = table;
  if (readings === undefined) return [];
  const formatted = settings.values === 'formatted';
  const raw = rawText((text) => fieldText(text, settings));
  const locale = csvLocale(settings);
  const words = messagesFor(locale).table.schema;
  const text = (asOf: string | null | undefined): string | null => {
    if (!formatted) return raw(asOf ?? null);
    const at = parseIsoInstant(asOf ?? null);
    return at === undefined ? UNDEFINED_TEXT : formatZonedInstant(at, period.timezone, locale);
  };
  return [undefined, ...comparisons.map(({ kind }) => kind)].map((kind: ComparisonKind | undefined): CsvColumn => {
    const own = readings.filter(({ comparison }) => comparison === (kind ?? null));
    const find = (of: TableReading['of'], bucket: Value) =>
      own.find((reading) => reading.of === of && reading.bucket === bucket)?.asOf;
    const byBucket = new Map(own.filter(({ of }) => of === 'rows').map(({ bucket, asOf }) => [bucket, text(asOf)]));
    const header = words.readAt(kind);
    return {
      header,
      view: null,
      described: {
        name: header,
        title: header,
        type: formatted ? 'string' : 'datetime',
        ...(kind === undefined ? {} : { comparison: kind }),
        description: `${words.readAtMeans(kind, formatted ? `“${UNDEFINED_TEXT}”` : words.emptyField)}.`,
      },
      field: ({ values }) => {
        const bucket = granularity === null ? null : values.bucket;
        return (typeof bucket === 'string' || bucket === null ? byBucket.get(bucket) : undefined) ?? text(null);
      },
      total: text(find('totals', null)),
    };
  });
}
