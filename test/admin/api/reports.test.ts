import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Access } from '../../../src/admin/access/access.ts';
import { createAccess } from '../../../src/admin/access/access.ts';
import type { ReportEntry } from '../../../src/admin/access/reports.ts';
import { newToken, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import type { AdminApp } from '../../../src/admin/hono-env.ts';
import { loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { accessPorts, createTestAdmin } from '../../support/admin.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { anOrder, openQueueHarness, type QueueHarness } from '../../support/queue-harness.ts';

const NOON = Date.parse('2026-11-18T12:00:00Z');
const token = newToken();
const entries: TokenEntry[] = [
  { name: 'ops', sha256: token.sha256, role: 'viewer', orgs: ['acme', 'acme-b', 'empty'] },
];

describe('the list of reports', () => {
  let harness: QueueHarness;
  let app: AdminApp;
  let access: (...orgs: string[]) => Access;
  let last: string;
  beforeEach(async () => {
    const clock = manualClock(NOON);
    harness = await openQueueHarness(clock);
    const jobs = await loadDefinitions(
      await jobsFolder({
        'acme/org.yaml': ORG,
        'acme/weekly.yaml': REPORT,
        'acme/daily.yaml': REPORT,
        'acme/broken.yaml': 'version: 1\ntitle: 7\n',
        // Sorts before `acme/…`, although `acme` sorts before it.
        'acme-b/org.yaml': ORG,
        'acme-b/weekly.yaml': REPORT,
        'empty/org.yaml': ORG,
        'rival/org.yaml': ORG,
        'rival/weekly.yaml': REPORT,
      }),
    );
    const given = { jobs: () => jobs, runs: harness.runs };
    app = createTestAdmin(entries, given, { clock });
    access = (...orgs) =>
      createAccess(accessPorts({ ...given, clock }), {
        name: 'ops',
        kind: 'token',
        subject: 'token:ops',
        role: 'viewer',
        orgs,
      });
    await harness.runs.open(anOrder({ org: 'acme', report: 'weekly', createdAt: NOON - 1_000 }));
    last = (await harness.runs.open(anOrder({ org: 'acme', report: 'weekly', createdAt: NOON }))).record.id;
  });
  afterEach(() => harness.close());

  const page = async (path: string) => {
    const response = await app.request(path, { headers: { authorization: `Bearer ${token.token}` } });
    const body = (await response.json()) as {
      reports: (Omit<ReportEntry, 'last'> & { last: { id: string } | null })[];
    };
    return { status: response.status, reports: body.reports, link: response.headers.get('link') };
  };
  const names = (reports: readonly Pick<ReportEntry, 'org' | 'report'>[]) =>
    reports.map(({ org, report }) => `${org}/${report}`);

  it('is paged by Link headers: each visible report once, ordered by name', async () => {
    const seen: string[] = [];
    let path: string | undefined = '/api/reports?limit=1';
    for (let turns = 0; path !== undefined && turns < 10; turns += 1) {
      const { status, reports, link } = await page(path);
      expect(status).toBe(200);
      expect(reports).toHaveLength(1);
      seen.push(...names(reports));
      path = /<([^>]+)>; rel="next"/.exec(link ?? '')?.[1];
    }
    expect(seen).toEqual(['acme-b/weekly', 'acme/broken', 'acme/daily', 'acme/weekly']);
    expect(names((await page('/api/reports?org=acme&after=acme/broken')).reports)).toEqual([
      'acme/daily',
      'acme/weekly',
    ]);
  });

  it('shows the newest run of each report and whether its file has errors', async () => {
    const { reports } = await page('/api/reports?org=acme');
    expect(reports.map(({ last: run }) => run?.id ?? null)).toEqual([null, null, last]);
    expect(reports.map(({ faults }) => faults.length > 0)).toEqual([true, false, false]);
  });

  it('answers 404 for other and unknown organizations, and rejects an invalid cursor', async () => {
    expect(await page('/api/reports?org=rival')).toMatchObject({ status: 404 });
    expect(await page('/api/reports?org=nobody')).toMatchObject({ status: 404 });
    expect(await page('/api/reports?org=empty')).toMatchObject({ status: 200, reports: [] });
    for (const after of ['acme', 'a/b/c', '../x', '/', 'ACME/x']) {
      expect(await page(`/api/reports?after=${encodeURIComponent(after)}`)).toMatchObject({ status: 422 });
    }
  });

  it('gives every reader the days of a period in the report’s own zone and calendar', async () => {
    const own = access('acme');
    const [month, days] = await own.periods('acme', 'weekly', [
      'previous_month',
      { from: '2026-01-01', to: '2026-01-31' },
    ]);
    expect(month).toMatchObject({ from: '2026-10-01', to: '2026-10-31' });
    expect(days).toMatchObject({ from: '2026-01-01', to: '2026-01-31' });
    expect(await own.periods('acme', 'broken', ['previous_month'])).toEqual([]);
    for (const [org, report] of [
      ['rival', 'weekly'],
      ['acme', 'gone'],
    ] as const) {
      await expect(own.periods(org, report, ['previous_month'])).rejects.toMatchObject({ code: 'request.not_found' });
    }
  });

  it('filters reports by words of title and name, by pauses and by errors', async () => {
    const found = async (filter: { match?: string; state?: 'paused' | 'errors' }) =>
      (await access('acme', 'acme-b').reports({ ...filter, limit: 10 })).reports.map(
        ({ org, report }) => `${org}/${report}`,
      );
    expect(await found({ match: 'DAILY' })).toEqual(['acme/daily']);
    expect(await found({ match: 'acme-B weekly' })).toEqual(['acme-b/weekly']);
    expect(await found({ match: 'rival' })).toEqual([]);
    expect(await found({ state: 'errors' })).toEqual(['acme/broken']);
    expect(await found({ state: 'paused' })).toEqual([]);
  });
});
