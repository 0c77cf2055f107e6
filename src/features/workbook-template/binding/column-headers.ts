import { closestMatches } from '../../../definitions/diagnostics/suggest.ts';
import type { ColumnTarget, OutlineColumn, SectionOutline } from './bindings.ts';
import { ALL_SUFFIXES, collectFigures } from './figure-names.ts';
import { ALL_WORDS, inUnit, withoutBrackets } from './header-units.ts';

/** How a header was read. */
export type HeaderReading =
  | { readonly kind: 'bound'; readonly target: ColumnTarget }
  /** Several columns of the section have this label. */
  | { readonly kind: 'ambiguous'; readonly ids: readonly string[] }
  /** The column exists, but never in this unit. */
  | { readonly kind: 'unit'; readonly id: string; readonly unit: string }
  /** The metric exists, but the section does not have this figure of it. */
  | { readonly kind: 'figure'; readonly id: string; readonly suffix: string }
  /** `id`: whether the header has the form of an id. */
  | { readonly kind: 'unknown'; readonly id: boolean; readonly closest?: string };

/** Headers that differ only in case or white space are equal: Excel keeps line breaks in headers. */
const headerKey = (text: string): string => text.normalize('NFC').replace(/\s+/g, ' ').trim().toLowerCase();

interface Candidate {
  readonly column: OutlineColumn;
  readonly target: ColumnTarget;
}

/** The candidates by key, separately for ids and labels. */
interface HeaderIndex {
  readonly ids: ReadonlyMap<string, Candidate>;
  readonly labels: ReadonlyMap<string, readonly Candidate[]>;
  /** The headers by key, as people write them. */
  readonly texts: ReadonlyMap<string, string>;
}

function buildIndex(section: SectionOutline): HeaderIndex {
  const ids = new Map<string, Candidate>();
  const labels = new Map<string, Candidate[]>();
  const texts = new Map<string, string>();
  const addLabel: AddCandidate = (text, candidate) => {
    const key = headerKey(text);
    const known = labels.get(key) ?? [];
    if (!texts.has(key)) texts.set(key, text.trim());
    if (key !== '' && !known.some(({ target }) => sameTarget(target, candidate.target)))
      labels.set(key, [...known, candidate]);
  };
  /** A column's own id wins over a header derived from another id. */
  const addId: AddCandidate = (text, candidate) => {
    const key = headerKey(text);
    if (!ids.has(key)) ids.set(key, candidate);
    if (!texts.has(key)) texts.set(key, text);
  };
  const collectIds = ({ name, formerly }: OutlineColumn): readonly string[] =>
    formerly === undefined ? [name] : [name, formerly];
  const own = (column: OutlineColumn): ColumnTarget => ({
    column: column.name,
    ...(column.kind === 'metric' ? { figure: { figure: 'value' } } : {}),
    ...(column.shownIn === undefined ? {} : { unit: column.shownIn }),
  });
  for (const column of section.columns) {
    for (const id of collectIds(column)) addId(id, { column, target: own(column) });
    // Docket's own files add the id to columns that share a label.
    for (const label of column.labels) {
      addLabel(label, { column, target: own(column) });
      addLabel(`${label} [${column.name}]`, { column, target: own(column) });
    }
    if (column.kind === 'time') addTimeNames(column, section, addId, addLabel);
  }
  const figures = collectFigures(section);
  for (const column of section.columns.filter(({ kind }) => kind === 'metric')) {
    const { shownIn } = column;
    for (const { target: figure, suffixes, header } of figures) {
      const hasUnit = figure.figure !== 'status' && figure.figure !== 'change' && shownIn !== undefined;
      const target: ColumnTarget = { column: column.name, figure, ...(hasUnit ? { unit: shownIn } : {}) };
      const candidate = { column, target };
      for (const suffix of suffixes) {
        for (const id of collectIds(column)) addId(`${id}${suffix}`, candidate);
        for (const label of column.labels) addLabel(`${label}${suffix}`, candidate);
      }
      for (const label of column.labels) {
        for (const words of ALL_WORDS) {
          addLabel(header(label, words), candidate);
          addLabel(`${header(label, words)} [${column.name}]`, candidate);
        }
      }
    }
  }
  return { ids, labels, texts };
}

type AddCandidate = (text: string, candidate: Candidate) => void;

/** How people name a column of buckets, in English and German. */
const BUCKET_NAMES = { day: ['Day', 'Tag'], week: ['Week', 'Woche'], month: ['Month', 'Monat'] } as const;

/**
 * Adds the headers of a bucket (its name, Docket's own words) and of its ISO week: `Week`, `Week starting`,
 * `bucket.week`, `ISO week`.
 */
function addTimeNames(
  column: OutlineColumn,
  { granularity }: SectionOutline,
  addId: AddCandidate,
  addLabel: AddCandidate,
): void {
  const week: Candidate = { column, target: { column: column.name, as: 'week' } };
  if (granularity === 'week') addId(`${column.name}.week`, week);
  for (const text of granularity === null ? [] : BUCKET_NAMES[granularity])
    addLabel(text, { column, target: { column: column.name } });
  for (const { table } of ALL_WORDS) {
    if (granularity !== null) addLabel(table.bucket[granularity], { column, target: { column: column.name } });
    if (granularity === 'week') addLabel(table.isoWeek, week);
  }
}

const sameTarget = (a: ColumnTarget, b: ColumnTarget): boolean => targetKey(a) === targetKey(b);

const targetKey = ({ column, figure, as, unit }: ColumnTarget): string =>
  JSON.stringify([
    column,
    figure?.figure,
    figure !== undefined && 'comparison' in figure ? figure.comparison : null,
    as,
    unit,
  ]);

/** Letters and digits with dots in between, without spaces. */
const ID = /^[\p{L}_][\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_-]+)+$/u;

/**
 * Reads headers of tables that a section fills: ids, labels, suffixes after both, headers of Docket's own files in all
 * languages, and a unit in brackets. Ids win over labels. Case and outer space do not matter.
 */
export function headerReader(section: SectionOutline): (header: string) => HeaderReading {
  const { ids, labels, texts } = buildIndex(section);
  const find = (key: string): readonly Candidate[] => {
    const byId = ids.get(key);
    return byId === undefined ? (labels.get(key) ?? []) : [byId];
  };
  const reading = (found: readonly Candidate[]): HeaderReading | undefined => {
    const [first, second] = found;
    if (first === undefined) return undefined;
    if (second === undefined) return { kind: 'bound', target: first.target };
    return { kind: 'ambiguous', ids: [...new Set(found.map(({ column }) => column.name))] };
  };
  const inBrackets = (key: string): HeaderReading | undefined => {
    let misfit: HeaderReading | undefined;
    for (const { rest, unit } of withoutBrackets(key)) {
      const found = find(rest);
      const fitting = found.flatMap(({ column, target }): Candidate[] => {
        const inThis = inUnit(target, unit, column);
        return inThis === undefined ? [] : [{ column, target: inThis }];
      });
      const read = reading(fitting);
      if (read !== undefined) return read;
      const [first] = found;
      if (first !== undefined) misfit ??= { kind: 'unit', id: first.column.name, unit };
    }
    return misfit;
  };
  return (header) => {
    const key = headerKey(header);
    const read = reading(find(key)) ?? inBrackets(key);
    if (read !== undefined) return read;
    const suffix = ALL_SUFFIXES.find((each) => key.endsWith(each) && find(key.slice(0, -each.length)).length > 0);
    if (suffix !== undefined) {
      const [of] = find(key.slice(0, -suffix.length));
      return { kind: 'figure', id: of?.column.name ?? '', suffix };
    }
    const [near] = closestMatches(key, texts.keys());
    const closest = near === undefined ? undefined : texts.get(near);
    return { kind: 'unknown', id: ID.test(key), ...(closest === undefined ? {} : { closest }) };
  };
}
