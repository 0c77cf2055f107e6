import { DateTime } from 'luxon';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunView } from '../../../src/admin/api/schemas.ts';
import { newToken, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import type { AdminApp } from '../../../src/admin/hono-env.ts';
import { createTestAdmin } from '../../support/admin.ts';
import { loadedJobs } from '../../support/loaded-jobs.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { anOrder, openQueueHarness, type QueueHarness, reportDefinition } from '../../support/queue-harness.ts';

const DAY_MS = 86_400_000;
/** Recent enough for Redis, which drops index entries older than the retention by its own clock. */
const NOON = Math.floor(Date.now() / DAY_MS) * DAY_MS - 3.5 * DAY_MS;
const moment = (seconds: number, zone = 'utc'): string =>
  encodeURIComponent(DateTime.fromMillis(NOON + seconds * 1_000, { zone }).toISO() ?? '');
const tokens = { ops: newToken(), both: newToken() };
const entries: TokenEntry[] = [
  { name: 'ops', sha256: tokens.ops.sha256, role: 'operator', orgs: ['acme'] },
  // An organization that is named twice counts once.
  { name: 'both', sha256: tokens.both.sha256, role: 'viewer', orgs: ['acme', 'rival', 'acme'] },
];

describe('the listing of runs', () => {
  let harness: QueueHarness;
  let app: AdminApp;
  /** Oldest first: every second one run of each organization. */
  const ids: Record<'acme' | 'rival', string[]> = { acme: [], rival: [] };
  beforeAll(async () => {
    harness = await openQueueHarness(manualClock(NOON));
    const jobs = loadedJobs(reportDefinition());
    app = createTestAdmin(
      entries,
      { jobs: () => jobs, runs: harness.runs, trigger: harness.trigger },
      { clock: manualClock(NOON) },
    );
    for (let second = 0; second < 6; second += 1) {
      for (const org of ['acme', 'rival'] as const) {
        const { record } = await harness.runs.open(anOrder({ org, createdAt: NOON + second * 1_000 }));
        ids[org].push(record.id);
      }
    }
  });
  afterAll(() => harness.close());

  const page = async (path: string, as: keyof typeof tokens = 'ops') => {
    const response = await app.request(path, { headers: { authorization: `Bearer ${tokens[as].token}` } });
    expect(response.status).toBe(200);
    const { runs, next } = (await response.json()) as { runs: RunView[]; next: string | null };
    return { ids: runs.map(({ id }) => id), next, link: response.headers.get('link') };
  };
  const newestFirst = (list: readonly string[]) => [...list].reverse();

  it('starts at `since` and stops before `until`, in any time zone', async () => {
    const { ids: some } = await page(`/api/runs?since=${moment(2)}&until=${moment(4, 'UTC+1')}`);
    expect(some).toEqual(newestFirst(ids.acme.slice(2, 4)));
    expect((await page(`/api/runs?since=${moment(6)}`)).ids).toEqual([]);
    expect((await page(`/api/runs?until=${moment(0)}`)).ids).toEqual([]);
  });

  it('is paged by Link headers: each run once, with the filters kept', async () => {
    const walk = async (first: string, as: keyof typeof tokens) => {
      const seen: string[] = [];
      for (let path: string | undefined = first, turns = 0; path !== undefined && turns < 20; turns += 1) {
        const { ids: some, next, link } = await page(path, as);
        seen.push(...some);
        path = /^<([^>]+)>; rel="next"$/.exec(link ?? '')?.[1];
        expect(path === undefined).toBe(next === null);
        if (path !== undefined) expect(new URL(path, 'http://docket').searchParams.get('after')).toBe(next);
      }
      return seen;
    };
    expect(await walk('/api/runs?limit=4', 'ops')).toEqual(newestFirst(ids.acme));
    // Two runs of the same millisecond are on different pages.
    const all = await walk('/api/runs?limit=5', 'both');
    expect(all).toHaveLength(12);
    expect(new Set(all)).toEqual(new Set([...ids.acme, ...ids.rival]));
    expect(await walk(`/api/runs?limit=1&state=queued&state=running&since=${moment(4)}`, 'ops')).toEqual(
      newestFirst(ids.acme.slice(4)),
    );
  });

  it('shows no run of another organization for a forged cursor', async () => {
    const [foreign] = ids.rival.slice(-1);
    expect((await page(`/api/runs?after=${NOON + 5_000}-${foreign}`)).ids.every((id) => ids.acme.includes(id))).toBe(
      true,
    );
    expect((await page(`/api/runs?after=9999999999999999-${'0'.repeat(32)}`)).ids).toEqual(newestFirst(ids.acme));
    expect(await page(`/api/runs?after=0-${'0'.repeat(32)}`)).toEqual({ ids: [], next: null, link: null });
  });
});

describe('an Idempotency-Key', () => {
  let harness: QueueHarness;
  let post: (
    body: object,
    report?: string,
  ) => Promise<{ status: number; id: string | undefined; code: string | undefined }>;
  beforeAll(async () => {
    harness = await openQueueHarness(manualClock(NOON));
  });
  beforeEach(() => {
    const jobs = loadedJobs(reportDefinition('weekly'), reportDefinition('daily'));
    const app = createTestAdmin(entries, { jobs: () => jobs, runs: harness.runs, trigger: harness.trigger });
    post = async (body, report = 'weekly') => {
      const response = await app.request(`/api/reports/acme/${report}/runs`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${tokens.ops.token}`,
          'content-type': 'application/json',
          'idempotency-key': 'one',
        },
        body: JSON.stringify(body),
      });
      const { id, code } = (await response.json()) as { id?: string; code?: string };
      return { status: response.status, id, code };
    };
  });
  afterAll(() => harness.close());

  it('conflicts when it is repeated with another priority, and opens a separate run of another report', async () => {
    const first = await post({ priority: 'backfill' });
    expect(first.status).toBe(202);
    expect(await harness.runs.get(first.id ?? '')).toMatchObject({ by: 'ops', bySubject: 'token:ops' });
    expect(await post({ priority: 'backfill' })).toEqual(first);
    expect(await post({ priority: 'on_demand' })).toMatchObject({ status: 409, code: 'run.conflict' });
    expect(await post({})).toMatchObject({ status: 409 });
    const other = await post({ priority: 'backfill' }, 'daily');
    expect(other.status).toBe(202);
    expect(other.id).not.toBe(first.id);
  });
});
