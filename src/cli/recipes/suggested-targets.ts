import { stringify } from 'yaml';
import { type Catalog, isCurrentCount } from '../../contract/catalog.ts';

/** A YAML scalar on one line, quoted only if needed. It may end with a space that YAML does not trim, such as U+00A0. */
export const scalar = (text: string, defaultStringType: 'PLAIN' | 'QUOTE_DOUBLE' = 'PLAIN'): string =>
  stringify(text, { lineWidth: 0, blockQuote: false, defaultStringType }).replace(/\n$/, '');

interface SuggestedTarget {
  readonly metric: string;
  /** Of the metric, so that the amounts fit. */
  readonly unit: string;
  readonly current?: true;
  /** Its further fields. */
  readonly lines: readonly string[];
}

const SUGGESTIONS: readonly SuggestedTarget[] = [
  {
    metric: 'profiles.approval_rate',
    unit: 'ratio',
    lines: [
      'better: higher          # higher | lower: also colours a change as better or worse',
      "target: 90%             # a number in the metric's unit, or with one: 90%, 24h, 2d",
      'watch: 85%              # from target to here: watch; beyond: breached',
      'from: 2026-01-01        # holds for periods that end on this day or later',
    ],
  },
  {
    metric: 'profiles.time_to_decision_p50',
    unit: 'seconds',
    lines: ['better: lower', 'target: 24h', 'watch: 36h'],
  },
  {
    metric: 'profiles.created',
    unit: 'count',
    lines: ['per: week               # a count says per what it is meant', 'better: higher', 'target: 100'],
  },
  {
    metric: 'reviews.overdue',
    unit: 'count',
    current: true,
    lines: ['better: lower', 'target: 0', 'watch: 5'],
  },
];

const fits = ({ metric: id, unit, current }: SuggestedTarget, catalog: Catalog): boolean => {
  const metric = catalog.metrics.find((each) => each.id === id);
  return (
    metric !== undefined &&
    metric.deprecated_at == null &&
    metric.unit === unit &&
    isCurrentCount(metric) === (current === true)
  );
};

/** Targets for these metrics as a comment of a report; empty if none is suggested. */
export function targetsHint(metrics: readonly string[], catalog: Catalog | undefined): string {
  const fitting = SUGGESTIONS.filter((each) => catalog === undefined || fits(each, catalog));
  const [suggested] = metrics.flatMap((id) => fitting.find(({ metric }) => metric === id) ?? []);
  if (suggested === undefined) return '';
  const { metric, lines } = suggested;
  return [
    '',
    '# What a figure should be: it then gets a status. For all reports of the organization: targets.yaml; docs/reference/targets-fields.md',
    '# targets:',
    `#   - metric: ${scalar(metric)}`,
    ...lines.map((line) => `#     ${line}`),
    '',
  ].join('\n');
}

/** `targets.yaml` without targets, and as comments some that fit the catalog. */
export function targetsYaml({ owner }: { readonly owner: string }, catalog: Catalog | undefined): string {
  const fitting = SUGGESTIONS.filter((each) => catalog === undefined || fits(each, catalog));
  // Ids are foreign text: one that does not look like an id could end the comment.
  const first = catalog?.metrics.find(({ id }) => /^[\w.-]+$/.test(id));
  const other = first === undefined ? [] : [{ metric: first.id, lines: ['better: higher'] }];
  const shown = fitting.length > 0 ? fitting : other;
  const entries = shown.map(({ metric, lines }, index) => [
    `- metric: ${scalar(metric)}`,
    ...lines.map((line) => `  ${line}`),
    ...(index === 0 ? [`  owner: ${scalar(owner)}`] : []),
  ]);
  return `# yaml-language-server: $schema=../targets.schema.json
# What figures should be, in every report of this organization: those with a target get a status. docs/reference/targets-fields.md
# Put your own numbers into the lines below, remove their "# " and the "[]" of targets. After a change: docket check
version: 1
targets: []
${entries.map((lines) => lines.map((line) => `#   ${line}\n`).join('')).join('#\n')}`;
}
