import { closestMatches } from '../../../definitions/diagnostics/suggest.ts';
import { DURATION_UNITS, type DurationUnit } from '../../../definitions/schema/values/units.ts';
import type { NameTarget, OutlineColumn, ReportOutline, SectionOutline } from './bindings.ts';
import { ALL_SUFFIXES, collectFigures } from './figure-names.ts';

/** How a defined name was read. */
export type NameReading =
  | { readonly kind: 'bound'; readonly target: NameTarget }
  /** The name is not for Docket. */
  | { readonly kind: 'other' }
  /** Several sections or metrics have the same spelling in names. */
  | { readonly kind: 'ambiguous'; readonly ids: readonly string[] }
  /** The section has figures, but no totals. */
  | { readonly kind: 'no_totals'; readonly section: string }
  /** `suffix`: the metric exists, but the section does not have this figure of it. */
  | {
      readonly kind: 'unknown';
      readonly section?: string;
      readonly suffix?: string;
      readonly closest?: string;
    };

const PREFIX = 'docket.';
const DURATION_UNIT_NAMES = [...(Object.keys(DURATION_UNITS) as readonly DurationUnit[]), 'seconds'] as const;

const FIXED: ReadonlyMap<string, NameTarget> = new Map<string, NameTarget>([
  ...(
    ['period.label', 'org', 'report', 'title', 'completeness', 'classification', 'approval', 'correction'] as const
  ).map((of) => [of, { kind: 'text', of }] as const),
  ...(['made_at', 'period.start', 'period.end'] as const).map((of) => [of, { kind: 'date', of }] as const),
  ['comment', { kind: 'comment', section: null }],
]);

/** The names that exist in every report, in full. */
export const FIXED_NAMES: readonly string[] = [...FIXED.keys()].map((name) => `${PREFIX}${name}`);

/**
 * The spelling of an id in the names of tables and cells, in lower case: Excel only allows letters, digits, dots and
 * `_`.
 */
export const nameKey = (id: string): string => id.toLowerCase().replace(/[^\p{L}\p{N}._]/gu, '_');

const withKey = <Named>(all: readonly Named[], key: string, idsOf: (one: Named) => readonly string[]): Named[] =>
  all.filter((one) => idsOf(one).some((id) => nameKey(id) === key));

const selectMetrics = ({ columns }: SectionOutline): readonly OutlineColumn[] =>
  columns.filter(({ kind }) => kind === 'metric');
const collectIds = ({ name, formerly }: OutlineColumn): readonly string[] =>
  formerly === undefined ? [name] : [name, formerly];

/** The sections that a name or a table may mean. Several, if their ids have the same spelling. */
export const sectionsNamed = (sections: readonly SectionOutline[], name: string): readonly SectionOutline[] =>
  withKey(sections, nameKey(name), ({ id }) => [id]);

/** A duration with its unit as the last part: `profiles.time_to_decision_p50.previous.hours`. */
function readInUnit(section: SectionOutline, rest: string): NameReading | undefined {
  const unit = DURATION_UNIT_NAMES.find((each) => rest.endsWith(`.${each}`));
  if (unit === undefined) return undefined;
  const read = readFigure(section, rest.slice(0, -unit.length - 1));
  if (read.kind !== 'bound' || read.target.kind !== 'figure') return undefined;
  const { target } = read.target;
  const column = section.columns.find(({ name }) => name === target.column);
  const isDuration = column?.unit === 'seconds' || column?.unit === undefined;
  if (!isDuration || target.figure?.figure === 'status' || target.figure?.figure === 'change') return undefined;
  const { unit: _, ...inSeconds } = target;
  return {
    kind: 'bound',
    target: { ...read.target, target: unit === 'seconds' ? inSeconds : { ...target, unit } },
  };
}

function readFigure(section: SectionOutline, rest: string): NameReading {
  const metrics = selectMetrics(section);
  const figures = collectFigures(section);
  const suffixes = figures.flatMap(({ suffixes: each, target }) => each.map((suffix) => ({ suffix, target })));
  // Tries the metric's own value first: a metric's id may end like the suffix of another one's change.
  for (const { suffix, target: figure } of suffixes) {
    if (!rest.endsWith(suffix)) continue;
    const found = withKey(metrics, rest.slice(0, rest.length - suffix.length), collectIds);
    const [column] = found;
    if (column === undefined) continue;
    if (found.length > 1) return { kind: 'ambiguous', ids: found.map(({ name }) => name) };
    if (!section.totals) return { kind: 'no_totals', section: section.id };
    const hasUnit = figure.figure !== 'status' && figure.figure !== 'change' && column.shownIn !== undefined;
    const target = { column: column.name, figure, ...(hasUnit ? { unit: column.shownIn } : {}) };
    return { kind: 'bound', target: { kind: 'figure', section: section.id, target } };
  }
  const inUnit = readInUnit(section, rest);
  if (inUnit !== undefined) return inUnit;
  const suffix = ALL_SUFFIXES.find(
    (each) => rest.endsWith(each) && withKey(metrics, rest.slice(0, -each.length), collectIds).length > 0,
  );
  const known = metrics.flatMap(({ name }) => suffixes.map((each) => `${nameKey(name)}${each.suffix}`));
  const [closest] = closestMatches(rest, known);
  return {
    kind: 'unknown',
    section: section.id,
    ...(suffix === undefined ? {} : { suffix }),
    ...(closest === undefined ? {} : { closest: `${PREFIX}${nameKey(section.id)}.${closest}` }),
  };
}

/** Reads the name of a section's comment or notes. */
function readText(kind: 'comment' | 'notes', sections: readonly SectionOutline[], name: string): NameReading {
  const found = sectionsNamed(sections, name);
  const [section] = found;
  if (section === undefined) {
    const [closest] = closestMatches(
      name,
      sections.map(({ id }) => nameKey(id)),
    );
    return { kind: 'unknown', ...(closest === undefined ? {} : { closest: `${PREFIX}${kind}.${closest}` }) };
  }
  if (found.length > 1) return { kind: 'ambiguous', ids: found.map(({ id }) => id) };
  return { kind: 'bound', target: { kind, section: section.id } };
}

/** Reads which value a defined name of a workbook stands for. Case does not matter; `-` of ids is written `_`. */
export function readName(name: string, { sections, headlines }: ReportOutline): NameReading {
  const written = name.trim().toLowerCase();
  if (!written.startsWith(PREFIX)) return { kind: 'other' };
  const rest = written.slice(PREFIX.length);
  const dot = rest.indexOf('.');
  const [head, tail] = dot < 0 ? [rest, ''] : [rest.slice(0, dot), rest.slice(dot + 1)];
  const found = dot < 0 ? [] : sectionsNamed(sections, head);
  const fixed = FIXED.get(rest);
  // Names that every report has take precedence over figures of a section called `period`, which keeps all other names.
  if (fixed !== undefined) return { kind: 'bound', target: fixed };
  if (head === 'headline' && /^[1-9]\d?$/.test(tail) && found.length === 0) {
    const number = Number(tail);
    return number <= headlines
      ? { kind: 'bound', target: { kind: 'headline', number } }
      : { kind: 'unknown', closest: `${PREFIX}headline.${headlines}` };
  }
  if ((head === 'comment' || head === 'notes') && tail !== '') {
    const read = readText(head, sections, tail);
    if (read.kind !== 'unknown' || found.length === 0) return read;
  }
  const [section] = found;
  if (found.length > 1) return { kind: 'ambiguous', ids: found.map(({ id }) => id) };
  if (section !== undefined) return readFigure(section, tail);
  const [closest] = closestMatches(rest, [
    ...FIXED.keys(),
    'headline.1',
    ...sections.map(({ id }) => `${nameKey(id)}${tail === '' ? '' : `.${tail}`}`),
  ]);
  return { kind: 'unknown', ...(closest === undefined ? {} : { closest: `${PREFIX}${closest}` }) };
}
