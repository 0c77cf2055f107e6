import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { expect } from 'vitest';
import {
  type Checked,
  figureOf,
  judgementOf,
  noteUnitIn,
  OF,
  type PackToCheck,
  STATUS_WORDS,
  TO_DATE,
  type UnitsShown,
} from './checked.ts';
import { isOne } from './days.ts';
import type { ExpectedRow, ExpectedSection, Figure, ReadFigure } from './expected.ts';
import { shows } from './shown.ts';

/** `2026-11-15T21:30:05Z`, or `15 November 2026, 22:30 (Europe/Zurich)`. */
function expectReadAt(text: string, reading: ReadFigure | undefined, formatted: boolean, where: string): void {
  if (!formatted) expect(text, where).toBe(reading?.at ?? '');
  else if (reading?.at == null) expect(text, where).toBe('–');
  else {
    const [, day = '', time] = /^(\d+ \p{L}+ \d{4}), (\d\d:\d\d) \(.+\)$/u.exec(text) ?? [];
    expect([day === '' ? text : new Date(`${day} UTC`).toISOString().slice(0, 10), time], where).toEqual([
      reading.day,
      '22:30',
    ]);
  }
}

/** Checks the values of a CSV file: raw values exactly, formatted values as a person reads them. */
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
    const column = (header: string, get: (figure: Figure) => number | null) => ({ header, metric, unit, get });
    return [
      column(name, ({ now }) => now),
      ...kinds.map((kind) => column(`${name}, ${OF[kind]}`, ({ others }) => others[kind]?.value ?? null)),
      ...(toDate === undefined ? [] : [column(`${name}, ${TO_DATE[toDate]}`, (figure) => figure.toDate)]),
    ];
  });
  const statuses = metrics.filter(({ id: metric }) =>
    judged.some((one) => one.section === id && one.metric === metric),
  );
  const cutBy = range === undefined || granularity === undefined || granularity === 'day' ? undefined : granularity;
  const tailOf = (file: 'rows' | 'totals') => [
    ...(range === undefined ? [] : ['Still running', ...kinds.map((kind) => `Not comparable, ${OF[kind]}`)]),
    ...(cutBy === undefined || file === 'totals' ? [] : ['Cut off']),
    ...(section.read ? ['Read at', ...kinds.map((kind) => `Read at, ${OF[kind]}`)] : []),
    ...statuses.map(({ label }) => `${label}: status`),
  ];
  const head = (granularity === undefined ? 0 : 1) + dimensions.length;
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
    if (cutBy !== undefined && row !== undefined) {
      const cut = !section.read && row.days !== undefined && !isOne(row.days, cutBy);
      expect(record[at], `${id} csv ${row.bucket} cut off`).toBe(formatted ? (cut ? 'yes' : 'no') : `${cut}`);
      at += 1;
    }
    const read = row === undefined ? section.totalRead : row.read;
    for (const kind of section.read ? [null, ...kinds] : []) {
      const reading = read?.find((one) => one.kind === kind);
      expectReadAt(record[at] ?? '', reading, formatted, `${id} csv ${row?.bucket ?? ''} ${kind}`);
      at += 1;
    }
    for (const { id: metric } of statuses) {
      // A row without bucket and group covers the same days as the totals.
      const isWhole = row !== undefined && row.bucket === null && dimensions.length === 0;
      const one = judgementOf(judged, section, metric, isWhole ? undefined : row);
      expect(record[at], `${id} csv ${metric}`).toBe(
        one === undefined ? '' : formatted ? STATUS_WORDS[one.status] : one.status,
      );
      if (one !== undefined) checked.statuses += 1;
      at += 1;
    }
    expect(record).toHaveLength(at);
  };
  const [headers = [], ...records] = read(paths.rows);
  expect(headers.slice(head)).toEqual([...figureColumns.map(({ header }) => header), ...tailOf('rows')]);
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
  expect(totalHeaders).toEqual([...figureColumns.map(({ header }) => header), ...tailOf('totals')]);
  expect(totals).toHaveLength(1);
  expectRecord(totals[0] ?? [], section.total, undefined);
}
