import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Zippable, zipSync } from 'fflate';
import { onTestFinished } from 'vitest';
import { type OpenedPackage, openPackage } from '../../../../src/features/workbook-template/package/open-package.ts';

const RELATIONSHIPS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const TYPES = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';

/** A relationship as XML. `type` is the end of its URI, or the whole URI. */
export const relationship = (id: string, type: string, target: string, external = false): string =>
  `<Relationship Id="${id}" Type="${type.includes('://') ? type : `${RELATIONSHIPS}/${type}`}" Target="${target}"${external ? ' TargetMode="External"' : ''}/>`;

export const relationships = (...each: readonly string[]): string =>
  `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${each.join('')}</Relationships>`;

/** The parts of a workbook by name: one sheet `Board` with the table `intake` (B4:C6) and the name `docket.org` (B2). */
export const minimalParts = (): Record<string, string> => ({
  '[Content_Types].xml': [
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">',
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>',
    '<Default Extension="xml" ContentType="application/xml"/>',
    '<Default Extension="bin" ContentType="application/vnd.ms-office.vbaProject"/>',
    `<Override PartName="/xl/workbook.xml" ContentType="${TYPES}.sheet.main+xml"/>`,
    `<Override PartName="/xl/worksheets/sheet1.xml" ContentType="${TYPES}.worksheet+xml"/>`,
    `<Override PartName="/xl/tables/table1.xml" ContentType="${TYPES}.table+xml"/></Types>`,
  ].join(''),
  '_rels/.rels': relationships(relationship('rId1', 'officeDocument', 'xl/workbook.xml')),
  'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${RELATIONSHIPS}"><sheets><sheet name="Board" sheetId="1" r:id="rId1"/></sheets><definedNames><definedName name="docket.org">board!$B$2</definedName></definedNames></workbook>`,
  'xl/_rels/workbook.xml.rels': relationships(relationship('rId1', 'worksheet', '/xl/worksheets/sheet1.xml')),
  'xl/worksheets/sheet1.xml': `<worksheet xmlns="${MAIN}"><sheetData><row r="2"><c r="B2"><f>1+1</f><v>2</v></c></row></sheetData></worksheet>`,
  'xl/worksheets/_rels/sheet1.xml.rels': relationships(relationship('rId1', 'table', '../tables/table1.xml')),
  'xl/tables/table1.xml': `<table xmlns="${MAIN}" id="1" name="intake" displayName="intake" ref="B4:C6"><tableColumns count="2"><tableColumn id="1" name="bucket"/><tableColumn id="2" name="created"/></tableColumns></table>`,
});

/** The minimal workbook with some parts replaced or, with `null`, removed. The order of the parts stays. */
export function zipped(changes: Readonly<Record<string, string | Uint8Array | null>> = {}): Uint8Array {
  const files: Zippable = {};
  for (const [name, content] of Object.entries({ ...minimalParts(), ...changes })) {
    if (content === null) continue;
    files[name] = [typeof content === 'string' ? Buffer.from(content) : content, { mtime: '2026-01-02T12:00:00' }];
  }
  return zipSync(files);
}

/** The path of a temporary file, which is removed when the test ends. */
export function temporaryFile(): string {
  const path = join(tmpdir(), `docket-test-${process.pid}-${Math.random().toString(36).slice(2)}.xlsx`);
  onTestFinished(() => rm(path, { force: true }));
  return path;
}

/** Opens the bytes of a workbook as `board.xlsx` for one use. */
export async function withPackage<T>(bytes: Uint8Array, use: (pack: OpenedPackage) => Promise<T>): Promise<T> {
  const path = temporaryFile();
  await writeFile(path, bytes);
  const pack = await openPackage(path, 'board.xlsx');
  try {
    return await use(pack);
  } finally {
    await pack.close();
  }
}

/** Opens the bytes of a workbook as `board.xlsx` until the test ends. */
export async function openBytes(bytes: Uint8Array): Promise<OpenedPackage> {
  const path = temporaryFile();
  await writeFile(path, bytes);
  const pack = await openPackage(path, 'board.xlsx');
  onTestFinished(() => pack.close());
  return pack;
}
