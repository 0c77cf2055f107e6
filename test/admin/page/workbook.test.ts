import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { Access } from '../../../src/admin/access/access.ts';
import { createToken } from '../../support/authenticated-app.ts';
import { openPage } from '../../support/open-page.ts';
import { done, files, report, workbook } from '../../support/page-data.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

const anna = createToken('anna');
const prefix = randomPrefix();
let redis: Redis;
beforeAll(() => {
  redis = new Redis(inject('redisUrl'));
});
afterAll(() => redis.quit());

/** The text of a page’s workbook section; undefined if there is none. */
async function workbookText(path: string, change: Partial<Access> = {}): Promise<string | undefined> {
  const browser = await openPage({ redis, prefix }, [anna.entry], () => change).visit(anna.token);
  const page = await (await browser.send('GET', path)).text();
  const [part] = /<section aria-labelledby="workbook">[\s\S]*?<\/section>/.exec(page) ?? [];
  return part?.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
}

test('a report shows the bindings of its template, and where the template cannot be filled', async () => {
  const text = await workbookText('/reports/acme/weekly-kpi');
  for (const { at, expected, got } of workbook.problems) {
    for (const part of [at ?? '', expected, got])
      expect(text).toContain(part.replace('<b>', '&lt;b&gt;').replaceAll("'", '&#39;'));
  }
  for (const { header } of workbook.tables[0]?.columns ?? []) expect(text).toContain(header);
  expect(text).toContain('profiles.approval_rate.previous_period');
  expect(text).toContain('3 of 4');
});

test('a report whose template can be filled says how much of it is bound', async () => {
  const good = { ...report, workbook: { ...workbook, problems: [] } };
  expect(await workbookText('/reports/acme/weekly-kpi', { report: async () => good })).toContain(
    '1 table and 2 named cells',
  );
  const none = { ...report, workbook: null };
  expect(await workbookText('/reports/acme/weekly-kpi', { report: async () => none })).toBeUndefined();
});

test('a run shows what was filled: range, section, rows and names', async () => {
  const text = await workbookText(`/runs/${done.id}`);
  for (const part of ['kpis.xlsx', 'B4:E12', 'onboarding', ' 7 ', 'docket.period.label']) expect(text).toContain(part);
  const plain = files.map(({ workbook: _, ...file }) => file);
  expect(await workbookText(`/runs/${done.id}`, { files: async () => plain })).toBeUndefined();
});
