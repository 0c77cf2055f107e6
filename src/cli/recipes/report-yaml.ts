import { balanceBidiControls, toSingleLine } from '../../base/text/bidi.ts';
import type { Catalog } from '../../contract/catalog.ts';
import { type FitOptions, type RecipeSection, recipeSections } from './fit-catalog.ts';
import type { Recipe } from './recipe.ts';
import { scalar, targetsHint } from './suggested-targets.ts';

/** What a report is written with besides its recipe. */
export interface ReportOptions extends FitOptions {
  /** The file's stem. */
  readonly report: string;
  /** Default: the recipe's. */
  readonly title?: string | undefined;
  readonly owner: string;
  /** Recipients; at least one, unless `intoFolder`. */
  readonly to: readonly string[];
  /** A folder that the organization allows for deliveries; absent: none is known. */
  readonly folder?: string | undefined;
  /** Who may approve: keys of `people`. Absent or empty: the account of the owner. */
  readonly approvers?: readonly string[] | undefined;
  /** `org.yaml` has units. */
  readonly hasUnits?: boolean;
}

export const yamlList = (items: readonly string[], indent: string): string =>
  items.map((item) => `${indent}- ${scalar(item)}`).join('\n');

/** The file of a report: sections that the catalog allows, and comments that say what else there is. */
export function reportYaml(recipe: Recipe, options: ReportOptions, catalog: Catalog | undefined): string {
  const { schedule, period, compare, unit } = recipe;
  const title = options.title ?? recipe.title;
  const sections = recipeSections(recipe, catalog, options);
  return `# yaml-language-server: $schema=../report.schema.json
# All fields: docs/reference/report-fields.md. After a change: docket check
version: 1
title: ${scalar(title)}
owner: ${scalar(options.owner)}   # notified once when a run fails permanently
schedule: ${schedule}
period: ${period}        # the days of the report; fixed when a run starts
${compare === undefined ? '# compare: previous_period   # would add the figures of the previous period\n' : `compare: ${compare}     # adds the figures of the previous period\n`}
${options.hasUnits ? 'workbook_units: report       # units of org.yaml also hold in your own workbooks\n' : ''}sections:                    # a table each, in the ${recipe.formats[0] === 'csv' ? 'files' : 'workbook and in the e-mail'}
${sections.map((section) => sectionYaml(section, unit)).join('\n')}
${outputsYaml(recipe)}
${deliveriesYaml(recipe, options, title)}
${recipe.approved ? approvalYaml(options) : ''}on_incomplete: flag          # if figures are missing: flag and deliver them, hold the run, or fail it
${targetsHint(
  sections.flatMap(({ metrics }) => metrics),
  catalog,
)}${otherMetrics(sections, catalog)}`;
}

const outputsYaml = ({ formats, file }: Recipe): string =>
  [
    'outputs:',
    ...(formats.includes('xlsx') ? [`  - { format: xlsx, name: "${file} {{ period.label }}.xlsx" }`] : []),
    formats.includes('csv')
      ? '  - { format: csv }          # raw values for programs, a file per section'
      : '  # - { format: csv }        # raw values for programs, a file per section',
    '',
  ].join('\n');

function deliveriesYaml({ formats }: Recipe, { to, folder, report }: ReportOptions, title: string): string {
  const path = `${folder ?? 'out'}/${report}/{{ period.label }}`;
  const [first = 'xlsx'] = formats;
  const email = [
    '  - email:',
    '      to:                    # org.yaml must allow each of them',
    yamlList(to, '        '),
    `      subject: ${scalar(`${title} {{ period.label }}`, 'QUOTE_DOUBLE')}`,
    `      attach: [${first}]`,
  ];
  const directory = `- directory: { path: ${scalar(path, 'QUOTE_DOUBLE')} }`;
  return ['deliveries:', ...(to.length === 0 ? [`  ${directory}`] : [...email, `  # ${directory}`]), ''].join('\n');
}

/** Who approves, with what else an approval may say. */
const approvalYaml = ({ owner, approvers = [] }: ReportOptions): string =>
  [
    'approval:                    # nothing is sent before they have approved exactly its content',
    '  by:                        # keys of people in org.yaml, names of tokens, or accounts of the sign-in',
    yamlList(approvers.length === 0 ? [owner] : approvers, '    '),
    '  need: 1                    # this many different people',
    '  four_eyes: true            # not who triggered the run, or wrote a text in it',
    '  within: 2bd                # business days; then they are reminded (otherwise: cancel ends the run)',
    '# corrections: { watch: 35d, materiality: 1% }   # finds figures that changed after they were sent',
    '',
  ].join('\n');

/** The layout, and as comments what it may have besides. */
function layoutYaml({ layout, metrics, current }: RecipeSection, unit: string): string[] {
  if (layout === undefined) return [];
  const groups = metrics.slice(-2).map((id) => scalar(id));
  return [
    '    layout: scorecard        # a row for each metric; docs/how-to/layouts-and-targets.md',
    ...(current === true ? [] : [`    # trend: 13              # a small chart of the last 13 ${unit} in each row`]),
    '    # groups:                # metrics under subheadings',
    `    #   - { title: More, metrics: [${groups.join(', ')}] }`,
  ];
}

function sectionYaml(section: RecipeSection, unit: string): string {
  const { dimensions, granularity, order, chart, toDate, suggestion } = section;
  return [
    `  # ${section.why}`,
    `  - id: ${scalar(section.id)}`,
    `    title: ${scalar(section.title)}`,
    ...layoutYaml(section, unit),
    '    metrics:',
    yamlList(section.metrics, '      '),
    ...(dimensions === undefined ? [] : ['    dimensions:', yamlList(dimensions, '      ')]),
    ...(granularity === undefined ? [] : [`    granularity: ${granularity}`]),
    ...(order === undefined ? [] : [`    order: [{ by: ${scalar(order.by)}, dir: ${order.dir} }]`]),
    ...(section.totals ? ['    totals: true'] : []),
    ...(toDate === undefined ? [] : [`    to_date: ${toDate}            # and the figures from its first day on`]),
    ...(suggestion === undefined ? [] : [`    # ${suggestion}`]),
    ...(chart === undefined ? [] : [`    chart: ${chart}`]),
    ...(section.commented
      ? ['    commentary: { required: true, carry: true }   # the last one is offered as a draft, and never printed']
      : []),
    '',
  ].join('\n');
}

const MAX_LISTED_METRICS = 100;

/** Further metrics of the key, as comments. Labels are foreign text: they must not end the comment. */
function otherMetrics(sections: readonly RecipeSection[], catalog: Catalog | undefined): string {
  if (catalog === undefined) {
    return '\n# Written without the metric catalog: `docket check` reports metrics that your API key cannot read.\n';
  }
  const used = new Set(sections.flatMap(({ metrics }) => metrics));
  const others = catalog.metrics.filter(({ id, deprecated_at }) => !used.has(id) && deprecated_at == null);
  if (others.length === 0) return '';
  const lines = others
    .slice(0, MAX_LISTED_METRICS)
    .map(({ id, label }) => `#   ${oneLine(id).padEnd(46)} ${oneLine(label)}`.trimEnd());
  return `\n# More metrics of this API key (${catalog.metrics.length} in all):\n${lines.join('\n')}\n`;
}

const oneLine = (text: string): string =>
  balanceBidiControls(toSingleLine(text.replace(/\p{Cs}+/gu, ' ')).slice(0, 120));
