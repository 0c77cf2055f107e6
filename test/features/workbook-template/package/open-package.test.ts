import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { zipSync } from 'fflate';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openPackage } from '../../../../src/features/workbook-template/package/open-package.ts';
import { readWorkbook } from '../../../../src/features/workbook-template/workbook/read-workbook.ts';
import {
  minimalParts,
  openBytes,
  relationship,
  relationships,
  temporaryFile,
  zipped,
} from '../support/template-package.ts';

const INVALID = expect.objectContaining({ code: 'template.invalid' });

/** The bytes with every `from` replaced by `to`. */
function replaced(bytes: Uint8Array, from: Buffer, to: Buffer): Uint8Array {
  const changed = Buffer.from(bytes);
  for (let at = changed.indexOf(from); at >= 0; at = changed.indexOf(from, at + to.length)) to.copy(changed, at);
  return changed;
}

/** The bytes after a change of every header in the central directory. */
function patched(bytes: Uint8Array, patch: (header: Buffer, index: number) => void): Uint8Array {
  const changed = Buffer.from(bytes);
  const signature = Buffer.from('PK\u0001\u0002');
  let index = 0;
  for (let at = changed.indexOf(signature); at >= 0; at = changed.indexOf(signature, at + 4)) {
    patch(changed.subarray(at), index);
    index += 1;
  }
  return changed;
}

describe('a package', () => {
  test('has parts, types and relationships, in any case of their names', async () => {
    const pack = await openBytes(
      zipped({
        'xl/_rels/workbook.xml.rels': relationships(
          relationship('rId1', 'worksheet', '/XL/worksheets/Sheet1.xml'),
          relationship('rId2', 'hyperlink', 'https://example.com/?a=b', true),
          relationship('rId3', 'theme', '../../../etc/passwd'),
          relationship('rId4', 'image', 'media/a%20b.png#x'),
        ),
        'xl/media/a b.png': 'png',
        'xl/worksheets/': '',
      }),
    );
    expect(pack.parts).toContain('xl/worksheets/sheet1.xml');
    expect(pack.parts).not.toContain('xl/worksheets/');
    expect(pack.has('/xl/Workbook.XML')).toBe(true);
    expect(pack.contentType('xl/workbook.xml')).toMatch(/sheet\.main\+xml$/);
    expect(pack.contentType('xl/any.bin')).toBe('application/vnd.ms-office.vbaProject');
    expect(pack.contentType('xl/any.png')).toBeUndefined();
    expect((await pack.relationships('xl/workbook.xml')).map(({ target, external }) => [target, external])).toEqual([
      ['xl/worksheets/sheet1.xml', false],
      ['https://example.com/?a=b', true],
      ['etc/passwd', false],
      ['xl/media/a b.png', false],
    ]);
    expect(await pack.relationships('xl/styles.xml')).toEqual([]);
    await expect(pack.readText('xl/styles.xml')).rejects.toEqual(INVALID);
    await pack.close();
    await pack.close();
    await expect(pack.readText('xl/workbook.xml')).rejects.toEqual(INVALID);
  });

  test('gives texts without a byte order mark, and only in UTF-8', async () => {
    const pack = await openBytes(
      zipped({
        'xl/a.xml': '\ufeff<a/>',
        'xl/b.xml': Buffer.from('\ufeff<a/>', 'utf16le'),
        'xl/c.xml': Buffer.of(0xff),
      }),
    );
    expect(await pack.readText('xl/a.xml')).toBe('<a/>');
    await expect(pack.readText('xl/b.xml')).rejects.toEqual(INVALID);
    await expect(pack.readText('xl/c.xml')).rejects.toEqual(INVALID);
  });

  test('gives shared strings of 5 MB as a stream', async () => {
    const strings = `<sst>${'<si><t>Onboarding</t></si>'.repeat(200_000)}</sst>`;
    const pack = await openBytes(zipped({ 'xl/sharedStrings.xml': strings }));
    expect((await readWorkbook(pack)).tables).toHaveLength(1);
    expect(await buffer(await pack.openPart('xl/sharedStrings.xml'))).toHaveLength(strings.length);
  });
});

describe('a file that is not a package', () => {
  const minimal = zipped();
  const many = Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`${index}`, new Uint8Array()]));
  const signature = Buffer.from('d0cf11e0a1b11ae1', 'hex');
  test.each<[string, Uint8Array]>([
    ['an empty file', new Uint8Array()],
    ['a text', Buffer.from('bucket,created\n')],
    ['a PNG', Buffer.from('89504e470d0a1a0a', 'hex')],
    ['a workbook with a password', Buffer.concat([signature, Buffer.alloc(4_096)])],
    ['an empty zip', zipSync({})],
    ['a zip of something else', zipSync({ mimetype: Buffer.from('application/vnd.oasis.opendocument.spreadsheet') })],
    ['half a workbook', minimal.subarray(0, minimal.length / 2)],
    ['a workbook without its start', minimal.subarray(100)],
    ['more than 10,000 parts', zipSync({ ...many })],
    ['a zip bomb', zipped({ 'xl/a.bin': new Uint8Array(8 * 1024 * 1024) })],
    ['sizes of 5 GB', patched(minimal, (header) => header.writeUInt32LE(0xf0000000, 24))],
    ['an encrypted part', patched(minimal, (header) => header.writeUInt16LE(1, 8))],
    ['a strongly encrypted part', patched(minimal, (header) => header.writeUInt16LE(0x41, 8))],
    ['an unknown compression', patched(minimal, (header) => header.writeUInt16LE(93, 10))],
    ['parts that overlap', patched(minimal, (header) => header.writeUInt32LE(0, 42))],
    [
      'a part after the end of the file',
      patched(minimal, (header, at) => at === 6 && header.writeUInt32LE(minimal.length - 8, 42)),
    ],
    ['content types that are not XML', zipped({ '[Content_Types].xml': 'PK' })],
    ['content types with a DOCTYPE', zipped({ '[Content_Types].xml': '<!DOCTYPE a><Types/>' })],
    ...['../a.xml', 'xl/../../a', '/a.xml', 'C:/a.xml', 'xl\\a.xml', './a.xml', 'xl/a\u0085.xml', 'xl/./a'].map(
      (name): [string, Uint8Array] => [`the name ${JSON.stringify(name)}`, zipped({ [name]: 'x' })],
    ),
    ['a repeated part in another case', zipped({ 'xl/WORKBOOK.xml': 'x' })],
    [
      'a repeated part',
      replaced(zipped({ 'xl/workboo2.xml': 'x' }), Buffer.from('xl/workboo2.xml'), Buffer.from('xl/workbook.xml')),
    ],
  ])('is rejected: %s', async (_, bytes) => {
    const path = temporaryFile();
    await writeFile(path, bytes);
    await expect(openPackage(path, 'board.xlsx')).rejects.toMatchObject({
      code: 'template.invalid',
      where: 'board.xlsx',
      retryable: false,
    });
  });

  test('is rejected: more than 64 MB, a folder, and a missing file', async () => {
    const large = temporaryFile();
    await writeFile(large, minimal);
    await truncate(large, 64 * 1024 * 1024 + 1);
    const folder = await mkdtemp(join(tmpdir(), 'docket-test-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    for (const path of [large, folder, join(folder, 'none.xlsx')]) {
      await expect(openPackage(path, 'board.xlsx')).rejects.toEqual(INVALID);
    }
  });
});

describe('a damaged part', () => {
  test.each<[string, (header: Buffer) => void]>([
    ['a wrong checksum', (header) => header.writeUInt32LE(1, 16)],
    ['a size that is too small', (header) => header.writeUInt32LE(header.readUInt32LE(24) - 1, 24)],
    ['a size that is too large', (header) => header.writeUInt32LE(header.readUInt32LE(24) + 1, 24)],
    ['compressed bytes that end early', (header) => header.writeUInt32LE(header.readUInt32LE(20) - 2, 20)],
  ])('is rejected alone, with %s', async (_, patch) => {
    // Change the header of the last entry only.
    const bytes = patched(
      zipped(),
      (header, index) => index === Object.keys(minimalParts()).length - 1 && patch(header),
    );
    const pack = await openBytes(bytes);
    await expect(pack.readText('xl/tables/table1.xml')).rejects.toMatchObject({ code: 'template.invalid' });
    expect(await pack.readText('xl/workbook.xml')).toBe(minimalParts()['xl/workbook.xml']);
  });
});
