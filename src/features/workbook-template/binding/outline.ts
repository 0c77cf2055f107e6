import { type Catalog, isCurrentCount } from '../../../contract/catalog.ts';
import { templateDisplay } from '../../../definitions/display.ts';
import type { OrgSettings } from '../../../definitions/schema/org-settings.ts';
import type { Definition, ReportFile, Section } from '../../../definitions/schema/report-definition.ts';
import { MAX_HEADLINES } from '../../../definitions/schema/targets.ts';
import { type DurationUnit, toMeasure } from '../../../definitions/schema/values/units.ts';
import { type Column, type Dataset, isTextTable, type Table } from '../../../fetch/dataset.ts';
import { readingGap } from '../../../plan/reading.ts';
import { followReplacements } from '../../../plan/replacements.ts';
import { wantedComparisons, wantedToDate } from '../../../plan/requests/section-requests.ts';
import type { TemplateDefinition } from '../../../render/formats/format.ts';
import type { OutlineColumn, ReportOutline, SectionOutline } from './bindings.ts';

const EMPTY_DEFINITION: TemplateDefinition = { sections: [] };

/** The unit of a duration from the report's `units`. Statistics of the same duration share it. */
function unitReader({ units = {} }: Pick<ReportFile, 'units'>): (metric: string) => DurationUnit | undefined {
  const ownUnits = new Map(Object.entries(units).map(([metric, unit]) => [toMeasure(metric), unit]));
  return (metric) => ownUnits.get(toMeasure(metric));
}

/** What the definition alone says about a section, apart from its columns. */
const buildRequestable = (section: Section, report: Pick<ReportFile, 'compare' | 'to_date'>) => ({
  comparisons: section.metrics === undefined ? [] : wantedComparisons(section, report),
  toDate: section.metrics === undefined ? null : (wantedToDate(section, report) ?? null),
  totals:
    section.metrics !== undefined &&
    (section.totals || (section.granularity === undefined && (section.dimensions ?? []).length === 0)),
});

const buildReview = ({ sections, approval, corrections, on_incomplete }: TemplateDefinition) => ({
  incomplete: on_incomplete !== 'fail',
  approval: approval !== undefined,
  corrections: corrections !== undefined,
  commented: sections.flatMap(({ id, commentary }) => (commentary === undefined ? [] : [id])),
});

/** The fields that every record of a list has. */
const LIST_FIELDS = ['id', 'name'] as const;

/**
 * What a template of this report can refer to, before there are figures.
 * @param catalog absent: neither the API's labels are known, nor which sections are current counts
 * @param organization current counts are only compared if its readings cover them
 */
export function outlineOfDefinition(
  definition: Definition,
  catalog?: Catalog,
  { readings, ...organization }: Pick<OrgSettings, 'readings' | 'units' | 'labels'> = {},
): ReportOutline {
  const display = templateDisplay(definition, organization);
  const names = new Map(Object.entries(display.labels ?? {}));
  const unitOf = unitReader(display);
  const metrics = new Map(catalog?.metrics.map((metric) => [metric.id, metric]));
  const dimensions = new Map(catalog?.dimensions.map((dimension) => [dimension.id, dimension]));
  const labels = (...known: readonly (string | undefined)[]): readonly string[] =>
    known.flatMap((label) => label ?? []).slice(0, 1);
  const followed =
    catalog === undefined
      ? definition.sections.map((section) => ({ section, replaced: [] }))
      : followReplacements(definition, catalog);
  const sections = followed.map(({ section, replaced }): SectionOutline => {
    const { id, title = id, granularity, list, layout } = section;
    const metric = (name: string): OutlineColumn => {
      const known = metrics.get(name);
      const former = replaced.find(({ to }) => to === name)?.from;
      const shownIn = unitOf(name) ?? (former === undefined ? undefined : unitOf(former));
      return {
        name,
        kind: 'metric',
        labels: labels(names.get(name), former === undefined ? undefined : names.get(former), known?.label),
        ...(former === undefined ? {} : { formerly: former }),
        ...(known === undefined ? {} : { unit: known.unit }),
        ...(shownIn === undefined ? {} : { shownIn }),
      };
    };
    const ids = [...new Set(section.metrics ?? [])];
    const current = catalog !== undefined && ids.length > 0 && ids.every((each) => isCurrent(metrics.get(each)));
    const requestable = buildRequestable(section, definition);
    // Current counts only have a past if readings are stored.
    const hasPast = !current || readingGap(section, readings) === undefined;
    return {
      id,
      title,
      granularity: granularity ?? null,
      ...requestable,
      comparisons: hasPast ? requestable.comparisons : [],
      toDate: current ? null : requestable.toDate,
      text: layout === 'text',
      list: list !== undefined,
      columns: [
        ...(granularity === undefined
          ? []
          : [{ name: 'bucket', kind: 'time', labels: labels(names.get('bucket')), unit: null } as const]),
        ...(section.dimensions ?? []).map(
          (name): OutlineColumn => ({
            name,
            kind: 'dimension',
            labels: labels(names.get(name), dimensions.get(name)?.label),
            unit: null,
          }),
        ),
        ...ids.map(metric),
        ...(list === undefined ? [] : LIST_FIELDS).map(
          (name): OutlineColumn => ({ name, kind: 'field', labels: labels(names.get(name)), unit: null }),
        ),
      ],
    };
  });
  return { sections, headlines: MAX_HEADLINES, labelsKnown: catalog !== undefined, ...buildReview(definition) };
}

const isCurrent = (metric: Catalog['metrics'][number] | undefined): boolean =>
  metric !== undefined && isCurrentCount(metric);

const columnOutline = (
  { name, kind, label, unit }: Column,
  former: string | undefined,
  shownIn: DurationUnit | undefined,
): OutlineColumn => ({
  name,
  kind,
  labels: [label],
  unit,
  ...(former === undefined ? {} : { formerly: former }),
  ...(shownIn === undefined ? {} : { shownIn }),
});

/** Maps the metrics of a table to the deprecated metrics of the definition that they replace. */
function formerNames({ columns }: Table, section: Section | undefined): ReadonlyMap<string, string> {
  const requested = [...new Set(section?.metrics ?? [])];
  const found = columns.flatMap(({ kind, name }) => (kind === 'metric' ? [name] : []));
  // Two metrics with the same successor share a column, so it is unknown which one it replaces.
  if (requested.length !== found.length) return new Map();
  return new Map(found.flatMap((name, index) => (requested[index] === name ? [] : [[name, requested[index] ?? name]])));
}

/**
 * What a template can refer to in a run: the columns of its tables, and what the definition promises. A promised figure
 * that the service left out this time is not an error: its cells stay empty.
 * @param definition absent: only the columns of the dataset count, and durations are in seconds
 */
export function outlineOfDataset(dataset: Dataset, definition: TemplateDefinition = EMPTY_DEFINITION): ReportOutline {
  const unitOf = unitReader(definition);
  const sections = dataset.tables.map((table): SectionOutline => {
    const { id, title, columns, comparisons, toDate, totals, granularity } = table;
    const section = definition.sections.find((each) => each.id === id);
    const promised = section === undefined ? undefined : buildRequestable(section, definition);
    const kinds = comparisons.map(({ kind }) => kind);
    const former = formerNames(table, section);
    const single = columns.length > 0 && columns.every(({ kind }) => kind === 'metric');
    return {
      id,
      title,
      granularity,
      // The definition's comparisons come first, so `.previous` means the same in every run.
      comparisons: [...new Set([...(promised?.comparisons ?? []), ...kinds])],
      toDate: toDate?.unit ?? promised?.toDate ?? null,
      totals: totals !== undefined || single || promised?.totals === true,
      text: isTextTable(table),
      list: columns.some(({ kind }) => kind === 'field') || section?.list !== undefined,
      columns: columns.map((column) => {
        const before = former.get(column.name);
        const shownIn = unitOf(column.name) ?? (before === undefined ? undefined : unitOf(before));
        return columnOutline(column, before, shownIn);
      }),
    };
  });
  const review = buildReview(definition);
  const { comments = [] } = dataset;
  return {
    sections,
    headlines: MAX_HEADLINES,
    labelsKnown: true,
    incomplete: review.incomplete,
    approval: review.approval || dataset.approval !== undefined,
    corrections: review.corrections || dataset.correction !== undefined,
    commented: [...new Set([...review.commented, ...comments.flatMap(({ section }) => section ?? [])])],
  };
}
