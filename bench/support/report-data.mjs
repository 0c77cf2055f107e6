// The input of every writer of bench/render.mjs: sections of a board pack, and a list. writers/libxlsxwriter.c computes
// the same figures: change both together.
import { writeRows } from '../../dist-modules/fetch/rows.js';

const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(2012, 0, 1);
const TYPES = ['individual', 'entity'];
const GROUPS = 25;
/** Rows per day: a section of 5,000 rows covers a hundred days. */
const PER_DAY = 2 * GROUPS;

/** A number below 100,003 that looks random but is the same on every machine. */
export const scatter = (section, row, column) => (section * 99_991 + row * 7_919 + column * 104_729) % 100_003;

/** @typedef {import('../../dist-modules/fetch/dataset.js').Column} Column */
/** @typedef {import('../../dist-modules/fetch/dataset.js').Table} Table */
/** @typedef {import('../../dist-modules/fetch/dataset.js').Dataset} Dataset */

/** @type {(unit: string, from: number, count: number) => Column[]} */
const metric = (unit, from, count) =>
  Array.from({ length: count }, (_, index) => ({
    name: `metric.${from + index}`,
    label: `Metric ${from + index}`,
    kind: 'metric',
    type: { count: 'integer', ratio: 'ratio', seconds: 'duration' }[unit],
    unit,
    aggregation: 'count',
    description: 'A figure of the bench.',
  }));

/**
 * 22 columns: a day, two groups, eight counts, six ratios, five durations.
 *
 * @type {Column[]}
 */
export const SECTION_COLUMNS = [
  { name: 'bucket', label: 'Bucket', kind: 'time', type: 'date', unit: null },
  {
    name: 'profile.type',
    label: 'Type',
    kind: 'dimension',
    type: 'enum',
    unit: null,
    values: TYPES.map((value) => ({ value, label: `${value} profile` })),
  },
  { name: 'profile.group', label: 'Group', kind: 'dimension', type: 'enum', unit: null },
  ...metric('count', 3, 8),
  ...metric('ratio', 11, 6),
  ...metric('seconds', 17, 5),
];

/** One in fifty has no value, like a rate without cases. */
const figure = (unit, number) => {
  if (unit === 'count') return number;
  if (number % 50 === 0) return null;
  return unit === 'ratio' ? number / 100_003 : number + 0.5;
};

const dayText = (day) => new Date(FIRST_DAY + day * DAY_MS).toISOString().slice(0, 10);

/** The values of a row in the order of its columns. */
export const sectionValues = (section, row) =>
  SECTION_COLUMNS.map(({ unit }, column) => {
    if (unit !== null) return figure(unit, scatter(section, row, column));
    if (column === 0) return dayText(Math.floor(row / PER_DAY));
    return column === 1 ? TYPES[row % 2] : `Group ${(row >> 1) % GROUPS} & partners`;
  });

const keyed = (columns, values) => Object.fromEntries(columns.map(({ name }, index) => [name, values[index]]));

/** @type {(change: Pick<Table, 'id' | 'title' | 'columns' | 'rows'> & Partial<Table>) => Table} */
const table = (change) => ({
  granularity: null,
  current: false,
  range: null,
  period: { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: '2026-W46' },
  comparisons: [],
  running: false,
  asOf: '2026-11-16T06:59:30Z',
  filters: [],
  notes: [],
  ...change,
});

export const sectionTable = (section, rows) =>
  table({
    id: `section-${section}`,
    title: `Section ${section}`,
    granularity: 'day',
    columns: SECTION_COLUMNS,
    rows: Array.from({ length: rows }, (_, row) => ({
      values: keyed(SECTION_COLUMNS, sectionValues(section, row)),
      partial: false,
    })),
    chart: 'line',
  });

/** @type {(name: string) => Column} */
const field = (name) => ({ name, label: name, kind: 'field', type: 'string', unit: null });
export const LIST_COLUMNS = [
  'id',
  'name',
  'created_at',
  'active',
  'risk',
  'email',
  'country',
  'score',
  'reviewed_on',
  'remark',
].map(field);

const RISKS = ['low', 'medium', 'high'];
const COUNTRIES = ['CH', 'DE', 'FR', 'IT'];

export const listValues = (row) => {
  const number = scatter(0, row, 1);
  const created = new Date(FIRST_DAY + (number % 5_000) * DAY_MS + (number % 86_400) * 1_000).toISOString();
  return [
    1_000_000 + row,
    `Person ${number} of ${row}`,
    `${created.slice(0, 19)}Z`,
    number % 3 > 0,
    RISKS[number % 3],
    `person.${row}@mail.example`,
    COUNTRIES[number % 4],
    number / 8,
    number % 50 === 0 ? null : created.slice(0, 10),
    `Reviewed in ${number % 900} days, <nothing> to add`,
  ];
};

const LIST_CHUNK = 5_000;

/** A list whose rows are in the file at `path`, the form in which a list export leaves them. */
export async function listTable(rows, path) {
  const file = await writeRows(path);
  for (let from = 0; from < rows; from += LIST_CHUNK) {
    await file.append(
      Array.from({ length: Math.min(LIST_CHUNK, rows - from) }, (_, index) =>
        keyed(LIST_COLUMNS, listValues(from + index)),
      ),
    );
  }
  return table({
    id: 'list',
    title: 'List',
    columns: LIST_COLUMNS,
    rows: await file.end(LIST_COLUMNS.map(({ name }) => name)),
  });
}

export const MADE_AT = Date.parse('2026-11-16T07:00:00Z');

/** @type {(tables: Table[]) => Dataset} */
export const datasetOf = (tables) => ({
  org: 'acme',
  organization: 'Acme Compliance AG',
  report: 'bench',
  title: 'Board pack',
  owner: 'ops@acme.example',
  period: { from: '2012-01-01', to: '2015-12-31', timezone: 'Europe/Zurich', label: '2012–2015' },
  tables,
  calls: [],
  registryVersion: 7,
});
