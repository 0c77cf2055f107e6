import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Dataset } from '../../src/fetch/dataset.ts';
import { MAX_HTML_BYTES, type MailOptions, renderMail } from '../../src/render/mail.ts';
import {
  countColumn,
  dataset,
  groupColumn,
  MADE_AT,
  nastyDataset,
  onboarding,
  row,
  table,
  workload,
} from '../support/dataset.ts';
import { readHtmlTables } from '../support/read-files.ts';
import { useRenderFolder } from '../support/render-folder.ts';

const { folder, render } = useRenderFolder();
const about: MailOptions = { run: '0123456789abcdef0123456789abcdef', madeAt: MADE_AT };
const mail = (data: Dataset, change: Partial<MailOptions> = {}) => renderMail(data, [], { ...about, ...change });

describe('the mail of a report', () => {
  it('leads with the service’s totals and current counts, their change in words with an arrow', async () => {
    const { text } = await mail(dataset([onboarding, workload]));
    expect(text).toContain('Profiles created: 6,390 (▲ up 1.6% from 6,290)');
    expect(text).toContain('Approval rate: 83.6% (▲ up 0.6 pp from 83.0%)');
    expect(text).toContain('Time to decision (median): 5 h 17 min (▲ up 26.7% from 4 h 10 min)');
    expect(text).toContain('Overdue RFIs: 0');
  });

  it('leads with a figure once, and names the section where two of one name differ', async () => {
    const again = { ...onboarding, id: 'again', title: 'Again' };
    const once = await mail(dataset([onboarding, again]));
    expect(once.text.match(/ {2}Profiles created: 6,390/g)).toHaveLength(1);
    const totals = { values: { ...onboarding.totals?.values, 'profiles.created': 7 } };
    const { text } = await mail(dataset([onboarding, { ...again, totals }]));
    expect(text).toContain('Profiles created (Onboarding): 6,390');
    expect(text).toContain('Profiles created (Again): 7');
  });

  it('makes up no headline where the service gave no total', async () => {
    const { totals: _, ...without } = onboarding;
    const { text } = await mail(dataset([without]));
    expect(text).not.toContain('HEADLINE');
  });

  it('says what is incomplete before any figure, in both bodies', async () => {
    const { html, text } = await mail(nastyDataset());
    for (const body of [html.slice(html.indexOf('<table')), text]) {
      const warning = body.indexOf('The service cut the table at 5,000 rows');
      expect(warning).toBeGreaterThan(0);
      expect(warning).toBeLessThan(body.indexOf('6,390'));
    }
    expect((await mail(dataset([onboarding]))).html).not.toContain('Incomplete');
  });

  it('says once what most sections cover', async () => {
    const { text } = await mail(dataset([onboarding, { ...onboarding, id: 'again', title: 'Again' }]));
    expect(text.match(/compared with/g)).toHaveLength(1);
    expect(text.indexOf('compared with')).toBeLessThan(text.indexOf('HEADLINE'));
  });

  it('tells period, zone, why the reader gets it and whom to ask', async () => {
    const { html, text } = await mail(dataset([onboarding]), { reason: 'You get this mail every Monday at 08:00.' });
    for (const body of [html, text]) {
      expect(body).toContain('Monday 9 to Sunday 15 November 2026 (Europe/Zurich)');
      expect(body).toContain('You get this mail every Monday at 08:00.');
      expect(body).toContain('ops@acme.example');
      expect(body).toContain('Acme Compliance AG');
    }
  });

  it('escapes whatever comes from the service', async () => {
    const { html } = await mail(nastyDataset());
    expect(html).not.toContain('<script>alert(1)');
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  });

  it('asks for nothing from outside', async () => {
    const { html } = await mail(nastyDataset());
    expect(html).not.toMatch(/<(img|link|script|iframe)|url\(|@import|src=/i);
    expect([...html.matchAll(/href="([^"]*)"/g)].map(([, target]) => target)).toEqual(['mailto:ops@acme.example']);
  });

  it('shows a short table of a long section and says plainly where the rest is', async () => {
    const many = table({
      id: 'many',
      title: 'Many groups',
      columns: [groupColumn, countColumn],
      rows: Array.from({ length: 31 }, (_, index) =>
        row({ 'profile.group': `Group ${index}`, 'profiles.created': index }),
      ),
    });
    const attached = await mail(dataset([many]), { attached: ['xlsx'] });
    expect(attached.text).toContain('The first 10 of 31 rows; the rest is in the attached workbook.');
    expect(readHtmlTables(attached.html)[0]).toHaveLength(11);
    expect((await mail(dataset([many]))).text).toContain('the rest is in the full report.');
  });

  it('shows the last rows of a series, and says so', async () => {
    const days = Array.from({ length: 30 }, (_, index) => `2026-10-${String(index + 1).padStart(2, '0')}`);
    const { totals: _, ...rest } = onboarding;
    const series = { ...rest, rows: days.map((bucket) => row({ bucket, 'profiles.created': 1 })) };
    const { html, text } = await mail(dataset([series]));
    expect(text).toContain('The last 10 of 30 rows');
    expect(readHtmlTables(html)[0]!.at(-1)![0]).toBe('Fri 30 Oct 2026');
  });

  it('says how many columns it leaves out', async () => {
    const columns = Array.from({ length: 9 }, (_, index) => ({
      ...countColumn,
      name: `m.${index}`,
      label: `Metric ${index}`,
    }));
    const wide = table({ id: 'wide', columns: [groupColumn, ...columns], rows: [row({ 'profile.group': 'A' })] });
    const { html, text } = await mail(dataset([wide]), { attached: ['csv'] });
    expect(readHtmlTables(html)[0]![0]).toHaveLength(5);
    expect(text).toContain('5 more columns in the attached CSV files.');
  });

  it('stays under the size at which mail programs cut, by showing fewer rows', async () => {
    const wide = (id: number) =>
      table({
        id: `section-${id}`,
        columns: [groupColumn, countColumn],
        rows: Array.from({ length: 40 }, (_, index) =>
          row({ 'profile.group': `${'Group with a long name '.repeat(8)}${index}`, 'profiles.created': index }),
        ),
      });
    const { html, text } = await mail(dataset(Array.from({ length: 40 }, (_, id) => wide(id))));
    expect(Buffer.byteLength(html)).toBeLessThanOrEqual(MAX_HTML_BYTES);
    expect(text).toMatch(/The first [357] of 40 rows/);
  });

  it('lists the files, and which of them are attached', async () => {
    const artifacts = await render(dataset([workload]), [{ format: 'xlsx' }, { format: 'csv' }]);
    const { text } = await renderMail(dataset([workload]), artifacts, { ...about, attached: ['xlsx'] });
    expect(text).toMatch(/Weekly compliance KPIs 2026-W46\.xlsx \(\d+ kB, attached\)/);
    expect(text).toMatch(/workload\.csv \(1 kB\)/);
  });
});

describe('a template of one’s own', () => {
  const withTemplate = async (html: string): Promise<string> => {
    const templates = await folder();
    await mkdir(join(templates, 'email'));
    await writeFile(join(templates, 'email', 'report.html.liquid'), html);
    return templates;
  };

  it('takes the place of ours, and the other one stays ours', async () => {
    const templates = await withTemplate('<p>{{ title }}{% for tile in tiles %} {{ tile.value }}{% endfor %}</p>');
    const { html, text } = await mail(dataset([workload], { title: 'A & B' }), { templates });
    expect(html).toBe('<p>A &amp; B 37 0</p>');
    expect(text).toContain('Open alerts: 37');
  });

  it.each([
    ['<p>\n{{ titel }}</p>', 2, 'titel'],
    ['<p>\n\n{{ title | shout }}</p>', 3, 'shout'],
    ['{% for tile in tiles %}', 1, 'not closed'],
  ])('that fails is told with file and line: %j', async (template, line, why) => {
    const templates = await withTemplate(template);
    await expect(mail(dataset([workload]), { templates })).rejects.toMatchObject({
      code: 'template.invalid',
      message: expect.stringContaining(why),
      where: expect.stringMatching(new RegExp(`report\\.html\\.liquid:${line}:\\d+$`)),
    });
  });
});
