import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { runCommand } from '../../../support/run-command.ts';

const documentSchema = z.object({
  state: z.literal('done'),
  period: z.object({ label: z.string() }),
  folder: z.string(),
  mail: z.object({ preview: z.string(), html: z.string(), text: z.string() }),
  files: z.array(z.object({ name: z.string(), path: z.string() })),
});

const manifestSchema = z.object({
  headlines: z.array(z.string()),
  judgements: z.array(z.object({ section: z.string(), metric: z.string() })),
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-preview-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('docket preview', () => {
  test('creates marked e-mail and files from sample data, without key and service', async () => {
    const out = join(folder, 'out');
    const ended = await runCommand([
      'preview',
      'demo/weekly-kpi',
      '--sample',
      '--period',
      '2026-W40',
      '--json',
      '--out',
      out,
    ]);
    expect(ended).toMatchObject({ code: 0 });
    const { mail, files, period } = documentSchema.parse(JSON.parse(ended.stdout));
    expect(period.label).toBe('2026-W40');
    expect(files.map(({ name }) => name)).toContain('Weekly KPIs 2026-W40.xlsx');
    const [preview, html, text] = await Promise.all(
      [mail.preview, mail.html, mail.text].map((path) => readFile(path, 'utf8')),
    );
    for (const body of [preview, html, text]) expect(body).toContain('Acme Payments (sample figures)');
    expect(html).toContain('src="cid:onboarding.');
    expect(preview).not.toContain('cid:');
    expect(preview?.match(/src="data:image\/png;base64,iVBOR/g)).toHaveLength(7);
    expect(text).toContain('created at 08:00, only on Monday (Europe/Zurich)');
  });

  test('judges sample figures by the targets, and uses sample readings instead of stored ones', async () => {
    const args = [
      'preview',
      'demo/weekly-kpi',
      '--sample',
      '--period',
      '2026-W40',
      '--json',
      '--out',
      join(folder, 'out'),
    ];
    // The archive has no readings, so they must come from the sample.
    const env = { DOCKET_ARCHIVE: pathToFileURL(join(folder, 'archive')).href };
    const ended = await runCommand(args, { env });
    expect(ended).toMatchObject({ code: 0 });
    const { mail, folder: made } = documentSchema.parse(JSON.parse(ended.stdout));
    const text = await readFile(mail.text, 'utf8');
    expect(text).toMatch(/^! .+, target .+, (breached|watch)/m);
    expect(text).toMatch(/Approval rate \| [\d.]+% \([●◆■] [a-z ]+, target 90\.0%(, watch 85\.0%)?\)/);
    const backlog = await readFile(join(made, 'Weekly compliance KPIs 2026-W40 backlog.csv'), 'utf8');
    expect(backlog).toMatch(/^2026-10-04(,\d+){4}/m);
    expect(text).not.toContain('No reading on');
    const manifest = manifestSchema.parse(JSON.parse(await readFile(join(made, 'manifest.json'), 'utf8')));
    expect(manifest.headlines.length).toBeGreaterThan(0);
    const judged = manifest.judgements.map(({ section, metric }) => `${section}:${metric}`);
    expect(judged).toContain('scorecard:profiles.approval_rate');
    expect(judged).toContain('backlog:reviews.overdue');
  });

  test('uses DOCKET_TEMPLATES, reports an invalid template with its line, and then leaves no files', async () => {
    const [templates, out] = [join(folder, 'templates'), join(folder, 'out')];
    await mkdir(join(templates, 'email'), { recursive: true });
    await writeFile(join(templates, 'email', 'report.txt.liquid'), 'Hello\n{{ titel }}');
    const env = { DOCKET_TEMPLATES: templates };
    const ended = await runCommand(['preview', 'demo/weekly-kpi', '--sample', '--out', out], { env });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('report.txt.liquid:2:4: ');
    expect(await readdir(out)).toEqual([]);

    const checked = await runCommand(['check', '--offline'], { env });
    expect(checked.code).toBe(1);
    expect(checked.stdout).toContain('report.txt.liquid:2:4: ');

    await writeFile(join(templates, 'email', 'report.txt.liquid'), 'Hello {{ title }}');
    expect((await runCommand(['check', '--offline'], { env })).code).toBe(0);
    expect((await runCommand(['preview', 'demo/weekly-kpi', '--sample', '--out', out], { env })).code).toBe(0);
    expect(await readFile(join(out, 'mail.txt'), 'utf8')).toBe('Hello Weekly compliance KPIs');
  });

  test('needs the service without --sample', async () => {
    const ended = await runCommand(['preview', 'demo/weekly-kpi', '--out', folder]);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('COMPLIANCE_API_URL');
  });
});
