import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { balanceBidiControls } from '../../../src/base/text/bidi.ts';
import type { Dataset, Table } from '../../../src/fetch/dataset.ts';
import type { Artifact } from '../../../src/render/artifact.ts';
import { MAX_HTML_BYTES, renderEmail } from '../../../src/render/email/render-email.ts';
import type { EmailOptions } from '../../../src/render/email/template-data.ts';
import {
  bucketColumn,
  countColumn,
  dataset,
  groupColumn,
  MADE_AT,
  nastyDataset,
  onboarding,
  previous,
  row,
  table,
  WEEK_BEFORE,
  workload,
} from '../../support/dataset.ts';
import { readHtmlTables } from '../../support/read-files.ts';
import { useRenderFolder } from '../../support/render-folder.ts';

const { folder, render } = useRenderFolder();
const about: EmailOptions = { run: '0123456789abcdef0123456789abcdef', madeAt: MADE_AT };
const FILE: Artifact = { name: 'KPIs.xlsx', format: 'xlsx', mediaType: '', path: '/', bytes: 4321, sha256: '' };
const mail = (data: Dataset, change: Partial<EmailOptions> = {}) => renderEmail(data, [], { ...about, ...change });

describe('the e-mail of a report', () => {
  it('starts with totals and current counts, each change with an arrow', async () => {
    const { text } = await mail(dataset([onboarding, workload]));
    const scope = '(Risk is High or Severe; so far)';
    expect(text).toContain(`Profiles created ${scope}: 6,390 (▲ 1.6% from 6,290)`);
    expect(text).toContain(`Approval rate ${scope}: 83.6% (▲ 0.6 pp from 83.0%)`);
    expect(text).toContain(`Time to decision (median) ${scope}: 5.3 hours (▲ 1.1 hours from 4.2 hours)`);
    expect(text).toContain('Overdue RFIs (now, 16 November 2026 at 07:59): 0');
  });

  /** A section with totals and a single row. */
  const totalled = (id: string, value: number, more: Partial<Table> = {}) =>
    table({
      id,
      title: id,
      columns: [groupColumn, countColumn],
      rows: [row({ 'profile.group': 'North', 'profiles.created': value })],
      totals: { values: { 'profiles.created': value } },
      ...more,
    });
  const severe = { filters: [{ label: 'Risk', is: ['Severe'] }] };
  const headlinesOf = (text: string) =>
    (/HEADLINE\n([\s\S]*?)\n\n/.exec(text)?.[1] ?? '').split('\n').map((line) => line.trim());
  const preheaderOf = (html: string) => /<div style="display:none[^>]*>([\s\S]*?)<\/div>/.exec(html)?.[1]?.trim();

  it('starts with unfiltered figures, and names the scope of the others in tiles and preheader', async () => {
    const { html, text } = await mail(
      dataset([
        totalled('Severe', 204, severe),
        totalled('All', 1787),
        workload,
        totalled('Month', 88, { running: true }),
      ]),
    );
    expect(headlinesOf(text)).toEqual([
      'Profiles created: 1,787',
      'Open alerts (now, 16 November 2026 at 07:59): 37',
      'Overdue RFIs (now, 16 November 2026 at 07:59): 0',
      'Profiles created (so far): 88',
      'Profiles created (Risk is Severe): 204',
    ]);
    expect(preheaderOf(html)).toBe(
      'Profiles created 1,787 · Open alerts (now, 16 November 2026 at 07:59) 37 · ' +
        'Overdue RFIs (now, 16 November 2026 at 07:59) 0',
    );
    const alone = await mail(dataset([totalled('Severe', 204, { ...severe, running: true })]));
    // The scope of all sections is said once, above them.
    expect(preheaderOf(alone.html)).toBe('Profiles created (so far) 204');
    expect(alone.html).toContain('Only where Risk is Severe.');
    expect(alone.html).toContain('<b>so far</b>');
  });

  it('adds the section to two figures that share filter and time', async () => {
    const { text } = await mail(
      dataset([totalled('Here', 1, severe), totalled('There', 2, severe), totalled('All', 3)]),
    );
    expect(headlinesOf(text)).toEqual([
      'Profiles created: 3',
      'Profiles created (Here; Risk is Severe): 1',
      'Profiles created (There; Risk is Severe): 2',
    ]);
  });

  it('counts the values of a long filter in the headline', async () => {
    const values = Array.from({ length: 40 }, (_, index) => `G${index}`);
    const filters = [
      { label: 'Group', is: values },
      { label: 'Type', isNot: values },
      { label: 'Risk', isNot: ['Low'] },
    ];
    const { text } = await mail(dataset([totalled('All', 2), totalled('Some', 1, { filters })]));
    expect(headlinesOf(text)).toEqual([
      'Profiles created: 2',
      'Profiles created (Group is one of 40; Type is none of 40; Risk is not Low): 1',
    ]);
    expect(text).toContain('G38 or G39');
  });

  it('states a filter or “current counts” at the section when it does not apply to all sections', async () => {
    const differing = { range: { from: '2026-10-01', to: '2026-10-31' } };
    const filtered = await mail(
      dataset([
        totalled('A', 1, severe),
        totalled('B', 2, { ...severe, ...differing }),
        totalled('C', 3, { asOf: null }),
      ]),
    );
    expect(filtered.text.match(/Only where Risk is Severe\./g)).toHaveLength(2);
    expect(filtered.text.indexOf('Only where')).toBeGreaterThan(filtered.text.indexOf('\nA\n'));
    const current = await mail(dataset([workload, { ...workload, id: 'again', title: 'Again' }, totalled('C', 3)]));
    expect(current.text.match(/Current counts, as of/g)).toHaveLength(2);
  });

  it('escapes names that would add a row or a cell to the text part, or change the direction of later text', async () => {
    const names = [
      'North\r\n  Total | 999',
      'South | 999',
      'East\u2028HEADLINE',
      'West \u202e999',
      'Centre \u2067',
      'Hebrew שלום',
      'Forged \u2069\u2066',
    ];
    const label = { ...countColumn, label: 'Created | 7\nTotal\u202e' };
    const groups = table({
      id: 'groups',
      title: 'Groups',
      description: 'One line.\nAnother one.',
      columns: [{ ...groupColumn, label: 'Group\u202e' }, label],
      rows: names.map((name) => row({ 'profile.group': name, 'profiles.created': 1 })),
      totals: { values: { 'profiles.created': 7 } },
      filters: [{ label: 'Risk', is: ['High\n  ! All: forged'] }],
      notes: [
        {
          code: 'missing',
          message: { id: 'lacking', of: { what: [{ of: 'column', label: 'x\nHEADLINE\u202e' }] } },
          incomplete: true,
        },
      ],
    });
    const { html, text } = await mail(dataset([groups], { organization: 'Acme\nHEADLINE' }));
    const shown = text.slice(text.indexOf('\n  Group')).split('\n').slice(1, 10);
    expect(shown.map((line) => line.split(' | ').length)).toEqual(Array.from({ length: 9 }, () => 2));
    expect(shown.map((line) => line.replace(/[\u2066-\u2069]/g, '').trim())).toEqual([
      'Group | Created / 7 Total',
      'North   Total / 999 | 1',
      'South / 999 | 1',
      'East HEADLINE | 1',
      'West 999 | 1',
      'Centre  | 1',
      'Hebrew שלום | 1',
      'Forged  | 1',
      'Total | 7',
    ]);
    // Right-to-left names are isolated, so that the figures stay behind them.
    expect(text).toContain('\u2068Hebrew שלום\u2069 | 1');
    expect(text.match(/^HEADLINE/gm)).toHaveLength(1);
    expect(text).not.toMatch(/[\u2028\u2029]/);
    expect(text).toContain('One line.\nAnother one.');
    for (const line of [...text.split('\n'), ...html.split(/<[^>]*>/)]) expect(balanceBidiControls(line)).toBe(line);
  });

  it('marks the totals of a running period', async () => {
    const { html, text } = await mail(dataset([totalled('Month', 88, { running: true })]));
    expect(readHtmlTables(html)[0]?.at(-1)).toEqual(['Total (still running)', '88']);
    expect(text).toContain('Total (still running) | 88');
    const over = await mail(dataset([totalled('Month', 88)]));
    expect(readHtmlTables(over.html)[0]?.at(-1)).toEqual(['Total', '88']);
  });

  it('shows the last rows of a long time series, and the first rows of a ranked table', async () => {
    const days = Array.from({ length: 28 }, (_, index) => `2026-10-${String(index + 1).padStart(2, '0')}`);
    const series = (more: Partial<Table>) =>
      table({
        id: 'series',
        granularity: 'day',
        columns: [bucketColumn, countColumn],
        rows: days.map((bucket, index) => row({ bucket, 'profiles.created': 1000 - index })),
        ...more,
      });
    const shown = async (more: Partial<Table>) =>
      readHtmlTables((await mail(dataset([series(more)]))).html)[0]
        ?.slice(1)
        .map(([, value]) => value);
    expect(await shown({})).toEqual(['982', '981', '980', '979', '978', '977', '976', '975', '974', '973']);
    expect(await shown({ ranked: true })).toEqual([
      '1,000',
      '999',
      '998',
      '997',
      '996',
      '995',
      '994',
      '993',
      '992',
      '991',
    ]);
    expect((await mail(dataset([series({ ranked: true })]))).text).toContain('The first 10 of 28 rows');
    // The chart is in order of time, and ends with a day that the table does not show.
    const rows = days.map((bucket, index) =>
      row({ bucket, 'profiles.created': 1000 - index }, { partial: bucket === '2026-10-28' }),
    );
    const { html } = await mail(dataset([series({ ranked: true, chart: 'line', rows })]));
    expect(html).toContain('Its last figures are of a time that is still running.');
  });

  it('shows equal headline figures once, and names the section when two of one name differ', async () => {
    const again = { ...onboarding, id: 'again', title: 'Again' };
    const once = await mail(dataset([onboarding, again]));
    expect(once.text.match(/ {2}Profiles created \(so far\): 6,390/g)).toHaveLength(1);
    const totals = { values: { ...onboarding.totals?.values, 'profiles.created': 7 } };
    const { text } = await mail(dataset([onboarding, { ...again, totals }]));
    expect(text).toContain('Profiles created (Onboarding; so far): 6,390');
    expect(text).toContain('Profiles created (Again; so far): 7');
  });

  const open = { ...countColumn, name: 'alerts.open', label: 'Open alerts' };
  const alerts = (id: string, value: number, more: Partial<Table> = {}) =>
    table({ id, title: `${id} alerts`, columns: [open], rows: [row({ 'alerts.open': value })], ...more });

  it('does not merge equal figures that have different filters or days', async () => {
    const { text } = await mail(
      dataset([
        alerts('Sanctions', 0, { filters: [{ label: 'Kind', is: ['Sanctions'] }] }),
        alerts('PEP', 0, { filters: [{ label: 'Kind', is: ['PEP'] }] }),
        alerts('Earlier', 0, { range: { from: '2026-10-01', to: '2026-10-31' } }),
        alerts('Once more', 0, { filters: [{ label: 'Kind', is: ['PEP'] }] }),
      ]),
    );
    const headline = text.slice(text.indexOf('HEADLINE'), text.indexOf('SANCTIONS ALERTS'));
    expect(headline.match(/Open alerts \(.*\): 0/g)).toEqual([
      'Open alerts (Kind is Sanctions): 0',
      'Open alerts (Kind is PEP): 0',
      expect.stringMatching(/^Open alerts \(1\s–\s31 October 2026\): 0$/),
    ]);
  });

  it('shows name, description, filters, date and notes of a section with a single row', async () => {
    const single = alerts('PEP', 5, {
      description: 'Whoever holds an office.',
      filters: [{ label: 'Kind', is: ['PEP'] }],
      comparisons: [WEEK_BEFORE],
      rows: [row({ 'alerts.open': 5 }, { compare: previous({ 'alerts.open': 4 }), partial: true })],
      notes: [
        {
          code: 'unknown_unit',
          message: { id: 'unknown_unit', of: { label: 'Open alerts', unit: 'heads' } },
          incomplete: false,
        },
      ],
    });
    const { html, text } = await mail(dataset([single]));
    for (const body of [html, text]) {
      for (const said of ['Whoever holds an office.', 'Only where Kind is PEP', 'compared with', '16 November 2026']) {
        expect(body).toContain(said);
      }
      expect(body).toContain('heads');
    }
    expect(readHtmlTables(html)[0]).toEqual([
      ['Metric', 'This period', 'Change'],
      ['Open alerts (still running)', '5', '▲ 25%'],
    ]);
    expect(html.match(/PEP alerts/g)).toHaveLength(2);
    expect(text).toContain('PEP ALERTS');
  });

  it('shows the totals of a section with a single row only when they differ from the row', async () => {
    const comparisons = [WEEK_BEFORE];
    const rows = [row({ 'alerts.open': 5 }, { compare: previous({ 'alerts.open': 4 }) })];
    const report = async (totals: NonNullable<Table['totals']>) =>
      readHtmlTables((await mail(dataset([alerts('PEP', 5, { comparisons, rows, totals })]))).html)[0];
    expect(await report({ values: { 'alerts.open': 5 }, compare: previous({ 'alerts.open': 8 }) })).toEqual([
      ['Metric', 'Value', 'Change', 'Total', 'Change'],
      ['Open alerts', '5', '+25%', '5', '-38%'],
    ]);
    expect(await report({ values: { 'alerts.open': 5 }, compare: previous({ 'alerts.open': 4 }) })).toHaveLength(2);
  });

  it('says where headline figures without a tile are', async () => {
    const columns = Array.from({ length: 14 }, (_, index) => ({
      ...open,
      name: `m${index}`,
      label: `Metric ${index}`,
    }));
    const values = Object.fromEntries(columns.map(({ name }, index) => [name, 100 + index]));
    const single = (count: number) => table({ id: 'single', columns: columns.slice(0, count), rows: [row(values)] });
    const all = await mail(dataset([single(10)]));
    expect(all.text).toContain('  5 more headline figures are below.\n');
    expect(all.text).toContain('Metric 9 | 109');
    const some = await mail(dataset([single(14)]), { attached: ['xlsx'] });
    expect(some.text).toContain('  9 more headline figures are below.\n');
    const wide = { ...single(14), columns: [groupColumn, ...columns], totals: { values } };
    const { text } = await mail(dataset([wide]), { attached: ['xlsx'] });
    expect(text).toContain('  9 more headline figures are in the attached workbook.\n');
  });

  it('has no headline when the response has no totals', async () => {
    const { totals: _, ...without } = onboarding;
    const { text } = await mail(dataset([without]));
    expect(text).not.toContain('HEADLINE');
  });

  it('says what is incomplete before any figure, in HTML and text', async () => {
    const { html, text } = await mail(nastyDataset());
    for (const body of [html.slice(html.indexOf('<table')), text]) {
      const warning = body.indexOf('The service truncated the table after 5,000 rows');
      expect(warning).toBeGreaterThan(0);
      expect(warning).toBeLessThan(body.indexOf('6,390'));
    }
    expect((await mail(dataset([onboarding]))).html).not.toContain('Incomplete');
  });

  it('states the comparison once when all sections share it', async () => {
    const { text } = await mail(dataset([onboarding, { ...onboarding, id: 'again', title: 'Again' }]));
    expect(text.match(/compared with/g)).toHaveLength(1);
    expect(text.indexOf('compared with')).toBeLessThan(text.indexOf('HEADLINE'));
  });

  it.each([
    ['en-GB', { on: { business_day: 3 } }, 'created at 08:00, on the 3rd business day of the month (UTC).'],
    ['en-GB', { on: { business_day: -1 } }, 'created at 08:00, on the last business day of the month (UTC).'],
    ['en-GB', { on: { business_day: -2 } }, 'created at 08:00, on the 2nd last business day of the month (UTC).'],
    ['en-GB', { shift: 'next_business_day' }, 'created at 08:00, or on the next business day (UTC).'],
    ['de-CH', { on: { business_day: 3 } }, 'um 08:00, am 3. Arbeitstag des Monats (UTC).'],
    ['de-CH', { shift: 'previous_business_day' }, 'um 08:00, sonst am Arbeitstag davor (UTC).'],
  ] as const)('describes in %s a schedule with business days: %j', async (locale, days, sentence) => {
    const { text } = await mail(dataset([onboarding]), {
      schedules: [{ cron: '0 8 * * *', timezone: 'UTC', ...days }],
      locale,
    });
    expect(text.replace(/\s+/g, ' ')).toContain(sentence);
  });

  it('names the period, the time zone, the reason for the e-mail and the owner', async () => {
    const schedules = [{ cron: '0 8 * * MON', timezone: 'Europe/Zurich' }];
    const { html, text } = await mail(dataset([onboarding]), { schedules, onDemand: true });
    for (const body of [html, text]) {
      expect(body).toContain('Monday 9 to Sunday 15 November 2026 (Europe/Zurich)');
      expect(body).toContain('recipient list of the report “Weekly compliance KPIs” of Acme Compliance AG, which ops@');
      expect(body).toContain('created at 08:00, only on Monday (Europe/Zurich).');
      expect(body).toContain('This one was created on request.');
      expect(body).toContain('ops@acme.example');
      expect(body).toContain('Acme Compliance AG');
    }
  });

  /** A single section, because an e-mail has no room for all of them. */
  const nasty = (id: string): Dataset => {
    const all = nastyDataset();
    return { ...all, tables: all.tables.filter((each) => each.id === id) };
  };

  it('escapes HTML in texts of the API', async () => {
    const { html } = await mail(nasty('groups'));
    expect(html).not.toContain('<script>alert(1)');
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  });

  it('loads no third-party assets', async () => {
    const { html } = await mail(nastyDataset());
    expect(html).not.toMatch(/<(link|script|iframe)|url\(|@import|src="(?!cid:)/i);
    expect([...html.matchAll(/href="([^"]*)"/g)].map(([, target]) => target)).toEqual(['mailto:ops@acme.example']);
  });

  it('shortens the table of a long section, and says where the rest is', async () => {
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
    for (const artifacts of [[FILE], []]) {
      const { text } = await renderEmail(dataset([many]), artifacts, about);
      expect(text).toContain('the rest is left out here.');
    }
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
    expect(text).toContain('5 more columns are in the attached CSV files.');
  });

  const wide = (id: number) =>
    table({
      id: `section-${id}`,
      columns: [groupColumn, countColumn],
      rows: Array.from({ length: 40 }, (_, index) =>
        row({ 'profile.group': `${'Group with a long name '.repeat(8)}${index}`, 'profiles.created': index }),
      ),
      notes: [{ code: 'truncated', message: { id: 'cut', of: { rows: 40 } }, incomplete: true }],
    });

  it('shows fewer rows of each section when it would be too long', async () => {
    const short = (id: number) => ({
      ...wide(id),
      rows: Array.from({ length: 40 }, (_, n) => row({ 'profile.group': `Group ${n}`, 'profiles.created': n })),
      notes: [],
    });
    const { html, text } = await mail(dataset(Array.from({ length: 5 }, (_, id) => short(id))));
    expect(Buffer.byteLength(html)).toBeLessThanOrEqual(MAX_HTML_BYTES);
    const shown = text.match(/The first \d+ of 40 rows/g) ?? [];
    expect(new Set(shown).size).toBe(1);
    expect(shown[0]).not.toBe('The first 10 of 40 rows');
    expect(shown).toHaveLength(5);
  });

  it('shows fewer sections when fewer rows are not enough, and says where the others are', async () => {
    const { html, text } = await mail(dataset(Array.from({ length: 20 }, (_, id) => wide(id))), { attached: ['xlsx'] });
    expect(Buffer.byteLength(html)).toBeLessThanOrEqual(MAX_HTML_BYTES);
    const more = Number(/(\d+) more sections are in the attached workbook\./.exec(text)?.[1]);
    expect(more).toBeGreaterThan(10);
    expect(text.match(/The first 5 of 40 rows/g)).toHaveLength(20 - more);
  });

  it('lists the sections, files and remarks that fit, and counts the others', async () => {
    const sections = Array.from({ length: 100 }, (_, id) => ({
      ...wide(id),
      description: 'Long. '.repeat(300),
      // Equal remarks of several sections would count as one.
      notes: [{ code: 'truncated' as const, message: { id: 'cut' as const, of: { rows: 40 + id } }, incomplete: true }],
    }));
    const files = sections.map(({ id }) => ({ ...FILE, name: `${id}.csv`, format: 'csv' as const }));
    const { html, text } = await renderEmail(dataset(sections), [...files, FILE], { ...about, attached: ['csv'] });
    expect(Buffer.byteLength(html)).toBeLessThanOrEqual(MAX_HTML_BYTES);
    for (const body of [html, text]) {
      expect(Number(/(\d+) more sections are in the attached CSV files\./.exec(body)?.[1])).toBeGreaterThan(90);
      expect(body).toContain('100 things to know');
      expect(body).toContain('94 more such remarks are in the attached CSV files.');
      expect(body).toContain('The run created 95 more files.');
    }
    expect(text).not.toContain('KPIs.xlsx');
  });

  it('shows an image with alternative text for the first three sections with a chart, and for no others', async () => {
    // Few rows and notes, so that all of them fit.
    const charted = ['a', 'b', 'c', 'd'].map((id) => {
      const { totals: _, description: __, ...short } = onboarding;
      return { ...short, id, notes: [], filters: [], rows: onboarding.rows };
    });
    const { html, pictures } = await mail(dataset([workload, ...charted]));
    const shown = [...html.matchAll(/<img alt="([^"]*)"[^>]* src="cid:([^"]*)"/g)];
    expect(shown.map(([, , cid]) => cid)).toEqual(pictures.map(({ cid }) => cid));
    expect(pictures.map(({ name }) => name)).toEqual(['mail-a.png', 'mail-b.png', 'mail-c.png']);
    for (const [, alt] of shown) expect(alt).toContain('Profiles created: from 1,204 (9 Nov) to 0 (15 Nov), highest');
    expect(html).toContain('In this chart Time to decision (median) is not drawn. Its last figures are of a time that');
    expect(await mail(dataset([workload, ...charted]))).toEqual({ html, text: expect.anything(), pictures });
  });

  it('draws names that the font cannot show as codes, and says below what they stand for', async () => {
    const { html, pictures } = await mail(nasty('groups'));
    expect(pictures.map(({ name }) => name)).toEqual(['mail-groups.png']);
    expect(html.replaceAll(/[\u2066-\u2069]/gu, '')).toMatch(/In this picture #1 = .*🚀 Growth/u);
    expect((await mail(nasty('weekly'))).pictures.map(({ name }) => name)).toEqual(['mail-weekly.png']);
  });

  it('is laid out in tables for Outlook', async () => {
    const { html } = await mail(nastyDataset());
    expect(html).toContain('<!--[if mso | IE]><table');
    expect(html).not.toMatch(/display:\s*(flex|grid)|position:\s*(absolute|fixed)|<(form|svg|video)/i);
  });

  it('lists the attached files and counts the others', async () => {
    const artifacts = await render(dataset([workload]), [{ format: 'xlsx' }, { format: 'csv' }]);
    const attached = await renderEmail(dataset([workload]), artifacts, { ...about, attached: ['xlsx'] });
    expect(attached.text).toMatch(
      /Weekly compliance KPIs 2026-W46\.xlsx \(\d+ kB, attached\)\n {2}The run created 2 more files/,
    );
    const { html, text } = await renderEmail(dataset([workload]), artifacts, about);
    for (const part of [html, text]) expect(part).not.toMatch(/attached|\.xlsx|\.csv|Files|FILES|more file/);
  });
});

describe('a custom template', () => {
  const withTemplate = async (html: string): Promise<string> => {
    const templates = await folder();
    await mkdir(join(templates, 'email'));
    await writeFile(join(templates, 'email', 'report.mjml'), html);
    return templates;
  };

  const page = (text: string) =>
    `<mjml><mj-body><mj-section><mj-column><mj-text>\n${text}\n</mj-text></mj-column></mj-section></mj-body></mjml>`;

  it('replaces one of the built-in templates', async () => {
    const templates = await withTemplate(page('{{ title }}{% for tile in tiles %} {{ tile.value }}{% endfor %}'));
    const { html, text, pictures } = await mail(dataset([workload, onboarding], { title: 'A & B' }), { templates });
    expect(html).toContain('A &amp; B 37 0 6,390 83.6% 5.3 hours');
    expect(html).not.toContain('Questions');
    expect(text).toContain('Open alerts (now, 16 November 2026 at 07:59): 37');
    expect(pictures).toEqual([]);
  });

  it.each([
    [page('\n{{ titel }}'), 3, 'titel'],
    [page('\n\n{{ title | shout }}'), 4, 'shout'],
    [page('{% for tile in tiles %}{{ tile.vlaue }}{% endfor %}'), 2, 'vlaue'],
    [page('{% for tile in tiles %}'), 2, 'not closed'],
    [page('</mj-section>'), 2, '</mj-section>'],
    ['<mjml>\n<mj-body>\n<mj-sektion></mj-sektion></mj-body></mjml>', 3, '<mj-sektion>'],
    ['<mjml>\n<mj-body>\n<mj-section></mj-body></mjml>', 3, '<mj-section>'],
    [page('{% if tiles.size < 2 %}a{% endif %}'), 2, 'invalid'],
    ['<p>{{ title }}</p>', 1, '<mjml>'],
    ['<mjml><mj-body>\n<mj-include path="/etc/passwd" /></mj-body></mjml>', 2, '<mj-include>'],
    [page("{% render '../../secret' %}"), 2, 'secret'],
  ])('that fails is reported with file and line: %j', async (template, line, named) => {
    const templates = await withTemplate(template);
    await expect(mail(dataset([workload]), { templates })).rejects.toMatchObject({
      code: 'template.invalid',
      message: expect.stringContaining(named),
      where: expect.stringMatching(new RegExp(`report\\.mjml:${line}:\\d+$`)),
    });
  });
});
