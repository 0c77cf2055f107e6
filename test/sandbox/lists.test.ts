import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { organizationSchema, pageSchema } from '../../src/contract/organization.ts';
import { PAGE_SIZE } from '../../src/sandbox/pagination.ts';
import { inProcessSandbox } from '../support/in-process-sandbox.ts';

const sandbox = inProcessSandbox({ now: Date.parse('2026-04-08T08:30:00Z') });
const page = async (path: string) => pageSchema.parse((await sandbox.get(path)).body);
const ORIGIN = 'http://sandbox.test';

/** Follows `next` until it is null. */
async function walk(path: string) {
  const pages: Awaited<ReturnType<typeof page>>[] = [];
  for (let next: string | null = path; next !== null; next = pages.at(-1)?.next ?? null) {
    expect(pages.length).toBeLessThan(1000);
    pages.push(await page(next.replace(ORIGIN, '')));
  }
  return pages;
}

describe('organizations (§2.1)', () => {
  it('come as a plain array with links that work', async () => {
    const { body } = await sandbox.get('/api/orgs/');
    const raws = z.array(z.record(z.string(), z.unknown())).parse(body);
    for (const raw of raws) {
      const organization = organizationSchema.parse(raw);
      expect(organization.created_at).toBe(new Date(organization.created_at ?? '').toISOString());
      for (const [field, link] of Object.entries(raw)) {
        if (!/(^|_)url$/.test(field)) continue;
        expect(link).toMatch(new RegExp(`^${ORIGIN}/api/orgs/${organization.id}/`));
        expect((await sandbox.get(String(link).replace(ORIGIN, ''))).status, field).toBe(200);
      }
    }
    expect(Object.keys(raws[0] ?? {})).toEqual(
      expect.arrayContaining([
        'profiles_url',
        'blockchain_addresses_url',
        'alerts_url',
        'members_url',
        'api_keys_url',
        'roles_url',
        'invitations_url',
        'profile_groups_url',
        'tags_url',
      ]),
    );
  });
});

describe('pages (§2.3, §4)', () => {
  it('lead through the whole list by `next`, and back by `previous`', async () => {
    const pages = await walk('/api/orgs/103/profiles/');
    const ids = pages.flatMap(({ results }) => results.map(({ id }) => Number(id)));
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    expect(new Set(ids).size).toBe(pages[0]?.count);
    expect(ids).toHaveLength(pages[0]?.count ?? 0);
    for (const { results } of pages.slice(0, -1)) expect(results).toHaveLength(PAGE_SIZE);
    expect(pages[0]?.previous).toBeNull();
    expect(pages[1]?.previous).toBe(`${ORIGIN}/api/orgs/103/profiles/?page=1`);
    expect(pages[0]?.next).toBe(`${ORIGIN}/api/orgs/103/profiles/?page=2`);
  });

  it('keep the filters in their links', async () => {
    const pages = await walk('/api/orgs/101/profiles/?search=kell&ordering=-name');
    expect(pages.length).toBeGreaterThan(1);
    const names = pages.flatMap(({ results }) => results.map(({ name }) => String(name)));
    for (const name of names) expect(name.toLowerCase()).toContain('kell');
    expect(names).toEqual([...names].sort().reverse());
    for (const { next } of pages.slice(0, -1)) {
      expect(Object.fromEntries(new URL(next ?? '').searchParams)).toMatchObject({ search: 'kell', ordering: '-name' });
    }
  });

  it('count as many profiles as profiles.created does', async () => {
    const { count } = await page('/api/orgs/102/profiles/');
    let counted = 0;
    for (const year of [2023, 2024, 2025, 2026]) {
      const { rows } = await sandbox.answered(
        { metrics: ['profiles.created'], time: { from: `${year}-01-01`, to: `${year}-12-31` } },
        { org: 102 },
      );
      counted += Number(rows[0]?.['profiles.created']);
    }
    expect(count).toBe(counted);
  });

  it.each(['0', '-1', 'two', '1.5', '99999', '1e1', ''])('answer 404 for page number %j', async (requested) => {
    expect((await sandbox.get(`/api/orgs/103/profiles/?page=${requested}`)).status).toBe(404);
  });

  it('refuse an ordering that the list does not have', async () => {
    expect(await sandbox.get('/api/orgs/103/profiles/?ordering=shoe_size')).toMatchObject({
      status: 422,
      body: { code: 'validation.failed', errors: [{ metadata: { allowed: expect.arrayContaining(['name']) } }] },
    });
  });

  it('are empty without records, and when a search finds nothing', async () => {
    const empty = { count: 0, next: null, previous: null, results: [] };
    expect(await page('/api/orgs/104/profiles/')).toEqual(empty);
    expect(await page('/api/orgs/103/profiles/?search=zzzzzz')).toEqual(empty);
  });
});

describe('records (§2.2)', () => {
  it('have the review statuses that the metrics count', async () => {
    const pages = await walk('/api/orgs/103/profiles/');
    const profiles = pages.flatMap(({ results }) => results);
    const { rows } = await sandbox.answered(
      { metrics: ['profiles.pending_review'], dimensions: ['profile.review_status'] },
      { org: 103 },
    );
    for (const row of rows) {
      const listed = profiles.filter((profile) => profile.review_status === row['profile.review_status']);
      expect(row['profiles.pending_review']).toBe(listed.length);
    }
    for (const profile of profiles) expect(profile.name).toMatch(/^\S+ \S+/);
  });

  it('are found by their id in their own organization only', async () => {
    const [first] = (await page('/api/orgs/103/profiles/')).results;
    expect((await sandbox.get(`/api/orgs/103/profiles/${first?.id}/`)).body).toEqual(first);
    expect((await sandbox.get(`/api/orgs/102/profiles/${first?.id}/`)).status).toBe(404);
    expect((await sandbox.get('/api/orgs/103/profiles/0x1/')).status).toBe(404);
  });

  it('count as many open alerts and RFIs as the current counts', async () => {
    const { rows } = await sandbox.answered({ metrics: ['alerts.open', 'rfis.open'] }, { org: 103 });
    const open = async (list: string, states: string[]) => {
      const pages = await walk(`/api/orgs/103/${list}/`);
      return pages.flatMap(({ results }) => results).filter(({ status }) => states.includes(String(status))).length;
    };
    expect(await open('alerts', ['open', 'in_progress'])).toBe(rows[0]?.['alerts.open']);
    expect(await open('rfis', ['open'])).toBe(rows[0]?.['rfis.open']);
  });
});

it('GET / shows commands to copy, with a key that is valid', async () => {
  const { status, body } = await sandbox.get('/');
  expect(status).toBe(200);
  expect(body).toContain(sandbox.keyOf('all'));
  expect(body).toContain('Acme Payments');
  expect(body).toContain('/api/orgs/current/analytics/report/');
});
