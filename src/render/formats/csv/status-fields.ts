import type { Dataset, Judgement, Table } from '../../../fetch/dataset.ts';
import { messagesFor } from '../../../i18n/messages.ts';
import type { ViewColumn } from '../../figures/columns.ts';
import { formatJudged } from '../../figures/format-value.ts';
import { findBoundaries, judgementsByMetric, type MetricJudgements } from '../../figures/status-text.ts';
import { fieldText } from './csv-fields.ts';
import { type CsvColumn, type CsvSettings, csvLocale, formattedField, type SchemaTarget } from './section-csv.ts';

/** The targets by which a metric's figures in a section are judged, for its field in the schema. */
export function schemaTargets(
  { targets = [], judgements = [] }: Pick<Dataset, 'targets' | 'judgements'>,
  section: string,
  metric: string,
): readonly SchemaTarget[] {
  const used = new Set(
    judgements.filter((each) => each.section === section && each.metric === metric).map(({ target }) => target),
  );
  return targets.flatMap((target, index) => {
    if (!used.has(index)) return [];
    const { metric: _, owner: __, note: ___, source: ____, ...described } = target;
    return described;
  });
}

/** The judgements of a table's metrics. A row without bucket and group has the same figure as the totals. */
export function rowJudgements(table: Table, { judgements = [] }: Pick<Dataset, 'judgements'>) {
  const byMetric = judgementsByMetric(
    table,
    judgements.filter(({ section }) => section === table.id),
  );
  const single = table.granularity === null && table.columns.every(({ kind }) => kind !== 'dimension');
  return (metric: string): MetricJudgements | undefined => {
    const own = byMetric.get(metric);
    if (!single || own?.ofTotals === undefined) return own;
    const { ofTotals } = own;
    return { ofTotals, ofRow: ({ values }) => (ofTotals.figure === (values[metric] ?? null) ? ofTotals : undefined) };
  };
}

/** Gives judged figures in a formatted file enough decimals to agree with their status. */
export function withJudgedFigures(
  columns: readonly CsvColumn[],
  dataset: Pick<Dataset, 'targets' | 'judgements'>,
  table: Table,
  settings: CsvSettings,
): readonly CsvColumn[] {
  if (settings.values !== 'formatted') return columns;
  const locale = csvLocale(settings);
  const judgementsOf = rowJudgements(table, dataset);
  return columns.map((column): CsvColumn => {
    const { view, field } = column;
    const quantity = view !== null && 'quantity' in view ? (view as ViewColumn).quantity : undefined;
    const own = view?.role === 'value' ? judgementsOf(view.source.name) : undefined;
    if (own === undefined || quantity === undefined) return column;
    const text = (judgement: Judgement | undefined, plain: string | null): string | null => {
      const boundaries = findBoundaries(dataset, judgement);
      const figure = judgement?.figure ?? null;
      if (boundaries === undefined || figure === null) return plain;
      return formattedField(figure, formatJudged(figure, boundaries, quantity, locale), settings);
    };
    return {
      ...column,
      field: (row) => text(own.ofRow(row), field(row)),
      total: column.total === undefined ? undefined : text(own.ofTotals, column.total),
    };
  });
}

/**
 * A column of statuses for each judged metric of a section: `on_target`, `watch`, `breached` or `undefined`, in words
 * if the file is formatted. Empty without a target.
 */
export function statusColumns(dataset: Pick<Dataset, 'judgements'>, table: Table, settings: CsvSettings): CsvColumn[] {
  const words = messagesFor(csvLocale(settings)).status;
  const text = (judgement: Judgement | undefined): string | null => {
    if (judgement === undefined) return null;
    return settings.values === 'formatted' ? words.names[judgement.status] : judgement.status;
  };
  const judgementsOf = rowJudgements(table, dataset);
  return table.columns.flatMap(({ kind, name, label }): CsvColumn[] => {
    const own = judgementsOf(name);
    if (kind !== 'metric' || own === undefined) return [];
    const same = table.columns.filter((column) => column.label.toLowerCase() === label.toLowerCase()).length > 1;
    const header = fieldText(words.header(same ? `${label} [${name}]` : label), settings);
    return [
      {
        header,
        view: null,
        field: (row) => text(own.ofRow(row)),
        total: text(own.ofTotals),
        described: { name: header, title: header, type: 'string', description: `${words.schema.status}. ${name}` },
      },
    ];
  });
}
