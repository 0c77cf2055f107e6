import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { unzipSync } from 'fflate';
import { describe, expect, test } from 'vitest';
import { changeWorkbookKind } from '../../../../src/features/workbook-template/fill/fill-template.ts';
import { type OpenedPackage, openPackage } from '../../../../src/features/workbook-template/package/open-package.ts';
import type {
  PackageChanges,
  PartChange,
} from '../../../../src/features/workbook-template/package/template-package.ts';
import { writePackage } from '../../../../src/features/workbook-template/package/write-package.ts';
import {
  minimalParts,
  openBytes,
  relationship,
  relationships,
  temporaryFile,
  zipped,
} from '../support/template-package.ts';

const NEVER = new AbortController().signal;

async function written(pack: OpenedPackage, changes: PackageChanges): Promise<Uint8Array> {
  const path = temporaryFile();
  await writePackage(path, pack, changes, NEVER);
  return readFile(path);
}

const compressed = (pack: OpenedPackage): Promise<readonly Buffer[]> =>
  Promise.all(pack.entries.map(async (entry) => buffer(await pack.openCompressed(entry))));

const textsOf = (bytes: Uint8Array): Record<string, string> =>
  Object.fromEntries(
    Object.entries(unzipSync(bytes)).map(([name, content]) => [name, Buffer.from(content).toString()]),
  );

const VBA = 'http://schemas.microsoft.com/office/2006/relationships/vbaProject';
const withMacros = (): Record<string, string> => ({
  ...minimalParts(),
  '[Content_Types].xml': minimalParts()
    ['[Content_Types].xml']!.replace(
      'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml',
      'application/vnd.ms-excel.template.macroEnabled.main+xml',
    )
    .replace(
      '</Types>',
      '<Override PartName="/xl/vbaProjectSignature.bin" ContentType="application/vnd.ms-office.vbaProjectSignature"/></Types>',
    ),
  'xl/_rels/workbook.xml.rels': relationships(
    relationship('rId1', 'worksheet', 'worksheets/sheet1.xml'),
    relationship('rId2', VBA, 'vbaProject.bin'),
  ),
  'xl/vbaProject.bin': 'macros',
  'xl/_rels/vbaProject.bin.rels': relationships(relationship('rId1', `${VBA}Signature`, 'vbaProjectSignature.bin')),
  'xl/vbaProjectSignature.bin': 'signature',
});

describe('a written package', () => {
  test('keeps the entries of the template with their order, times and compressed bytes', async () => {
    const pack = await openBytes(zipped({ 'xl/media/': '', 'xl/media/größe.png': 'png' }));
    const path = temporaryFile();
    await writePackage(path, pack, new Map(), NEVER);
    const copy = await openPackage(path, 'copy.xlsx');
    const facts = ({ entries }: OpenedPackage) =>
      entries.map((entry) => [
        entry.fileName,
        entry.lastModFileDate,
        entry.lastModFileTime,
        entry.externalFileAttributes,
        entry.versionMadeBy,
        entry.compressionMethod,
        entry.crc32,
        entry.uncompressedSize,
      ]);
    expect(facts(copy)).toEqual(facts(pack));
    expect(await compressed(copy)).toEqual(await compressed(pack));
    await copy.close();
  });

  test('has changed and new parts, and the same bytes every time', async () => {
    const pack = await openBytes(zipped());
    const long = 'ä😀'.repeat(40_000);
    const changes: PackageChanges = new Map<string, PartChange>([
      ['xl/new.xml', '<new/>'],
      ['xl/workbook.xml', '<workbook/>'],
      [
        'xl/worksheets/sheet1.xml',
        async function* () {
          yield '<a>';
          yield Buffer.from('bytes');
          yield long;
          yield '</a>';
        },
      ],
    ]);
    const bytes = await written(pack, changes);
    const texts = textsOf(bytes);
    expect(Object.keys(texts)).toEqual([...Object.keys(minimalParts()), 'xl/new.xml']);
    expect(texts).toEqual({
      ...minimalParts(),
      'xl/new.xml': '<new/>',
      'xl/workbook.xml': '<workbook/>',
      'xl/worksheets/sheet1.xml': `<a>bytes${long}</a>`,
    });
    expect(Buffer.from(await written(pack, changes)).equals(bytes)).toBe(true);
    // Opening it again checks sizes and checksums, also those after the data.
    const copy = await openBytes(bytes);
    expect(await copy.readText('xl/worksheets/sheet1.xml')).toBe(`<a>bytes${long}</a>`);
  });

  test('keeps no trace of removed parts', async () => {
    const pack = await openBytes(
      zipped({
        'xl/tables/_rels/table1.xml.rels': relationships(relationship('rId1', 'queryTable', '../queryTable1.xml')),
        'xl/worksheets/_rels/sheet1.xml.rels': relationships(
          relationship('rId1', 'table', '../tables/table1.xml'),
          relationship('rId2', 'hyperlink', 'https://example.com', true),
        ),
      }),
    );
    const texts = textsOf(await written(pack, new Map([['xl/tables/table1.xml', null]])));
    expect(texts['xl/tables/table1.xml']).toBeUndefined();
    expect(texts['xl/tables/_rels/table1.xml.rels']).toBeUndefined();
    expect(texts['[Content_Types].xml']).not.toContain('table1.xml');
    expect(texts['[Content_Types].xml']).toContain('/xl/worksheets/sheet1.xml');
    expect(texts['xl/worksheets/_rels/sheet1.xml.rels']).toBe(
      relationships(relationship('rId2', 'hyperlink', 'https://example.com', true)),
    );
    expect(texts['_rels/.rels']).toBe(minimalParts()['_rels/.rels']);
  });

  test('fails with the error of a change, or when the signal aborts', async () => {
    const pack = await openBytes(zipped());
    const failing: PackageChanges = new Map<string, PartChange>([
      [
        'xl/workbook.xml',
        async function* () {
          yield '<a>';
          throw new RangeError('no figures');
        },
      ],
    ]);
    await expect(writePackage(temporaryFile(), pack, failing, NEVER)).rejects.toBeInstanceOf(RangeError);
    const aborted = AbortSignal.abort(new Error('cancelled'));
    await expect(writePackage(temporaryFile(), pack, new Map(), aborted)).rejects.toThrow('cancelled');
  });
});

describe('the content type of a workbook', () => {
  test('stays if it is a workbook without macros', async () => {
    const pack = await openBytes(zipped());
    expect(await changeWorkbookKind(pack, 'keep')).toEqual(new Map());
    expect(await changeWorkbookKind(pack, 'remove')).toEqual(new Map());
  });

  test('allows macros if the template has macros and they are kept', async () => {
    const pack = await openBytes(zipped(withMacros()));
    const texts = textsOf(await written(pack, await changeWorkbookKind(pack, 'keep')));
    expect(texts['xl/vbaProject.bin']).toBe('macros');
    expect(texts['xl/vbaProjectSignature.bin']).toBe('signature');
    expect(texts['[Content_Types].xml']).toContain('"application/vnd.ms-excel.sheet.macroEnabled.main+xml"');
    expect(texts['[Content_Types].xml']).not.toContain('.template.');
  });

  test('allows no macros if the macros of the template are removed', async () => {
    const pack = await openBytes(zipped(withMacros()));
    const texts = textsOf(await written(pack, await changeWorkbookKind(pack, 'remove')));
    expect(Object.keys(texts).filter((name) => name.includes('vba'))).toEqual([]);
    expect(texts['xl/_rels/workbook.xml.rels']).toBe(
      relationships(relationship('rId1', 'worksheet', 'worksheets/sheet1.xml')),
    );
    expect(texts['[Content_Types].xml']).toContain('spreadsheetml.sheet.main+xml');
    expect(texts['[Content_Types].xml']).not.toMatch(/macroEnabled|Signature/);
  });
});
