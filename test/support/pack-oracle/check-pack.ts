import { readFileSync } from 'node:fs';
import type { CellObject } from '@e965/xlsx';
import { parse } from 'csv-parse/sync';
import { expect } from 'vitest';
import { cellsOf, readWorkbook } from '../read-files.ts';
import type { Compared } from './days.ts';
import { changeIn, type ExpectedRow, type ExpectedSection, type Figure } from './expected.ts';
import type { Judged, Said } from './judged.ts';
import { factorOf, shows } from './shown.ts';

/** How the catalog calls the values of a dimension. */
export type LabelOf = (dimension: string, value: string | null) => string;

const OF: Readonly<Record<Compared, string>> = { previous_period: 'previous period', previous_year: 'year before' };
const TO_DATE = { year: 'year to date', fiscal_year: 'fiscal year to date', quarter: 'quarter to date' } as const;
const UNIT = String.raw`(?: \((?<unit>[^()]+)\))?`;
const SHAPES = {
  on_target: '● on target',
  watch: '◆ watch',
  breached: '■ breached',
  undefined: '○ undefined',
} as const;
const BUCKETS = { day: 'Day', week: 'Week starting', month: 'Month' } as const;

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
const namesKind = ({ kinds }: ExpectedSection): boolean => kinds.length > 1 || kinds[0] === 'previous_year';

type Reader = (figure: Figure) => number | null;
interface Column {
  readonly header: RegExp;
  /** Of a number in a cell; `change` has a unit of its own. */
  readonly role: 'value' | 'other' | 'change' | 'to_date';
  readonly metric: string;
  readonly kind?: Compared;
  readonly read: Reader;
}

/** The columns of a metric, with the headers of the workbook. */
function columnsOf(section: ExpectedSection, metric: string, label: string): Column[] {
  const name = escaped(label);
  const { kinds, toDate } = section;
  return [
    { header: new RegExp(`^${name}${UNIT}$`), role: 'value', metric, read: ({ now }) => now },
    ...kinds.flatMap((kind): Column[] => [
      {
        header: new RegExp(`^${name}${UNIT}, ${OF[kind]}$`),
        role: 'other',
        metric,
        kind,
        read: ({ others }) => others[kind]?.value ?? null,
      },
      {
        header: new RegExp(`^${name}, change${namesKind(section) ? ` \\(${OF[kind]}\\)` : ''}${UNIT}$`),
        role: 'change',
        metric,
        kind,
        read: (figure) => changeIn(figure, kind),
      },
    ]),
    ...(toDate === undefined
      ? []
      : [
          {
            header: new RegExp(`^${name}${UNIT}, ${TO_DATE[toDate]}$`),
            role: 'to_date' as const,
            metric,
            read: (figure: Figure) => figure.toDate,
          },
        ]),
  ];
}

const serialDay = (serial: unknown): string =>
  typeof serial === 'number' ? new Date((serial - 25_569) * 86_400_000).toISOString().slice(0, 10) : String(serial);

function expectCell(cell: CellObject | undefined, expected: number | null, factor: number, where: string): void {
  if (expected === null) expect(cell?.v, where).toBe('–');
  else {
    expect(cell?.t, `${where}: ${cell?.v} for ${expected}`).toBe('n');
    const value = Number(cell?.v) * factor;
    const near = Math.abs(value - expected) <= 1e-9 * Math.max(1, Math.abs(expected));
    expect(near, `${where}: ${value} for ${expected}`).toBe(true);
  }
}

const figureOf = (figures: Readonly<Record<string, Figure>>, metric: string): Figure => {
  const figure = figures[metric];
  if (figure === undefined) throw new Error(`no ${metric}`);
  return figure;
};

/** Of a section: the judgement of a row, or of the totals. */
const judgementOf = (
  judged: readonly Judged[],
  { id, dimensions }: ExpectedSection,
  metric: string,
  row: ExpectedRow | undefined,
): Judged | undefined => {
  const ofGroup = row !== undefined && dimensions.length > 0;
  const group = ofGroup ? (row.groups[0] ?? null) : null;
  // Only rows of one dimension have a status, and a row without a value of it is no total.
  if (ofGroup && (dimensions.length > 1 || group === null)) return undefined;
  return judged.find(
    (one) => one.section === id && one.metric === metric && one.bucket === (row?.bucket ?? null) && one.group === group,
  );
};

export interface Checked {
  cells: number;
  changes: number;
  dashes: number;
  statuses: number;
  notes: number;
}
/** The units of a pack's headers and texts by metric, as raw units in one of them; p50 and p90 of one thing are one. */
export type UnitsShown = Map<string, Set<number>>;

function noteUnit(units: UnitsShown, metric: string, factor: number): void {
  const thing = metric.replace(/_p\d+$/, '');
  units.set(thing, (units.get(thing) ?? new Set()).add(factor));
}
/** Of a text such as `33.9 hours`. */
function noteUnitIn(text: string, units: UnitsShown, metric: string, unit: string | null): void {
  if (unit === 'seconds' && text !== '–') noteUnit(units, metric, factorOf(/[a-z]+$/.exec(text)?.[0]));
}

export interface PackToCheck {
  readonly sections: readonly ExpectedSection[];
  readonly judged: readonly Judged[];
  readonly labelOf: LabelOf;
}

/** Compares every cell of a section's sheet with what it has to be. */
export function checkWorkbook(path: string, pack: PackToCheck, checked: Checked, units: UnitsShown): void {
  const book = readWorkbook(path);
  for (const section of pack.sections) {
    const lines = cellsOf(book, section.id.toUpperCase());
    const texts = lines.map((line) => String(line[0]?.v ?? ''));
    if (section.rows.length === 0) continue;
    const bucketed = section.granularity !== undefined;
    const transposed = section.rows.length === 1 && section.dimensions.length === 0 && (!section.totals || !bucketed);
    if (transposed) checkTransposed(lines, section, pack.judged, checked, units);
    else checkTable(lines, section, pack, checked, units);
    checkNotes(texts, section, checked);
  }
}

function checkTable(
  lines: readonly (readonly (CellObject | undefined)[])[],
  section: ExpectedSection,
  { judged, labelOf }: PackToCheck,
  checked: Checked,
  units: UnitsShown,
): void {
  const { granularity, dimensions, metrics, rows, total, id } = section;
  const start = lines.findIndex(
    (line) =>
      line.some((cell) => metrics.some(({ label }) => String(cell?.v ?? '').startsWith(label))) &&
      line.filter((cell) => cell?.v !== undefined).length > 1,
  );
  expect(start, id).toBeGreaterThan(0);
  const headers = (lines[start] ?? []).map((cell) => String(cell?.v ?? '')).filter((text) => text !== '');
  let at = 0;
  const week = granularity === 'week' ? 1 : 0;
  if (granularity !== undefined) {
    expect(headers.slice(0, 1 + week)).toEqual([...(week === 1 ? ['ISO week'] : []), BUCKETS[granularity]]);
    at += 1 + week;
  }
  const labelsFrom = at;
  at += dimensions.length;
  const expectStatus = (cell: CellObject | undefined, one: Judged | undefined, where: string): void => {
    expect(cell?.v ?? '', where).toBe(one === undefined ? '' : SHAPES[one.status]);
    if (one !== undefined) checked.statuses += 1;
  };
  const totalAt = start + 1 + rows.length + 1;
  for (const row of rows) {
    const line = lines[start + 1 + rows.indexOf(row)] ?? [];
    if (row.bucket !== null) expect(serialDay(line[week]?.v)).toBe(row.bucket);
    expect(line.slice(labelsFrom, at).map((cell) => cell?.v)).toEqual(
      row.groups.map((value, index) => labelOf(dimensions[index] ?? '', value)),
    );
  }
  if (total !== undefined) expect(String(lines[totalAt]?.[0]?.v)).toMatch(/^Total/);
  for (const { id: metric, label } of metrics) {
    for (const column of columnsOf(section, metric, label)) {
      const header = headers[at] ?? '';
      const match = column.header.exec(header);
      expect(match, `${id}: "${header}" for ${column.header}`).not.toBeNull();
      const unit = match?.groups?.unit;
      const factor = column.role === 'change' ? 1 : factorOf(unit);
      if (column.role !== 'change') noteUnit(units, metric, factor);
      const values = [
        ...rows.map(
          (row, index) =>
            [lines[start + 1 + index]?.[at], row.figures, row.bucket ?? JSON.stringify(row.groups)] as const,
        ),
        ...(total === undefined ? [] : [[lines[totalAt]?.[at], total, 'total'] as const]),
      ];
      for (const [cell, figures, which] of values) {
        const expected = column.read(figureOf(figures, metric));
        expectCell(cell, expected, factor, `${id} ${which} "${header}"`);
        checked.cells += 1;
        if (column.role === 'change') checked.changes += expected === null ? 0 : 1;
        if (expected === null) checked.dashes += 1;
      }
      at += 1;
    }
    if (judged.some((one) => one.section === id && one.metric === metric)) {
      expect(headers[at]).toBe(`${label}: status`);
      for (const [index, row] of rows.entries())
        expectStatus(
          lines[start + 1 + index]?.[at],
          judgementOf(judged, section, metric, row),
          `${id} ${metric} row ${index}`,
        );
      if (total !== undefined)
        expectStatus(lines[totalAt]?.[at], judgementOf(judged, section, metric, undefined), `${id} ${metric} total`);
      at += 1;
    }
  }
  expect(at, headers.join(' | ')).toBe(headers.length);
}

function checkTransposed(
  lines: readonly (readonly (CellObject | undefined)[])[],
  section: ExpectedSection,
  judged: readonly Judged[],
  checked: Checked,
  units: UnitsShown,
): void {
  const { metrics, rows, total, id } = section;
  const [row] = rows;
  if (row === undefined) throw new Error('no row');
  const start = lines.findIndex((line) => line[0]?.v === 'Metric');
  expect(start, id).toBeGreaterThan(0);
  const headers = (lines[start] ?? []).map((cell) => String(cell?.v ?? '')).filter((text) => text !== '');
  const hasStatus = headers.at(-1) === 'Status';
  expect(hasStatus, id).toBe(judged.some((one) => one.section === id));
  for (const [index, { id: metric, label }] of metrics.entries()) {
    const line = lines[start + 1 + index] ?? [];
    const columns = columnsOf(section, metric, label);
    const match = columns[0]?.header.exec(String(line[0]?.v));
    expect(match, `${id} "${line[0]?.v}"`).not.toBeNull();
    const unit = match?.groups?.unit;
    noteUnit(units, metric, factorOf(unit));
    const shown = headers.length - 1 - (hasStatus ? 1 : 0);
    // Totals stand beside only where they differ.
    const sets = [row.figures, ...(shown > columns.length && total !== undefined ? [total] : [])];
    expect(shown, headers.join(' | ')).toBe(sets.length * columns.length);
    let at = 1;
    for (const figures of sets) {
      for (const column of columns) {
        const expected = column.read(figureOf(figures, metric));
        expectCell(
          line[at],
          expected,
          column.role === 'change' ? 1 : factorOf(unit),
          `${id} ${metric} "${headers[at]}"`,
        );
        checked.cells += 1;
        if (column.role === 'change') checked.changes += expected === null ? 0 : 1;
        if (expected === null) checked.dashes += 1;
        at += 1;
      }
    }
    if (!hasStatus) continue;
    const one = judgementOf(judged, section, metric, undefined) ?? judgementOf(judged, section, metric, row);
    expect(line[at]?.v ?? '', `${id} ${metric}`).toBe(one === undefined ? '' : SHAPES[one.status]);
    if (one !== undefined) checked.statuses += 1;
  }
}

/** Whatever is compared although unlike, or not compared because of it, has a note. */
function checkNotes(texts: readonly string[], section: ExpectedSection, checked: Checked): void {
  const { total, rows, kinds, metrics, granularity, range, over } = section;
  if (metrics.every(({ id }) => id.startsWith('cohort.'))) return;
  const whole = total ?? (granularity === undefined ? rows[0]?.figures : undefined);
  for (const kind of kinds) {
    const shown = Object.values(whole ?? {}).some(
      (figure) => changeIn(figure, kind) !== null && figure.others[kind]?.like === false,
    );
    if (shown) {
      expect(texts.join('\n'), section.id).toMatch(
        / compares (\d+ days with \d+|days that begin on another weekday|the counts (on other weekdays|at the end of \d+ and of \d+ days))\./,
      );
      checked.notes += 1;
    }
    const refused = Object.values(whole ?? {}).some((figure) => figure.others[kind]?.comparable === false);
    if (refused) expect(texts.join('\n'), section.id).toMatch(/No change.* of the whole range is shown/);
    if (granularity === undefined) continue;
    const unlike = rows.some((row) =>
      Object.values(row.figures).some((figure) => figure.others[kind]?.comparable === false),
    );
    if (unlike) {
      expect(texts.join('\n'), section.id).toMatch(/No change is shown for /);
      checked.notes += 1;
    }
  }
  for (const { label, first } of metrics) {
    if (range === undefined || range.from >= first) continue;
    expect(texts.join('\n')).toMatch(new RegExp(`${escaped(label)} has (no data before|data from) ${first}`));
    checked.notes += 1;
  }
  if (range === undefined) expect(texts.join('\n')).toMatch(/Current counts, as of /);
  if (!over && rows.length > 0) expect(texts.join('\n')).toMatch(/still running|has not ended|figures will grow/);
}

/** The values of a CSV file: raw ones are exact, formatted ones as a person reads them. */
export function checkCsv(
  paths: { readonly rows: string; readonly totals: string | undefined },
  section: ExpectedSection,
  { judged, labelOf }: PackToCheck,
  formatted: boolean,
  checked: Checked,
  units: UnitsShown,
): void {
  const read = (path: string): string[][] => parse(readFileSync(path), { bom: true, relax_column_count: false });
  const { granularity, dimensions, metrics, kinds, toDate, range, id } = section;
  const unitOf = (unit: string | null): string => {
    if (formatted) return '';
    return unit === null ? '' : unit === 'ratio' ? ' (ratio 0–1)' : ` (${unit})`;
  };
  const figureColumns = metrics.flatMap(({ id: metric, label, unit }) => {
    const name = `${label}${unitOf(unit)}`;
    const column = (header: string, get: Reader) => ({ header, metric, unit, get });
    return [
      column(name, ({ now }) => now),
      ...kinds.map((kind) => column(`${name}, ${OF[kind]}`, ({ others }) => others[kind]?.value ?? null)),
      ...(toDate === undefined ? [] : [column(`${name}, ${TO_DATE[toDate]}`, (figure) => figure.toDate)]),
    ];
  });
  const statuses = metrics.filter(({ id: metric }) =>
    judged.some((one) => one.section === id && one.metric === metric),
  );
  const tail = [
    ...(range === undefined ? [] : ['Still running', ...kinds.map((kind) => `Not comparable, ${OF[kind]}`)]),
    ...statuses.map(({ label }) => `${label}: status`),
  ];
  const head = (granularity === undefined ? 0 : 1) + dimensions.length;
  const words = { on_target: 'on target', watch: 'watch', breached: 'breached', undefined: 'undefined' } as const;
  const expectField = (
    text: string,
    expected: number | null,
    unit: string | null,
    where: string,
    metric: string,
  ): void => {
    if (formatted) noteUnitIn(text, units, metric, unit);
    checked.cells += 1;
    if (expected === null) checked.dashes += 1;
    if (formatted) expect(shows(text, expected, unit), `${where}: "${text}" for ${expected}`).toBe(true);
    else expect(text, where).toBe(expected === null ? '' : `${expected}`);
  };
  const expectRecord = (
    record: readonly string[],
    figures: Readonly<Record<string, Figure>>,
    row: ExpectedRow | undefined,
  ): void => {
    let at = 0;
    for (const { header, metric, unit, get } of figureColumns) {
      expectField(
        record[at] ?? '',
        get(figureOf(figures, metric)),
        unit,
        `${id} csv ${row?.bucket ?? ''} ${header}`,
        metric,
      );
      at += 1;
    }
    if (range !== undefined) {
      const over = row === undefined ? section.over : row.over;
      expect(record[at]).toBe(formatted ? (over ? 'no' : 'yes') : `${!over}`);
      at += 1;
      for (const kind of kinds) {
        const [one] = Object.values(figures);
        const reason = record[at] ?? '';
        expect(reason === '' || reason === '–', `${id} ${row?.bucket ?? 'total'} ${kind}: "${reason}"`).toBe(
          one?.others[kind]?.comparable !== false,
        );
        at += 1;
      }
    }
    for (const { id: metric } of statuses) {
      const alone = row !== undefined && section.total === undefined;
      const one =
        judgementOf(judged, section, metric, row) ??
        (alone && row.bucket === null && dimensions.length === 0
          ? judgementOf(judged, section, metric, undefined)
          : undefined);
      const single = row !== undefined && !alone && row.bucket === null && dimensions.length === 0;
      // The row of a single figure may leave the status to the totals.
      if (!single)
        expect(record[at], `${id} csv ${metric}`).toBe(
          one === undefined ? '' : formatted ? words[one.status] : one.status,
        );
      if (one !== undefined) checked.statuses += 1;
      at += 1;
    }
    expect(record).toHaveLength(at);
  };
  const [headers = [], ...records] = read(paths.rows);
  expect(headers.slice(head)).toEqual([...figureColumns.map(({ header }) => header), ...tail]);
  expect(records).toHaveLength(section.rows.length);
  for (const [index, row] of section.rows.entries()) {
    const record = records[index] ?? [];
    if (granularity !== undefined && !formatted) expect(record[0]).toBe(row.bucket);
    expect(record.slice(head - dimensions.length, head)).toEqual(
      row.groups.map((value, nth) => (value === null ? (formatted ? '–' : '') : labelOf(dimensions[nth] ?? '', value))),
    );
    expectRecord(record.slice(head), row.figures, row);
  }
  expect(paths.totals === undefined).toBe(section.total === undefined);
  if (paths.totals === undefined || section.total === undefined) return;
  const [totalHeaders = [], ...totals] = read(paths.totals);
  expect(totalHeaders).toEqual([...figureColumns.map(({ header }) => header), ...tail]);
  expect(totals).toHaveLength(1);
  expectRecord(totals[0] ?? [], section.total, undefined);
}

/** `▲ up 12.4% from 5,685`, `was 60`, `= unchanged at 5`, `no figure for the previous period`. */
function expectChange(text: string, figure: Figure, kind: Compared, where: string): void {
  const before = figure.others[kind]?.value ?? null;
  const why = `${where}: "${text}" for ${figure.now} against ${before}`;
  if (before === null) {
    expect(text, why).toBe(`no figure for the ${OF[kind]}`);
    return;
  }
  const comparable = figure.others[kind]?.comparable === true && !figure.provisional && figure.now !== null;
  if (!comparable) {
    expect(text.startsWith('was ') && shows(text.slice(4), before, figure.unit), why).toBe(true);
    return;
  }
  const change = changeIn(figure, kind);
  if (change === 0) {
    expect(text.startsWith('= unchanged at ') && shows(text.slice(15), before, figure.unit), why).toBe(true);
    return;
  }
  const [, direction, , size, from = ''] = /^(▲ up|▼ down)( (.+))? from (.+)$/.exec(text) ?? [];
  expect(direction, why).toBe((figure.now ?? 0) > before ? '▲ up' : '▼ down');
  expect(shows(from, before, figure.unit), why).toBe(true);
  if (change === null) expect(size, why).toBeUndefined();
  else expect(shows(size ?? '', Math.abs(figure.unit === 'ratio' ? change / 100 : change), 'ratio'), why).toBe(true);
}

/** The headline figures and the tables of an e-mail, as its plain text shows them. */
export function checkEmail(text: string, { sections, judged }: PackToCheck, checked: Checked, units: UnitsShown): void {
  const lines = text.split('\n');
  for (const section of sections) {
    const { id, granularity, dimensions, metrics, rows, kinds, toDate, order, total } = section;
    const start = lines.indexOf(id.toUpperCase());
    expect(start, `${id} in ${text}`).toBeGreaterThan(0);
    if (rows.length === 0) continue;
    const head = lines.findIndex((line, at) => at > start && line.includes(' | '));
    const cells = (offset: number): string[] => (lines[head + offset] ?? '').trim().split(' | ');
    if (rows.length === 1 && granularity === undefined && dimensions.length === 0) {
      const [row] = rows;
      if (row === undefined) continue;
      for (const [index, { id: metric, label, unit }] of metrics.slice(0, 10).entries()) {
        const figure = figureOf(row.figures, metric);
        const [name, value = '', ...more] = cells(1 + index);
        noteUnitIn(value, units, metric, unit);
        expect(name?.replace(/ \(still running\)$/, '')).toBe(label);
        expect(shows(value, figure.now, unit), `${id} mail ${metric} "${value}" for ${figure.now}`).toBe(true);
        kinds.forEach((kind, nth) => {
          expectChange(more[nth] ?? '', figure, kind, `${id} mail ${metric}`);
        });
        if (toDate !== undefined)
          expect(
            shows(more[kinds.length] ?? '', figure.toDate, unit),
            `${id} mail to date ${metric} ${more.join(' | ')}`,
          ).toBe(true);
        checked.cells += 1 + kinds.length;
      }
      continue;
    }
    const labels = (granularity === undefined ? 0 : 1) + dimensions.length;
    const shown = metrics.slice(0, 5 - labels);
    // A single column has no separator.
    if (labels + shown.length < 2) continue;
    const [first] = order;
    const ranked = first !== undefined && !(granularity !== undefined && first.by === 'bucket' && first.dir === 'asc');
    const some = granularity === undefined || ranked ? rows.slice(0, 10) : rows.slice(-10);
    for (const [index, row] of [...some, ...(total === undefined ? [] : [undefined])].entries()) {
      const record = cells(1 + index);
      for (const [nth, { id: metric, unit }] of shown.entries()) {
        const figure = figureOf(row?.figures ?? total ?? {}, metric);
        const cell = record[labels + nth] ?? '';
        noteUnitIn(cell, units, metric, unit);
        expect(
          shows(cell, figure.now, unit),
          `${id} mail ${row?.bucket ?? 'total'} ${metric} "${cell}" for ${figure.now}`,
        ).toBe(true);
        checked.cells += 1;
      }
    }
  }
  checkTiles(lines, sections, judged, checked);
}

/** A tile is of one section's totals; one of several with its name. */
function checkTiles(
  lines: readonly string[],
  sections: readonly ExpectedSection[],
  judged: readonly Judged[],
  checked: Checked,
): void {
  const start = lines.indexOf('HEADLINE');
  const end = lines.indexOf('', start + 1);
  const tiles = start < 0 ? [] : lines.slice(start + 1, end).map((line) => line.trim());
  const all = sections.flatMap((section) => {
    const single = section.dimensions.length === 0 && section.granularity === undefined;
    const figures = section.total ?? (single ? section.rows[0]?.figures : undefined);
    return figures === undefined
      ? []
      : section.metrics.map(({ id, label, unit }) => ({ section, figure: figureOf(figures, id), id, label, unit }));
  });
  expect(tiles.length > 0).toBe(all.length > 0);
  for (const tile of tiles.filter((line) => !/^\d+ more /.test(line))) {
    const faults = all
      .filter(({ label }) => tile.startsWith(`${label}:`) || tile.startsWith(`${label} (`))
      .map(({ section, figure, id, label, unit }) => {
        try {
          expectTile(tile.slice(label.length), section, figure, judgementOf(judged, section, id, undefined), unit);
          return undefined;
        } catch (thrown) {
          return thrown;
        }
      });
    if (!faults.includes(undefined)) throw new Error(`no section has "${tile}"`, { cause: faults });
    checked.cells += 1;
  }
}

function expectTile(
  rest: string,
  section: ExpectedSection,
  figure: Figure,
  one: Judged | undefined,
  unit: string | null,
): void {
  const change = section.kinds.length === 0 ? '' : String.raw` \((?<change>.+)\)`;
  const status = one === undefined ? '' : `, target (?<target>.+): (?<status>[●◆■○] .+?)`;
  const match = new RegExp(`^(?: \\(.*?\\))?: (?<value>[^:]+?)${status}${change}$`).exec(rest);
  expect(match, rest).not.toBeNull();
  const { value = '', target = '', status: shape, change: changes = '' } = match?.groups ?? {};
  expect(shows(value, figure.now, unit), `${value} for ${figure.now}`).toBe(true);
  if (one !== undefined) {
    expect(shape).toBe(SHAPES[one.status]);
    expect(shows(target, one.target.target, unit)).toBe(true);
  }
  if (section.kinds.length === 0) return;
  const texts = changes.split('; ');
  section.kinds.forEach((kind, nth) => {
    const text = texts[nth] ?? '';
    const own = namesKind(section) ? ` (${OF[kind]})` : '';
    expect(text.endsWith(own)).toBe(true);
    expectChange(text.slice(0, text.length - own.length), figure, kind, 'tile');
  });
}

const NAMES = { on_target: 'on target', watch: 'watch', breached: 'breached', undefined: 'undefined' } as const;

/** Whether a sentence says this. */
function says(sentence: string, { label, value, unit, judged, change }: Said): string | undefined {
  if (!sentence.startsWith(label)) return 'another label';
  const [, , rest = ''] = /^( \(.*?\))?: (.+)$/.exec(sentence.slice(label.length)) ?? [];
  const [, figure = '', target, status, compared] =
    /^(.+?)(?:, target (.+?), (on target|watch|breached|undefined))?(?: \((.+)\))?$/.exec(rest) ?? [];
  if (figure === '' || !shows(figure, value, unit)) return `"${figure}" for ${value}`;
  if (judged === undefined ? status !== undefined : status !== NAMES[judged.status]) return `status "${status}"`;
  if (judged !== undefined && !shows(target ?? '', judged.target, unit)) return `target "${target}"`;
  if (change === undefined) return compared === undefined ? undefined : `a change "${compared}"`;
  if (compared === undefined) return 'no change';
  const isYear = compared.endsWith(' a year before');
  if (isYear !== (change.kind === 'previous_year')) return `other days "${compared}"`;
  if (change.before === value) return compared.startsWith('the same as ') ? undefined : `"${compared}" for no change`;
  const [, size = '', word = ''] = /^(.+) (more|fewer|longer|shorter|higher|lower) than /.exec(compared) ?? [];
  if (['more', 'longer', 'higher'].includes(word) !== value > change.before) return `direction "${compared}"`;
  return shows(size, Math.abs(value - change.before), unit) ? undefined : `size "${size}"`;
}

const MOST_HEADLINES = 5;

/** The sentences are those that have to be said, in their order; equal ones appear once. */
export function checkHeadlines(sentences: readonly string[], expected: readonly Said[]): void {
  expect(sentences.length).toBeLessThanOrEqual(MOST_HEADLINES);
  let at = 0;
  for (const said of expected) {
    if (at === MOST_HEADLINES) break;
    const why = says(sentences[at] ?? '', said);
    if (why === undefined) at += 1;
    // The same figure of another section.
    else if (!sentences.slice(0, at).some((sentence) => says(sentence, said) === undefined))
      throw new Error(`"${sentences[at]}": ${why} of ${JSON.stringify(said)}\n${sentences.join('\n')}`);
  }
  expect(at, `${sentences.join('\n')}\n${JSON.stringify(expected)}`).toBe(sentences.length);
}
