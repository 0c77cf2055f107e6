import type { Dataset, Judgement, Row, Table } from '../../../fetch/dataset.ts';
import { messagesFor } from '../../../i18n/messages.ts';
import type { ViewColumn } from '../../figures/columns.ts';
import { formatJudged } from '../../figures/format-value.ts';
import { boundariesOf, isTotal } from '../../figures/status-text.ts';
import { fieldText, quoteField } from './csv-fields.ts';
import { type CsvColumn, type CsvSettings, csvLocale, type SchemaTarget, withTrueMinus } from './section-csv.ts';

/** The targets that judged figures of a metric in a section, for its field in the schema. */
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

/** The judgement of a row, by metric. A row without bucket and group has the figure of the totals. */
function rowJudgements(table: Table) {
  const dimension = table.columns.find(({ kind }) => kind === 'dimension')?.name;
  const keyOf = (bucket: unknown, value: unknown) => JSON.stringify([bucket ?? null, value ?? null]);
  const single = dimension === undefined && table.granularity === null;
  return (metric: string, own: readonly Judgement[]): ((row: Row) => Judgement | undefined) => {
    const total = own.find(isTotal);
    const byRow = new Map(
      own.filter((each) => !isTotal(each)).map((each) => [keyOf(each.bucket, each.group?.value), each]),
    );
    return ({ values }) =>
      byRow.get(keyOf(values.bucket, dimension === undefined ? null : values[dimension])) ??
      (single && total?.figure === (values[metric] ?? null) ? total : undefined);
  };
}

/** The columns of a formatted file, with judged figures in enough decimals to agree with their status. */
export function withJudgedFigures(
  columns: readonly CsvColumn[],
  { targets = [], judgements = [] }: Pick<Dataset, 'targets' | 'judgements'>,
  table: Table,
  settings: CsvSettings,
): readonly CsvColumn[] {
  if (settings.values !== 'formatted') return columns;
  const locale = csvLocale(settings);
  const judgementOf = rowJudgements(table);
  return columns.map((column): CsvColumn => {
    const { view, field } = column;
    const own = judgements.filter((each) => each.section === table.id && each.metric === view?.source.name);
    const quantity = view !== null && 'quantity' in view ? (view as ViewColumn).quantity : undefined;
    if (view?.role !== 'value' || quantity === undefined || own.length === 0) return column;
    const ofRow = judgementOf(view.source.name, own);
    const text = (judgement: Judgement | undefined, plain: string): string => {
      const boundaries = boundariesOf({ targets }, judgement);
      const figure = judgement?.figure ?? null;
      if (boundaries === undefined || figure === null) return plain;
      const shown = withTrueMinus(figure, formatJudged(figure, boundaries, quantity, locale));
      return quoteField(fieldText(shown, settings.raw));
    };
    return {
      ...column,
      field: (row) => text(ofRow(row), field(row)),
      total: column.total === undefined ? undefined : text(own.find(isTotal), column.total),
    };
  });
}

/**
 * One column of statuses for each metric of a section that is judged: `on_target`, `watch`, `breached` or `undefined`, in
 * formatted files in words; empty without a target.
 */
export function statusColumns(
  { judgements = [] }: Pick<Dataset, 'judgements'>,
  table: Table,
  settings: CsvSettings,
): CsvColumn[] {
  const words = messagesFor(csvLocale(settings)).status;
  const text = (judgement: Judgement | undefined): string => {
    if (judgement === undefined) return '';
    return settings.values === 'formatted' ? words.names[judgement.status] : judgement.status;
  };
  const judgementOf = rowJudgements(table);
  return table.columns.flatMap(({ kind, name, label }): CsvColumn[] => {
    const own = judgements.filter((each) => each.section === table.id && each.metric === name);
    if (kind !== 'metric' || own.length === 0) return [];
    const total = own.find(isTotal);
    const ofRow = judgementOf(name, own);
    const same = table.columns.filter((column) => column.label.toLowerCase() === label.toLowerCase()).length > 1;
    const header = fieldText(words.header(same ? `${label} [${name}]` : label), settings.raw);
    return [
      {
        header,
        view: null,
        field: (row) => text(ofRow(row)),
        total: text(total),
        described: { name: header, title: header, type: 'string', description: `${words.schema.status}. ${name}` },
      },
    ];
  });
}
