import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FORMATS } from '../../src/render/formats/registry.ts';
import { renderFiles } from '../../src/render/render-files.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { dataset, MADE_AT, onboarding } from '../support/dataset.ts';
import { officeFonts, program } from '../support/debian.ts';
import { type CliResult, docket } from '../support/docket.ts';
import { runMacro } from '../support/libreoffice-macro.ts';

const run = promisify(execFile);

/** Exports every sheet as a separate CSV file. */
const EACH_SHEET = 'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1';

describe('packs in other programs', () => {
  let sandbox: Sandbox;
  let folder: string;
  const ended: Record<string, CliResult> = {};

  beforeAll(async () => {
    sandbox = await startSandbox();
    folder = await mkdtemp(join(tmpdir(), 'docket-e2e-'));
    const env = {
      COMPLIANCE_API_URL: sandbox.url,
      DEMO_API_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
    };
    for (const report of ['weekly-kpi', 'board-pack']) {
      ended[report] = await docket(['preview', `demo/${report}`, '--out', join(folder, report)], { env });
    }
  });
  afterAll(async () => {
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  });

  const workbook = async (report: string) => {
    const name = (await readdir(join(folder, report))).find((file) => file.endsWith('.xlsx'));
    return join(folder, report, name ?? 'no workbook');
  };

  test.each(['weekly-kpi', 'board-pack'])(
    'LibreOffice opens the workbook of %s and shows the figures of its CSV files',
    async (report) => {
      expect(ended[report]).toMatchObject({ code: 0 });
      const soffice = await program('soffice', 'libreoffice-calc');
      const out = join(folder, `${report}-sheets`);
      const profile = `-env:UserInstallation=file://${join(folder, 'profile')}`;
      await run(soffice, [profile, '--headless', '--convert-to', EACH_SHEET, '--outdir', out, await workbook(report)]);
      const sheets = await readdir(out);
      const texts = await Promise.all(sheets.map((file) => readFile(join(out, file), 'utf8')));
      const all = texts.join('\n');
      expect(all).not.toMatch(/#(REF|NAME|VALUE|DIV\/0|N\/A)|Err:\d+/);

      const csv = (await readdir(join(folder, report))).find((file) => file.endsWith(' onboarding.csv'));
      const rows = (await readFile(join(folder, report, csv ?? ''), 'utf8')).trim().split('\r\n').slice(1);
      const created = rows.map((row) => row.split(',')[1] ?? '');
      const sheet = texts[sheets.findIndex((name) => name.includes('Onboarding by day'))] ?? '';
      const shown = sheet.split('\n').flatMap((line) => /^\d\d\/\d\d\/\d{4},(\d+)/.exec(line)?.[1] ?? []);
      expect(created.length).toBeGreaterThanOrEqual(7);
      expect(shown).toEqual(created);
    },
  );

  test('LibreOffice opens an encrypted workbook with its password only', async () => {
    const soffice = await program('soffice', 'libreoffice-calc');
    const password = 'Bücher & 日本';
    const [locked] = await renderFiles(dataset([onboarding]), [{ format: 'xlsx', name: 'locked' }], FORMATS, {
      folder,
      run: 'run',
      madeAt: MADE_AT,
      digest: 'digest',
      secrets: { xlsx: { password } },
      signal: new AbortController().signal,
    });
    const told = async (secret: string): Promise<string> => {
      const answer = join(folder, 'answer.txt');
      await runMacro(soffice, join(folder, 'macro-profile'), [
        'On Error GoTo Failed',
        'Dim args(1) As New com.sun.star.beans.PropertyValue',
        'args(0).Name = "Hidden"',
        'args(0).Value = True',
        'args(1).Name = "Password"',
        `args(1).Value = "${secret}"`,
        'Dim book As Object',
        `book = StarDesktop.loadComponentFromURL("file://${locked?.path}", "_blank", 0, args())`,
        `Open "${answer}" For Output As #1`,
        'Print #1, book.Sheets.getByName("Onboarding").getCellRangeByName("B25").String',
        'Close #1',
        'book.close(True)',
        'Exit Sub',
        'Failed:',
        `Open "${answer}" For Output As #2`,
        'Print #2, "refused: " & Error$',
        'Close #2',
      ]);
      return (await readFile(answer, 'utf8')).trim();
    };
    expect(await told(password)).toBe('1,204');
    expect(await told('another')).toMatch(/^refused: /);
  });

  test('LibreOffice prints the board pack with a footer on every page', async () => {
    const soffice = await program('soffice', 'libreoffice-calc');
    const pdftotext = await program('pdftotext', 'poppler-utils');
    await officeFonts();
    const profile = `-env:UserInstallation=file://${join(folder, 'profile')}`;
    const out = join(folder, 'pdf');
    await run(soffice, [profile, '--headless', '--convert-to', 'pdf', '--outdir', out, await workbook('board-pack')]);
    const pdf = join(out, (await readdir(out)).find((file) => file.endsWith('.pdf')) ?? '');
    const pages = (await run(pdftotext, ['-layout', pdf, '-'])).stdout.split('\f').filter((page) => page.trim() !== '');
    expect(pages.length).toBeGreaterThanOrEqual(5);
    expect(pages.length).toBeLessThanOrEqual(10);
    pages.forEach((page, index) => {
      expect(page).toContain(`Page ${index + 1} of ${pages.length}`);
    });
  });

  test('the e-mail fits screens of any width, shows its pictures and makes no request', async () => {
    const browser = await chromium.launch({
      executablePath: await program('chromium', 'chromium'),
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
    try {
      for (const colorScheme of ['light', 'dark'] as const) {
        const page = await browser.newPage({ colorScheme });
        const requested: string[] = [];
        page.on('request', (request) => requested.push(request.url()));
        const html = `file://${join(folder, 'weekly-kpi', 'preview.html')}`;
        await page.goto(html);
        for (const width of [320, 360, 600, 1200]) {
          await page.setViewportSize({ width, height: 900 });
          const wide = await page.evaluate('document.documentElement.scrollWidth');
          expect({ width, wide }).toEqual({ width, wide: width });
        }
        expect(requested.filter((url) => !url.startsWith('data:'))).toEqual([html]);
        const drawn = await page.evaluate<number[]>('[...document.images].map(({ naturalWidth }) => naturalWidth)');
        expect(drawn).toHaveLength(7);
        // A chart has two pixels per CSS pixel. The logo and the small charts are narrower.
        expect(Math.max(...drawn)).toBe(1184);
        expect(Math.min(...drawn)).toBeGreaterThan(0);
        await page.close();
      }
    } finally {
      await browser.close();
    }
  });
});
