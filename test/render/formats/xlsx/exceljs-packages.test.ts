import { EventEmitter, on } from 'node:events';
import { readFile } from 'node:fs/promises';
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import exceljs from 'exceljs';
import { expect, test } from 'vitest';
import { z } from 'zod';

/** exceljs depends on old packages, which package.json overrides (docs/dependencies.md). It must keep working with the new ones. */
const ROWS = [
  ['Queue', 'Alerts'],
  ['payments', 3],
  ['zürich & <co>', 4.5],
];

async function streamed(): Promise<Buffer> {
  const out = new PassThrough();
  const read = buffer(out);
  const workbook = new exceljs.stream.xlsx.WorkbookWriter({ stream: out, useStyles: true, useSharedStrings: true });
  const sheet = workbook.addWorksheet('Figures');
  for (const row of ROWS) sheet.addRow(row).commit();
  sheet.commit();
  await workbook.commit();
  return read;
}

async function inMemory(): Promise<Buffer> {
  const workbook = new exceljs.Workbook();
  workbook.addWorksheet('Figures').addRows(ROWS);
  return Buffer.from(await workbook.xlsx.writeBuffer());
}

async function readAtOnce(bytes: Buffer): Promise<unknown[]> {
  const workbook = new exceljs.Workbook();
  await workbook.xlsx.read(Readable.from([bytes]));
  const rows: unknown[] = [];
  workbook.getWorksheet('Figures')?.eachRow(({ values }) => rows.push([values].flat()));
  return rows;
}

/** The end of a zip without a comment. */
const ZIP_END_BYTES = 22;

/**
 * exceljs loses the parts that it has not read when the zip ends: it stops there, although it may still be busy with the
 * temporary file of a sheet. So the end comes when it has the last part, the workbook's.
 */
async function readStreaming(bytes: Buffer): Promise<unknown[]> {
  const options = { worksheets: 'emit', sharedStrings: 'cache', styles: 'cache', hyperlinks: 'ignore' } as const;
  async function* held() {
    yield bytes.subarray(0, -ZIP_END_BYTES);
    await workbookPart;
    yield bytes.subarray(-ZIP_END_BYTES);
  }
  const reader = new exceljs.stream.xlsx.WorkbookReader(Readable.from(held()), { ...options, entries: 'emit' });
  if (!(reader instanceof EventEmitter)) throw new Error('the reader has no events');
  const workbookPart = (async () => {
    for await (const [{ type }] of on(reader, 'entry')) if (type === 'workbook') return;
  })();
  const rows: unknown[] = [];
  for await (const sheet of reader) for await (const { values } of sheet) rows.push([values].flat());
  return rows;
}

test.each([
  ['streaming', 'at once', streamed, readAtOnce],
  ['streaming', 'streaming', streamed, readStreaming],
  ['in memory', 'at once', inMemory, readAtOnce],
  ['in memory', 'streaming', inMemory, readStreaming],
])('a workbook written %s and read %s holds its rows', async (_, __, write, read) => {
  expect(await read(await write())).toEqual(ROWS);
});

test('the lock file contains neither `inflight` nor an old `glob`', async () => {
  const lock = z.object({ packages: z.record(z.string(), z.looseObject({ version: z.string().optional() })) });
  const { packages } = lock.parse(JSON.parse(await readFile('package-lock.json', 'utf8')));
  const versions = (name: string) =>
    Object.entries(packages).flatMap(([path, { version }]) => (path.endsWith(`node_modules/${name}`) ? [version] : []));
  expect(versions('inflight')).toEqual([]);
  expect(versions('glob').filter((version) => Number(version?.split('.')[0]) < 10)).toEqual([]);
});
