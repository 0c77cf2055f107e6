import { readFile } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import exceljs from 'exceljs';
import { unzipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { EXCELJS_VERSION, SHEET_SLOTS } from '../../../../src/render/formats/xlsx/package/exceljs-patches.ts';

/*
 * The internals of exceljs that exceljs-patches.ts depends on, one test each, on exceljs alone. A failure means that exceljs
 * has changed: check the patch of the same name.
 */

const { WorkbookWriter } = exceljs.stream.xlsx;
const FONT = { name: 'Calibri', size: 11, bold: true, color: { argb: 'FF000000' } };

/** A streaming writer, its zip and what it writes. */
function openWriter() {
  const stream = new PassThrough();
  const bytes = buffer(stream);
  const writer = new WorkbookWriter({ stream, useStyles: true, zip: { zlib: { level: 5 } } });
  const internal = (name: string) => Reflect.get(writer, name);
  const close = async () => {
    await writer.commit();
    const files = unzipSync(await bytes);
    return (name: string) => Buffer.from(files[name] ?? []).toString('utf8');
  };
  return { writer, internal, close };
}

const sheetInternal = (sheet: object, name: string) => Reflect.get(sheet, name);

describe('exceljs', () => {
  it('is the pinned version', async () => {
    const installed = JSON.parse(await readFile('node_modules/exceljs/package.json', 'utf8'));
    const { dependencies } = JSON.parse(await readFile('package.json', 'utf8'));
    expect([installed.version, dependencies.exceljs]).toEqual([EXCELJS_VERSION, EXCELJS_VERSION]);
  });

  it('appends every part by zip.append(source, { name }), which takes a date', async () => {
    const { writer, internal, close } = openWriter();
    const zip = internal('zip');
    const append = zip.append.bind(zip);
    const names: string[] = [];
    zip.append = (source: unknown, data: { name: string }) => {
      names.push(data.name);
      return append(source, { ...data, date: new Date('2026-11-16T07:00:00Z') });
    };
    writer.addWorksheet('One').commit();
    const part = await close();
    expect(names.sort()).toEqual([
      '/xl/_rels/workbook.xml.rels',
      '/xl/workbook.xml',
      '/xl/worksheets/sheet1.xml',
      '[Content_Types].xml',
      'docProps/app.xml',
      'docProps/core.xml',
      'xl/styles.xml',
    ]);
    expect(part('[Content_Types].xml')).toMatch(/<\/Types>$/);
  });

  it('writes theme and package relationships in its constructor, by addThemes and addOfficeRels', async () => {
    const { close } = openWriter();
    expect(Object.getOwnPropertyNames(WorkbookWriter.prototype)).toEqual(
      expect.arrayContaining(['addThemes', 'addOfficeRels']),
    );
    const part = await close();
    expect([part('xl/theme/theme1.xml'), part('_rels/.rels')]).toEqual([
      expect.stringContaining('<a:theme'),
      expect.stringContaining('<Relationships'),
    ]);
  });

  it('opens each stream by _openStream(name), never reports back-pressure, and writes reused buffers', () => {
    const { internal } = openWriter();
    const stream = internal('_openStream').call({ zip: { append: () => {} } }, 'xl/worksheets/sheet9.xml');
    // Writers compare the result with false, which a promise never equals.
    expect(stream.write(Buffer.alloc(8 * 1024 * 1024))).toBeInstanceOf(Promise);
    const { writer } = openWriter();
    const chunks: unknown[] = [];
    const target = new PassThrough();
    Object.assign(target, { write: (chunk: unknown) => chunks.push(chunk) });
    Reflect.set(writer, '_openStream', () => target);
    writer.addWorksheet('One');
    expect(chunks.some((chunk) => typeof Reflect.get(Object(chunk), 'toBuffer') === 'function')).toBe(true);
  });

  it('writes the elements of a font in an invalid order, and an empty list of differential styles', async () => {
    const { writer, internal, close } = openWriter();
    internal('styles').addStyleModel({ font: FONT });
    writer.addWorksheet('One').commit();
    const styles = (await close())('xl/styles.xml');
    const font = /<font><b\/>.*?<\/font>/.exec(styles)?.[0] ?? '';
    expect(font.indexOf('<color')).toBeLessThan(font.indexOf('<sz'));
    expect(styles).toMatch(/<dxfs count="0"\s*\/>/);
  });

  it('returns the index of a style by styles.addStyleModel, the same for the same object', () => {
    const { internal } = openWriter();
    const style = { font: FONT };
    const index = internal('styles').addStyleModel(style);
    expect(index).toBeGreaterThan(0);
    expect(internal('styles').addStyleModel(style)).toBe(index);
  });

  it('writes sharedStrings.values in order when it is closed', async () => {
    const { writer, internal, close } = openWriter();
    internal('sharedStrings').values.push('first', 'second');
    writer.addWorksheet('One').commit();
    const strings = (await close())('xl/sharedStrings.xml');
    expect(strings.indexOf('>first<')).toBeGreaterThan(0);
    expect(strings.indexOf('>first<')).toBeLessThan(strings.indexOf('>second<'));
  });

  it('orders the sheets of a workbook by _worksheets, whose index 0 is unused', async () => {
    const { writer, internal, close } = openWriter();
    const [one, two] = [writer.addWorksheet('One'), writer.addWorksheet('Two')];
    one.commit();
    two.commit();
    const sheets = internal('_worksheets');
    expect([sheets.length, sheets[0], sheets.indexOf(one), sheets.indexOf(two)]).toEqual([3, undefined, 1, 2]);
    sheets.splice(1, 2, two, one);
    const workbook = (await close())('xl/workbook.xml');
    expect([...workbook.matchAll(/<sheet [^>]*name="(\w+)"/g)].map(([, name]) => name)).toEqual(['Two', 'One']);
  });

  it('relates a sheet to a part by _sheetRelsWriter.addRelationship', async () => {
    const { writer, close } = openWriter();
    const sheet = writer.addWorksheet('One');
    const add = sheetInternal(sheet, '_sheetRelsWriter');
    expect(add.addRelationship({ Type: 'type', Target: '../tables/table1.xml' })).toBe('rId1');
    sheet.commit();
    expect((await close())('xl/worksheets/_rels/sheet1.xml.rels')).toContain(
      '<Relationship Id="rId1" Type="type" Target="../tables/table1.xml"/>',
    );
  });

  it('starts the rows by _writeColumns and _writeOpenSheetData, and not again once startedData is set', async () => {
    const { writer, close } = openWriter();
    const sheet = writer.addWorksheet('One');
    sheet.columns = [{ width: 12 }];
    sheetInternal(sheet, '_writeColumns').call(sheet);
    sheetInternal(sheet, '_writeOpenSheetData').call(sheet);
    Reflect.set(sheet, 'startedData', true);
    sheetInternal(sheet, 'stream').write('<row r="1"/>');
    sheet.commit();
    expect((await close())('xl/worksheets/sheet1.xml')).toMatch(
      /<cols><col .*?<\/cols><sheetData><row r="1"\/><\/sheetData>/,
    );
  });

  it('calls the method of each slot when a sheet is closed, in the order that the format requires', async () => {
    const { writer } = openWriter();
    const sheet = writer.addWorksheet('One');
    const called: string[] = [];
    for (const name of Object.values(SHEET_SLOTS)) {
      const original = sheetInternal(sheet, name);
      Reflect.set(sheet, name, () => {
        called.push(name);
        original.call(sheet);
      });
    }
    sheet.commit();
    expect(called).toEqual(Object.values(SHEET_SLOTS));
  });
});
