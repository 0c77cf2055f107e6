import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { refuseProblems } from '../../../src/features/workbook-template/fill/template-error.ts';
import { decryptWorkbook } from '../../support/agile-encryption.ts';
import { readParts } from '../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../support/render-folder.ts';
import { figuresOf } from './support/figures.ts';

const { folder, render } = useRenderFolder();
const orgFolder = fileURLToPath(new URL('../../recorded/workbooks/templates', import.meta.url));
const FIGURES = figuresOf({ onboarding: 10, groups: 2 });
const withTemplate = (template: string, more: object = {}) => [{ format: 'xlsx', template, ...more }] as const;

describe('an output with a template', () => {
  it('is the filled template, with the same bytes every time, and records what was filled', async () => {
    const outputs = withTemplate('side-by-side.xlsx');
    const one = artifactNamed(await render(FIGURES, outputs, { orgFolder }), '.xlsx');
    const other = artifactNamed(await render(FIGURES, outputs, { orgFolder }), '.xlsx');
    expect(other.sha256).toBe(one.sha256);
    expect(one.workbook).toMatchObject({ template: 'side-by-side.xlsx', names: [] });
    expect(one.workbook?.sha256).toMatch(/^[0-9a-f]{64}$/);
    const [, groups] = one.workbook?.tables ?? [];
    expect(groups).toMatchObject({ name: 'groups', sheet: 'Board', range: 'H4:J14', section: 'groups', rows: 2 });
    expect(groups?.columns.map(({ bound }) => bound)).toEqual([
      'groups.profile.group',
      'groups.profiles.created',
      'groups.risk.exposure',
    ]);
  });

  it('is encrypted with a password, and leaves no readable file', async () => {
    const outputs = withTemplate('line-chart.xlsx');
    const open = artifactNamed(await render(FIGURES, outputs, { orgFolder }), '.xlsx');
    const into = await folder();
    const secrets = { xlsx: { password: 'Bücher & 日本' } };
    const locked = artifactNamed(await render(FIGURES, outputs, { orgFolder, folder: into, secrets }), '.xlsx');
    expect(decryptWorkbook(readFileSync(locked.path), 'Bücher & 日本')).toEqual(readFileSync(open.path));
    expect(locked.workbook).toEqual(open.workbook);
    expect(await readdir(into)).toEqual([locked.name]);
  });

  it('keeps macros or removes them', async () => {
    const kept = artifactNamed(await render(FIGURES, withTemplate('macros.xlsm'), { orgFolder }), '.xlsm');
    expect(kept.mediaType).toBe('application/vnd.ms-excel.sheet.macroEnabled.12');
    expect([...readParts(kept.path).keys()]).toContain('xl/vbaProject.bin');
    const outputs = withTemplate('macros.xlsm', { macros: 'remove' });
    const removed = artifactNamed(await render(FIGURES, outputs, { orgFolder }), '.xlsx');
    expect([...readParts(removed.path).keys()]).not.toContain('xl/vbaProject.bin');
    expect(readParts(removed.path).get('[Content_Types].xml')).not.toMatch(/macroEnabled/);
  });

  it('has rows in a table that Excel marked as empty', async () => {
    const organization = await folder();
    const parts = unzipSync(readFileSync(join(orgFolder, 'side-by-side.xlsx')));
    const table = 'xl/tables/table1.xml';
    const marked = strFromU8(parts[table] ?? new Uint8Array()).replace('<table ', '<table insertRow="1" ');
    await writeFile(join(organization, 'board.xlsx'), zipSync({ ...parts, [table]: strToU8(marked) }));
    for (const [onboarding, mark] of [
      [0, true],
      [1, false],
      [10, false],
    ] as const) {
      const figures = figuresOf({ onboarding, groups: 0 });
      const files = await render(figures, withTemplate('board.xlsx'), { orgFolder: organization });
      const filled = readParts(artifactNamed(files, '.xlsx').path).get(table);
      expect(filled?.includes(' insertRow="1"')).toBe(mark);
    }
  });

  it('fails for a template outside the folder or that is not a workbook, and leaves no file', async () => {
    const [into, organization] = [await folder(), await folder()];
    await writeFile(join(organization, 'board.xlsx'), 'no workbook');
    for (const [template, from] of [
      ['gone.xlsx', orgFolder],
      ['../index.json', orgFolder],
      ['board.xlsx', organization],
    ] as const) {
      const options = { orgFolder: from, folder: into };
      await expect(render(FIGURES, withTemplate(template), options)).rejects.toMatchObject({
        code: 'template.invalid',
        retryable: false,
        where: join(from, template),
      });
    }
    expect(await readdir(into)).toEqual([]);
  });

  it('records that the template has changed since the report was loaded, and can be retried if it is unreadable', async () => {
    const definition = { sections: [], files: { 'line-chart.xlsx': 'f'.repeat(64) } };
    const other = await render(FIGURES, withTemplate('line-chart.xlsx'), { orgFolder, definition });
    expect(artifactNamed(other, '.xlsx').workbook).toMatchObject({ defined_sha256: 'f'.repeat(64) });
    const { sha256 = '' } = artifactNamed(other, '.xlsx').workbook ?? {};
    const files = { 'line-chart.xlsx': sha256 };
    const same = await render(FIGURES, withTemplate('line-chart.xlsx'), {
      orgFolder,
      definition: { sections: [], files },
    });
    expect(artifactNamed(same, '.xlsx').workbook).not.toHaveProperty('defined_sha256');

    const organization = await folder();
    const half = readFileSync(join(orgFolder, 'line-chart.xlsx')).subarray(0, 3000);
    const failing = () =>
      render(FIGURES, withTemplate('line-chart.xlsx'), {
        orgFolder: organization,
        definition: { sections: [], files },
      });
    await expect(failing()).rejects.toMatchObject({ code: 'template.invalid', retryable: true });
    await writeFile(join(organization, 'line-chart.xlsx'), half);
    await expect(failing()).rejects.toMatchObject({ code: 'template.invalid', retryable: true });
    files['line-chart.xlsx'] = createHash('sha256').update(half).digest('hex');
    await expect(failing()).rejects.toMatchObject({ code: 'template.invalid', retryable: false });
  });

  it('fails with the place of the first error and the number of further errors', () => {
    const problem = {
      code: 'workbook.obstacle',
      expected: 'rows of its own',
      got: 'B4:C9',
      next: 'unmerge it',
    } as const;
    const warning = { ...problem, severity: 'warning', at: { sheet: 'First' } } as const;
    const error = { ...problem, severity: 'error', at: { sheet: 'Board', cell: 'B4' } } as const;
    expect(() => refuseProblems('acme/board.xlsx', [warning])).not.toThrow();
    expect(() => refuseProblems('acme/board.xlsx', [warning, error, { ...error, at: { sheet: 'Last' } }])).toThrow(
      expect.objectContaining({
        code: 'template.invalid',
        where: 'acme/board.xlsx:Board!B4',
        got: 'B4:C9',
        next: 'Unmerge it.',
        message: expect.stringContaining('1 more'),
      }),
    );
  });
});
