import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { strToU8, zipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { outlineOfDefinition } from '../../../src/features/workbook-template/binding/outline.ts';
import { describeWorkbookTemplate } from '../../../src/features/workbook-template/describe-template.ts';
import { CATALOG, definitionOf } from '../../support/reports.ts';

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const CONTENT = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

const relationships = (...all: readonly (readonly [kind: string, target: string])[]): string =>
  `<Relationships xmlns="${PACKAGE}/relationships">${all
    .map(([kind, target], index) => `<Relationship Id="r${index}" Type="${OFFICE}/${kind}" Target="${target}"/>`)
    .join('')}</Relationships>`;

/** A sheet `Front` with merged cells B2:C2 and D5:E5, and a sheet `Board` with a table in B4:C6. */
function workbook(
  headers: readonly [string, string],
  names: Readonly<Record<string, string>>,
  { formula = false } = {},
): Uint8Array {
  const parts = {
    '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="${CONTENT}.worksheet+xml"/><Override PartName="/xl/workbook.xml" ContentType="${CONTENT}.sheet.main+xml"/><Override PartName="/xl/tables/table1.xml" ContentType="${CONTENT}.table+xml"/></Types>`,
    '_rels/.rels': relationships(['officeDocument', 'xl/workbook.xml']),
    'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="Front" sheetId="1" r:id="r0"/><sheet name="Board" sheetId="2" r:id="r1"/></sheets><definedNames>${Object.entries(
      names,
    )
      .map(([name, formula]) => `<definedName name="${name}">${formula}</definedName>`)
      .join('')}</definedNames></workbook>`,
    'xl/_rels/workbook.xml.rels': relationships(
      ['worksheet', 'worksheets/sheet1.xml'],
      ['worksheet', 'worksheets/sheet2.xml'],
    ),
    'xl/worksheets/sheet1.xml': `<worksheet xmlns="${MAIN}"><sheetData/><mergeCells count="2"><mergeCell ref="B2:C2"/><mergeCell ref="D5:E5"/></mergeCells></worksheet>`,
    'xl/worksheets/sheet2.xml': `<worksheet xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheetData>${formula ? '<row r="6"><c r="C6"><f>1+1</f></c></row>' : ''}</sheetData><tableParts count="1"><tablePart r:id="r0"/></tableParts></worksheet>`,
    'xl/worksheets/_rels/sheet2.xml.rels': relationships(['table', '../tables/table1.xml']),
    'xl/tables/table1.xml': `<table xmlns="${MAIN}" id="1" name="kpis" displayName="kpis" ref="B4:C6"><tableColumns count="2">${headers
      .map((header, index) => `<tableColumn id="${index + 1}" name="${header}"/>`)
      .join('')}</tableColumns></table>`,
  };
  return zipSync(Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)])));
}

const OUTLINE = outlineOfDefinition(
  definitionOf([{ id: 'kpis', metrics: ['profiles.created'], dimensions: ['profile.type'], totals: true }], {
    on_incomplete: 'fail',
  }),
  CATALOG,
);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-template-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function write(content: Uint8Array | string): Promise<string> {
  const path = join(folder, 'board.xlsx');
  await writeFile(path, content);
  return path;
}

describe('the description of a template', () => {
  it('shows what tables, columns and names are bound to', async () => {
    const path = await write(
      workbook(['profile.type', 'Profiles.Created'], {
        'docket.org': 'Front!$B$2:$C$2',
        'docket.kpis.profiles.created': 'Front!$A$1',
        Other: 'Front!$A$9:$B$10',
      }),
    );
    expect(await describeWorkbookTemplate(path, OUTLINE)).toEqual({
      tables: [
        {
          name: 'kpis',
          sheet: 'Board',
          range: 'B4:C6',
          section: 'kpis',
          columns: [
            { header: 'profile.type', bound: 'kpis.profile.type' },
            { header: 'Profiles.Created', bound: 'kpis.profiles.created' },
          ],
        },
      ],
      names: [
        { name: 'docket.org', cell: 'Front!B2:C2', bound: 'org' },
        { name: 'docket.kpis.profiles.created', cell: 'Front!A1', bound: 'kpis.profiles.created' },
      ],
      problems: [],
    });
  });

  it('lists problems cell by cell, errors first', async () => {
    const path = await write(
      workbook(['profile.type', 'Own'], {
        'docket.org': 'Front!$C$2',
        'docket.title': 'Front!$A$3:$A$4',
        'docket.report': 'Front!$D$5:$E$6',
        'docket.nothing': 'Front!$A$7',
      }),
    );
    const problems = (await describeWorkbookTemplate(path, OUTLINE)).problems;
    expect(problems.map(({ severity, code, at }) => [severity, code, at && `${at.sheet}!${at.cell}`])).toEqual([
      ['error', 'workbook.unknown', 'Front!A7'],
      ['error', 'workbook.unknown', 'Front!C2'],
      ['error', 'workbook.unknown', 'Front!A3:A4'],
      ['error', 'workbook.unknown', 'Front!D5:E6'],
      ['warning', 'workbook.unknown', 'Board!C4'],
      ['warning', 'workbook.unused', undefined],
    ]);
  });

  it('warns of custom columns without formulas, if the labels of metrics are known', async () => {
    const warned = async (outline: typeof OUTLINE) =>
      (await describeWorkbookTemplate(path, outline)).problems.flatMap(({ at }) => at?.cell ?? []);
    let path = await write(workbook(['profile.type', 'Own'], {}));
    expect([await warned(OUTLINE), await warned({ ...OUTLINE, labelsKnown: false })]).toEqual([['C4'], []]);
    path = await write(workbook(['profile.type', 'Own'], {}, { formula: true }));
    expect(await warned(OUTLINE)).toEqual([]);
  });

  it('reports a file that is missing or not a workbook as a problem', async () => {
    const path = await write('no workbook');
    const invalid = [expect.objectContaining({ severity: 'error', code: 'workbook.invalid' })];
    expect((await describeWorkbookTemplate(path, OUTLINE)).problems).toEqual(invalid);
    expect((await describeWorkbookTemplate(join(folder, 'missing.xlsx'), OUTLINE)).problems).toEqual(invalid);
  });
});
