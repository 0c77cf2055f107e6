import { loadDefinitions } from '../../compose/built-in-kinds.ts';
import { composeCatalogs } from '../../compose/run-ports.ts';
import { closestMatches } from '../../definitions/diagnostics/suggest.ts';
import { createContext } from '../context.ts';
import type { CommandIo } from '../io.ts';
import { type Column, createPrinter, type Printer } from '../terminal/print.ts';
import { applyStyle, terminalWidth } from '../terminal/style.ts';
import { type CatalogView, catalogView, type MetricView, searchCatalog } from './catalog-view.ts';
import { requireOrganization } from './organization.ts';
import { wrap } from './reports/print-diagnostics.ts';

interface CatalogFlags {
  readonly org?: string;
  readonly json?: boolean;
}

/** Lists what an organization's API key can read: from the workers' cache, or else with one metrics call. */
export async function catalog(words: readonly string[], flags: CatalogFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const jobs = await loadDefinitions(context.config.DOCKET_JOBS);
  const settings = requireOrganization(jobs, flags.org);
  const { catalogOf, scope } = await composeCatalogs(context, { orgs: jobs.orgs });
  const all = await catalogOf(settings)
    .then(catalogView)
    .finally(() => scope.close());
  const [id] = words;
  const metric = words.length === 1 ? all.metrics.find((each) => each.id === id) : undefined;
  const dimension = words.length === 1 ? all.dimensions.find((each) => each.id === id) : undefined;
  const found =
    metric === undefined && dimension === undefined
      ? searchCatalog(all, words)
      : { ...all, metrics: metric ? [metric] : [], dimensions: dimension ? [dimension] : [], lists: [] };
  if (flags.json) print.printJson({ org: settings.id, ...found });
  else if (metric !== undefined) printMetric(metric, all, io);
  else if (dimension !== undefined) printDimension(dimension, all, io);
  else if (found.metrics.length + found.dimensions.length > 0) {
    printMetrics(found, words.length > 0, io);
    print.printStatus(formatSummary(found, all, settings.id));
  } else {
    const similar = closestMatches(
      words.join(' '),
      [...all.metrics, ...all.dimensions].map(({ id: known }) => known),
      3,
    );
    print.printStatus(
      `Nothing in the catalog of ${settings.id} matches.${similar.length === 0 ? ` \`docket catalog --org ${settings.id}\` lists everything.` : ` Did you mean ${similar.join(' or ')}?`}`,
    );
  }
  if (found.metrics.length + found.dimensions.length + found.lists.length === 0) io.exitCode = 1;
}

const getOutputWidth = (io: CommandIo): number => terminalWidth(io.stdout, io.env) ?? Number.POSITIVE_INFINITY;
const bold = (text: string, io: CommandIo): string => applyStyle('bold', text, io.stdout, io.env);

const formatHistory = ({ current, history_from }: MetricView): string =>
  current ? 'now only' : (history_from ?? 'unknown');
const formatLabel = ({ label, deprecated_at, replaced_by }: MetricView): string =>
  deprecated_at === null ? label : `(deprecated${replaced_by === null ? '' : `: use ${replaced_by}`}) ${label}`;

const COLUMNS: readonly Column[] = [
  { name: 'METRIC', whenNarrow: 'keep' },
  { name: 'LABEL' },
  { name: 'UNIT', whenNarrow: 'keep' },
  { name: 'DATA FROM', whenNarrow: 'keep' },
];
const buildRow = (metric: MetricView): string[] => [
  metric.id,
  formatLabel(metric),
  metric.unit ?? 'none',
  formatHistory(metric),
];

/**
 * On a terminal, a table for each subject and set of dimensions, so that ids fit. In a pipe, one table with all
 * columns.
 */
function printMetrics({ metrics, dimensions }: CatalogView, isSearch: boolean, io: CommandIo): void {
  const print = createPrinter(io);
  const width = getOutputWidth(io);
  if (width === Number.POSITIVE_INFINITY) {
    const columns = [...COLUMNS, 'GRANULARITY', 'GROUPED AND FILTERED BY'];
    if (metrics.length > 0) {
      print.printTable(
        columns,
        metrics.map((each) => [
          ...buildRow(each),
          each.granularities.join(',') || 'none',
          each.dimensions.join(',') || 'none',
        ]),
      );
    }
  } else {
    for (const [title, sameDimensions] of groupBy(metrics, groupTitle)) {
      for (const line of wrap(title, width)) print.printLine(line);
      // A table per subject, because one long id would leave no space for the labels of other subjects.
      for (const [, subject] of groupBy(sameDimensions, ({ id }) => id.split('.')[0] ?? '')) {
        print.printTable(COLUMNS, subject.map(buildRow));
        print.printLine();
      }
    }
  }
  if (dimensions.length > 0 && (isSearch || width !== Number.POSITIVE_INFINITY)) {
    if (width === Number.POSITIVE_INFINITY && metrics.length > 0) print.printLine();
    print.printTable(
      [{ name: 'DIMENSION', whenNarrow: 'keep' }, 'LABEL', 'VALUES'],
      dimensions.map(({ id, label, values }) => [id, label, values.map(({ value }) => value).join(', ')]),
    );
  }
}

function groupBy(metrics: readonly MetricView[], keyOf: (metric: MetricView) => string): Map<string, MetricView[]> {
  const groups = new Map<string, MetricView[]>();
  for (const metric of metrics) groups.set(keyOf(metric), [...(groups.get(keyOf(metric)) ?? []), metric]);
  return groups;
}

const groupTitle = ({ dimensions, granularities }: MetricView): string =>
  `${granularities.length === 0 ? 'No granularity' : `By ${granularities.join(', ')}`}; ${
    dimensions.length === 0 ? 'neither grouped nor filtered' : `grouped and filtered by ${dimensions.join(', ')}`
  }:`;

function formatSummary(found: CatalogView, all: CatalogView, org: string): string {
  const { max_dimensions, max_range_days, max_rows } = all.limits;
  const count = (part: number, total: number, noun: string) =>
    part === total ? `${total} ${noun}` : `${part} of ${total} ${noun}`;
  return [
    `${count(found.metrics.length, all.metrics.length, 'metrics')}, ${count(found.dimensions.length, all.dimensions.length, 'dimensions')} of ${org}, registry version ${all.registry_version}; lists: ${all.lists.join(', ')}`,
    `At most ${max_dimensions} dimensions in a section. More than ${max_range_days} days or ${max_rows} rows need several calls.`,
    'docket catalog <metric or dimension>   shows one of them with its values',
  ].join('\n');
}

function printMetric(metric: MetricView, { dimensions, limits }: CatalogView, io: CommandIo): void {
  const print = createPrinter(io);
  const width = getOutputWidth(io);
  const field = (name: string, value: string) => {
    const [first = '', ...more] = wrap(value, width - 14);
    print.printLine(`${name.padEnd(13)} ${first}`);
    for (const line of more) print.printLine(`${' '.repeat(13)} ${line}`);
  };
  print.printLine(`${bold(metric.id, io)}  ${metric.label}`);
  if (metric.description !== '') for (const line of wrap(metric.description, width)) print.printLine(line);
  print.printLine();
  if (metric.deprecated_at !== null)
    field(
      'deprecated',
      `since ${metric.deprecated_at}${metric.replaced_by === null ? '' : `; use ${metric.replaced_by}, or follow_replacements: true`}`,
    );
  field('unit', unitText(metric.unit));
  field(
    'history',
    metric.current
      ? 'none, a current count; org.yaml can have it read every day (docs/explanation/readings.md)'
      : `from ${formatHistory(metric)}`,
  );
  if (!metric.current) field('counted by', metric.counted_at);
  field('granularity', metric.granularities.join(', ') || 'none');
  field('adds up', metric.additive ? 'yes, over days, weeks and months' : 'no: the service computes each total');
  field('grouped and', metric.dimensions.length === 0 ? 'nothing' : `at most ${limits.max_dimensions} of these:`);
  for (const [index, id] of metric.dimensions.entries()) {
    const values = dimensions.find((each) => each.id === id)?.values.map(({ value }) => value) ?? [];
    const text = `${id}: ${values.join(', ') || 'any value'}`;
    field(index === 0 ? 'filtered by' : '', text);
  }
  print.printLine('\nIn a section of a report:');
  print.printLine(`  metrics: [${metric.id}]`);
  if (metric.dimensions[0] !== undefined) print.printLine(`  dimensions: [${metric.dimensions[0]}]`);
  if (metric.granularities[0] !== undefined) print.printLine(`  granularity: ${metric.granularities[0]}`);
}

const unitText = (unit: string | null): string =>
  unit === 'ratio'
    ? 'ratio: from 0 to 1, shown in %'
    : unit === 'seconds'
      ? 'seconds: shown in hours or days'
      : (unit ?? 'none');

function printDimension(
  { id, label, description, values }: CatalogView['dimensions'][number],
  { metrics }: CatalogView,
  io: CommandIo,
): void {
  const print: Printer = createPrinter(io);
  print.printLine(`${bold(id, io)}  ${label}`);
  if (description !== '') for (const line of wrap(description, getOutputWidth(io))) print.printLine(line);
  print.printLine();
  if (values.length > 0) {
    print.printTable(
      [{ name: 'VALUE', whenNarrow: 'keep' }, 'LABEL'],
      values.map((each) => [each.value, each.label]),
    );
    print.printLine();
  }
  const accepting = metrics.filter(({ dimensions }) => dimensions.includes(id));
  print.printLine(`Accepted by ${accepting.length} of ${metrics.length} metrics:`);
  for (const line of wrap(accepting.map((metric) => metric.id).join(', '), getOutputWidth(io) - 2))
    print.printLine(`  ${line}`);
}
