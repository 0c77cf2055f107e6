import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import type { Table, TableReading } from '../../src/fetch/dataset.ts';
import { messagesFor } from '../../src/i18n/messages.ts';
import { renderEmail } from '../../src/render/email/render-email.ts';
import { tableFacts, tableNotes, totalHeading } from '../../src/render/table-notes.ts';
import { bucketColumn, countColumn, dataset, MADE_AT, previous, row, table, WEEK_BEFORE } from '../support/dataset.ts';
import { readWorkbook } from '../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../support/render-folder.ts';

const { render } = useRenderFolder();
const METRIC = countColumn.name;

const reading = (day: string, more: Partial<TableReading> = {}): TableReading => ({
  of: 'rows',
  bucket: null,
  comparison: null,
  day,
  question: 'whole',
  asOf: `${day}T21:30:05Z`,
  correlationId: null,
  ...more,
});
const missed = { asOf: null, correlationId: null };

const end: Table = table({
  id: 'end',
  columns: [countColumn],
  comparisons: [WEEK_BEFORE],
  rows: [row({ [METRIC]: 15 }, { compare: previous({ [METRIC]: null }) })],
  totals: { values: { [METRIC]: 15 }, compare: previous({ [METRIC]: null }) },
  asOf: '2026-11-15T21:30:05Z',
  readings: (['rows', 'totals'] as const).flatMap((of) => [
    reading('2026-11-15', { of }),
    reading('2026-11-08', { of, comparison: 'previous_period', ...missed }),
  ]),
});
/** No reading has been taken yet. */
const coming: Table = table({
  id: 'coming',
  granularity: 'week',
  running: true,
  columns: [bucketColumn, countColumn],
  rows: [row({ bucket: '2026-11-16', [METRIC]: null }, { partial: true })],
  totals: { values: { [METRIC]: null } },
  asOf: null,
  readings: [
    reading('2026-11-22', { bucket: '2026-11-16', ...missed }),
    reading('2026-11-22', { of: 'totals', ...missed }),
  ],
  notes: [{ code: 'partial', message: { id: 'readings_to_come', of: { days: ['2026-11-22'] } }, incomplete: false }],
});
const trend: Table = table({
  id: 'trend',
  granularity: 'day',
  columns: [bucketColumn, countColumn],
  rows: [
    row({ bucket: '2026-11-14', [METRIC]: 14 }),
    row({ bucket: '2026-11-13', [METRIC]: null }),
    row({ bucket: '2026-11-15', [METRIC]: null }, { partial: true }),
  ],
  asOf: '2026-11-14T21:30:05Z',
  readings: [
    reading('2026-11-13', { bucket: '2026-11-13', ...missed }),
    reading('2026-11-14', { bucket: '2026-11-14' }),
    reading('2026-11-15', { bucket: '2026-11-15', ...missed }),
  ],
  notes: [
    {
      code: 'read_at',
      message: { id: 'read_at', of: { at: '2026-11-14T21:30:05Z', timezone: 'Europe/Zurich', granularity: 'day' } },
      incomplete: false,
    },
  ],
});

async function csv(one: Table, ending: string, values: 'raw' | 'formatted', locale = 'en-GB') {
  const artifacts = await render(dataset([one]), [{ format: 'csv', csv: { values, separator: 'comma' } }], { locale });
  const read = (name: string) => readFileSync(artifactNamed(artifacts, name).path, 'utf8').replace('\ufeff', '');
  const [header = [], ...lines]: string[][] = parse(read(`${ending}.csv`), { record_delimiter: '\r\n' });
  const { fields } = JSON.parse(read(`${ending}.schema.json`)) as { fields: Record<string, unknown>[] };
  return { rows: lines.map((line) => Object.fromEntries(line.map((value, index) => [header[index], value]))), fields };
}

test('raw CSV files have the time of each reading, empty for a gap, and their schema describes it', async () => {
  for (const part of ['end', 'end.totals']) {
    const { rows, fields } = await csv(end, part, 'raw', 'de-DE');
    expect(rows).toMatchObject([{ 'Read at': '2026-11-15T21:30:05Z', 'Read at, previous period': '' }]);
    expect(fields.map(({ name }) => name)).toEqual(Object.keys(rows[0] ?? {}));
    expect(fields.find(({ name }) => name === 'Read at')).toMatchObject({ type: 'datetime' });
    expect(fields.find(({ name }) => name === 'Read at, previous period')).toMatchObject({
      type: 'datetime',
      comparison: 'previous_period',
    });
  }
  const { rows } = await csv(trend, 'trend', 'raw');
  expect(rows.map((line) => line['Read at'])).toEqual(['2026-11-14T21:30:05Z', '', '']);
});

test('formatted files have the time of each reading in the zone and language of the report', async () => {
  const { rows, fields } = await csv(end, 'end', 'formatted', 'de-DE');
  expect(rows[0]?.Stand).toMatch(/15\. November 2026.*22:30/);
  expect(rows[0]?.['Stand, Vorperiode']).toBe('–');
  expect(fields.find(({ name }) => name === 'Stand')).toMatchObject({ type: 'string' });
});

test('the row below readings is named after the last day, even before the first reading', async () => {
  expect(totalHeading(coming, messagesFor('en-GB'))).toBe(messagesFor('en-GB').table.lastDay);
  expect(totalHeading(trend, messagesFor('en-GB'))).toBe(messagesFor('en-GB').table.lastDay);
  const { readings: _, ...counted } = trend;
  expect(totalHeading(counted, messagesFor('en-GB'))).toBe(messagesFor('en-GB').table.total);
});

test('files without readings have no column for their time', async () => {
  const { readings: _, ...plain } = end;
  const { rows } = await csv(plain, 'end', 'raw');
  expect(Object.keys(rows[0] ?? {}).some((name) => name.startsWith('Read at'))).toBe(false);
});

test('workbook and e-mail say at a table when its figures were read', async () => {
  const asRead = /As read 15 November 2026.*22:30/;
  expect(tableFacts(dataset([end]), end)[0]).toMatch(asRead);
  expect(tableFacts(dataset([trend]), trend)[0]).not.toMatch(/read|Computed/i);
  const weeks: Table = { ...trend, granularity: 'week', range: { from: '2026-11-03', to: '2026-11-14' } };
  const codes = (one: Table) => tableNotes(one).map(({ code }) => code);
  // Readings add up no days, so a bucket that is cut off does not count less.
  expect(codes(weeks)).toEqual(['read_at']);
  const { readings: _, ...counted } = weeks;
  expect(codes(counted)).toEqual(['read_at', 'partial']);
  const data = dataset([end, trend]);
  const { text, html } = await renderEmail(data, [], { run: 'r', madeAt: MADE_AT });
  expect(text).toMatch(asRead);
  expect(html).toMatch(asRead);
  expect(text).toMatch(/Profiles created \(as read 15 November 2026.*22:30\): 15/);
  expect(text).toMatch(/the latest as read 14 November 2026.*22:30/);
  const artifacts = await render(data, [{ format: 'xlsx' }], {});
  const cells = JSON.stringify(readWorkbook(artifactNamed(artifacts, '.xlsx').path).Sheets);
  expect(cells).toMatch(asRead);
  expect(cells).toMatch(/the latest as read 14 November 2026.*22:30/);
});
