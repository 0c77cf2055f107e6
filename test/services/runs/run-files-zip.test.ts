import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { strFromU8, unzipSync } from 'fflate';
import { expect, it } from 'vitest';
import { primedStream, zipRunFiles } from '../../../src/services/runs/run-file-reader.ts';

const AT = Date.parse('2026-11-16T07:00:00Z');

/** A file that keeps its opened streams, so that the test can see whether they were closed. */
function fileOf(name: string, chunks: readonly (string | Error)[], bytes = 1) {
  const opened: Readable[] = [];
  async function* content() {
    for (const chunk of chunks) {
      if (chunk instanceof Error) throw chunk;
      yield Buffer.from(chunk);
    }
  }
  const open = async () => {
    const stream = Readable.from(content(), { objectMode: false });
    opened.push(stream);
    return stream;
  };
  return { name, type: name.endsWith('.csv') ? 'text/csv; charset=utf-8' : 'application/pdf', bytes, open, opened };
}

it('a zip has each file complete under its name, compresses texts, and is the same each time', async () => {
  const files = () => [
    fileOf('a.csv', ['a,b\r\n'.repeat(5_000), '1,2\r\n']),
    fileOf('Ü.pdf', ['%PDF', '-1.7']),
    fileOf('empty.csv', []),
  ];
  const zip = await buffer(zipRunFiles(files(), AT));
  const unpacked = Object.entries(unzipSync(zip)).map(([name, bytes]) => [name, strFromU8(bytes)]);
  expect(Object.fromEntries(unpacked)).toEqual({
    'a.csv': `${'a,b\r\n'.repeat(5_000)}1,2\r\n`,
    'Ü.pdf': '%PDF-1.7',
    'empty.csv': '',
  });
  expect(zip.byteLength).toBeLessThan(2_000);
  expect(zip.equals(await buffer(zipRunFiles(files(), AT)))).toBe(true);
});

it('a zip opens one file at a time, and closes it when the reader stops', async () => {
  const files = [fileOf('a.csv', ['a', 'b']), fileOf('b.csv', ['c'])];
  const stream = await primedStream(zipRunFiles(files, AT));
  expect(files.map(({ opened }) => opened.length)).toEqual([1, 0]);
  stream.destroy();
  await expect.poll(() => files[0]?.opened[0]?.destroyed).toBe(true);
  expect(files[1]?.opened).toEqual([]);
});

it('a zip fails before its first byte if the first file fails, and before its end if a later one does', async () => {
  const bad = fileOf('bad.csv', ['x', new Error('changed')]);
  const missing = { ...bad, open: () => Promise.reject(new Error('missing')) };
  await expect(primedStream(zipRunFiles([missing], AT))).rejects.toThrow('missing');
  const stream = await primedStream(zipRunFiles([fileOf('a.csv', ['a']), bad], AT));
  await expect(buffer(stream)).rejects.toThrow('changed');
});

it('a zip that would be too large is refused before its first byte', async () => {
  const files = [fileOf('a.csv', ['a'], 3_000_000_000), fileOf('b.csv', ['b'], 2_000_000_000)];
  await expect(primedStream(zipRunFiles(files, AT))).rejects.toMatchObject({ code: 'usage.invalid' });
  expect(files.flatMap(({ opened }) => opened)).toEqual([]);
});
