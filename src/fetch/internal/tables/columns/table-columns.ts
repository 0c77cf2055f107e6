import { type Catalog, isAddableOverGroups, isProvisional, isSum } from '../../../../contract/catalog.ts';
import type { Granularity, ReportResponse } from '../../../../contract/report.ts';
import type { Section } from '../../../../definitions/schema/report-definition.ts';
import type { FilterDescription } from '../../../../i18n/note.ts';
import { excludesKind, isReadableLabel } from '../../../answer-checks/column-checks.ts';
import type { Column } from '../../../dataset.ts';

/** The service's usual names, for a bucket that the response does not describe. */
const BUCKET_LABELS = { day: 'Day', week: 'Week', month: 'Month' } as const satisfies Record<Granularity, string>;

/**
 * The section's bucket, dimensions and metrics, described by the catalog. The response describes only the bucket and
 * metrics that the catalog lacks, and never with the label of another column.
 */
export function buildColumns(section: Section, response: Pick<ReportResponse, 'columns'>, catalog: Catalog): Column[] {
  const described = new Map(response.columns.map((column) => [column.name, column]));
  const isOthers = (name: string, label: string): boolean =>
    [...catalog.metrics, ...catalog.dimensions].some((each) => each.id !== name && each.label === label);
  const selectLabel = (name: string, otherwise: string = name): string => {
    const label = described.get(name)?.label;
    return label !== undefined && isReadableLabel(label) && !isOthers(name, label) ? label : otherwise;
  };
  const findType = (name: string, kind: 'dimension' | 'metric'): string | undefined => {
    const type = described.get(name)?.type;
    return type === undefined || excludesKind(kind, type) ? undefined : type;
  };
  const time: Column[] =
    section.granularity === undefined
      ? []
      : [
          {
            name: 'bucket',
            label: selectLabel('bucket', BUCKET_LABELS[section.granularity]),
            kind: 'time',
            type: 'date',
            unit: null,
          },
        ];
  const dimensions = (section.dimensions ?? []).map((id): Column => {
    const known = catalog.dimensions.find((dimension) => dimension.id === id);
    return {
      name: id,
      label: known?.label ?? selectLabel(id),
      kind: 'dimension',
      type: findType(id, 'dimension') ?? known?.type ?? 'enum',
      unit: null,
      ...(known === undefined
        ? {}
        : {
            ...(known.description === '' ? {} : { description: known.description }),
            values: known.values.map(({ value, label }) => ({ value, label })),
          }),
    };
  });
  const metrics = [...new Set(section.metrics ?? [])].map((id): Column => {
    const known = catalog.metrics.find((metric) => metric.id === id);
    return {
      name: id,
      label: known?.label ?? selectLabel(id),
      kind: 'metric',
      type: findType(id, 'metric') ?? known?.type ?? 'number',
      unit: described.get(id)?.unit ?? known?.unit ?? null,
      ...(known === undefined
        ? {}
        : {
            ...(known.description === '' ? {} : { description: known.description }),
            ...(known.aggregation === '' ? {} : { aggregation: known.aggregation }),
            ...(isSum(known) && !isAddableOverGroups(known) ? { addable: false as const } : {}),
            counts: known.time_field,
            ...(known.data_available?.from == null ? {} : { availableFrom: known.data_available.from }),
            ...(isProvisional(known) ? { provisional: true } : {}),
            ...(known.deprecated_at == null ? {} : { replacedBy: known.replaced_by ?? null }),
          }),
    };
  });
  return [...time, ...dimensions, ...metrics];
}

/** The section's filters with the catalog's labels, e.g. Risk is High or Severe. */
export function describeFilters(section: Section, catalog: Catalog): FilterDescription[] {
  return (section.filters ?? []).map(({ dimension: id, op, values }) => {
    const dimension = catalog.dimensions.find((candidate) => candidate.id === id);
    const label = dimension?.label ?? id;
    const labels = values.map((value) => dimension?.values.find((known) => known.value === value)?.label ?? value);
    const of = { dimension: id, values };
    return op === 'not_in' ? { label, isNot: labels, of } : { label, is: labels, of };
  });
}
