import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newToken, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import { DocketError } from '../../../src/base/error.ts';
import { loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { DEFINITION_THREAD } from '../../../src/compose/threads.ts';
import { overLimitDiagnostic } from '../../../src/definitions/diagnostics/diagnostic.ts';
import type { Definitions } from '../../../src/definitions/load/load-definitions.ts';
import { startValidationThread, type ValidateText } from '../../../src/services/definitions/definition-threads.ts';
import type { PlanExplainer } from '../../../src/services/definitions/explain-report.ts';
import { createTestAdmin, NO_PLANNING } from '../../support/admin.ts';
import { ORG, REPORT } from '../../support/jobs-folder.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { CATALOG } from '../../support/reports.ts';

const tokens = { viewer: newToken(), rival: newToken() };
const entries: TokenEntry[] = [
  { name: 'eyes', sha256: tokens.viewer.sha256, role: 'viewer', orgs: ['acme', 'nobody', 'broken'] },
  { name: 'them', sha256: tokens.rival.sha256, role: 'operator', orgs: ['rival'] },
];
const FILES = { 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT, 'rival/org.yaml': ORG, 'broken/org.yaml': 'org: [' };
let jobs: Definitions;
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'docket-definitions-'));
  for (const [name, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  jobs = await loadDefinitions(folder);
  await rm(folder, { recursive: true });
});
const NO_CATALOG = 'No metric catalog is held.';
const SETTINGS = { entry: DEFINITION_THREAD, clock: manualClock(Date.now()) };
const thread = startValidationThread({ ...SETTINGS, catalogOf: async () => NO_CATALOG });
afterAll(() => thread.close());
const anApp = (explainer: PlanExplainer = NO_PLANNING, checkText: ValidateText = thread.validate) =>
  createTestAdmin(entries, { jobs: () => jobs, explainer, checkText });
const validate = async (
  body: string | Uint8Array<ArrayBuffer>,
  {
    app = anApp(),
    name = 'acme/weekly',
    type = 'application/yaml',
    as = 'viewer',
  }: { app?: ReturnType<typeof anApp>; name?: string; type?: string; as?: keyof typeof tokens } = {},
) => {
  const response = await app.request(`/api/reports/${name}/validate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokens[as].token}`, 'content-type': type },
    body,
  });
  const answer: unknown = await response.json();
  return { status: response.status, body: answer };
};

it('accepts valid text of an existing and of a new report, and stores nothing', async () => {
  const fine = { status: 200, body: { ok: true, faults: [], unchecked: NO_CATALOG } };
  expect(await validate(REPORT)).toEqual(fine);
  expect(await validate(`\uFEFF${REPORT}`, { name: 'acme/brand-new', type: 'text/plain; charset=utf-8' })).toEqual(
    fine,
  );
  expect(jobs.reports.has('acme/brand-new')).toBe(false);
});

it('reports all errors at once, with line and column, as docket check does', async () => {
  const { status, body } = await validate(
    REPORT.replace('version: 1', 'version: 2').replace(/^title:.*$/m, 'titel: x'),
  );
  expect(status).toBe(200);
  expect(body).toMatchObject({ ok: false, unchecked: null });
  const { faults } = body as { faults: { line: number; column: number; text: string }[] };
  expect(faults.length).toBeGreaterThanOrEqual(2);
  for (const { line, column, text } of faults) expect(text).toContain(`acme/weekly.yaml:${line}:${column}: `);
  expect(await validate('')).toMatchObject({ status: 200, body: { ok: false } });
});

it('reports a metric that is not in the catalog at its line, and says when there is no catalog to compare with', async () => {
  const posted = startValidationThread({ ...SETTINGS, catalogOf: async () => CATALOG });
  const app = anApp(NO_PLANNING, posted.validate);
  const { body } = await validate(REPORT.replace('profiles.created', 'profiles.createt'), { app }).finally(
    posted.close,
  );
  const line = REPORT.split('\n').findIndex((text) => text.includes('metrics')) + 1;
  expect(body).toMatchObject({
    ok: false,
    faults: expect.arrayContaining([expect.objectContaining({ line, text: expect.stringContaining('createt') })]),
  });
  expect(await validate(REPORT, { name: 'broken/weekly' })).toMatchObject({
    body: { ok: true, unchecked: expect.stringContaining('org.yaml is invalid') },
  });
});

it('rejects YAML that expands too much, text that is too large, invalid UTF-8 and other media types', async () => {
  const bomb = [
    'a: &a [x,x,x,x,x,x,x,x,x,x]',
    ...'bcdefgh'.split('').map((name, n) => {
      const before = `*${'abcdefg'[n]}`;
      return `${name}: &${name} [${Array.from({ length: 10 }, () => before).join(',')}]`;
    }),
  ].join('\n');
  expect(await validate(bomb)).toMatchObject({ status: 200, body: { ok: false } });
  expect(await validate('#'.repeat(256 * 1024 + 1))).toMatchObject({ status: 413 });
  expect(await validate('#'.repeat(256 * 1024))).toMatchObject({ status: 200, body: { ok: false } });
  expect(await validate(new Uint8Array([0xff, 0xfe]))).toMatchObject({ status: 400 });
  expect(await validate('{}', { type: 'application/json' })).toMatchObject({ status: 415 });
});

it('reports text that exceeds a limit, and asks the client to come back when too many requests wait', async () => {
  const over = { ...overLimitDiagnostic('acme/weekly.yaml', '1 s'), line: 1, column: 1 };
  const given = anApp(NO_PLANNING, async () => ({ faults: [over], unchecked: null }));
  expect(await validate(REPORT, { app: given })).toMatchObject({
    status: 200,
    body: { ok: false, faults: [{ line: 1, column: 1, code: 'definition.over_limit' }] },
  });
  const full = anApp(NO_PLANNING, async () => {
    throw new DocketError('definition.busy', 'Too many.');
  });
  expect(await validate(REPORT, { app: full })).toMatchObject({ status: 503, body: { code: 'definition.busy' } });
});

it('answers 404 for reports of other organizations', async () => {
  for (const name of ['rival/weekly', 'nobody/weekly', 'acme/Not%20an%20id']) {
    expect(await validate(REPORT, { name })).toMatchObject({ status: 404 });
  }
  expect(await validate(REPORT, { as: 'rival' })).toMatchObject({ status: 404 });
});

it('explains a report for the requested period, and says what is missing', async () => {
  const requested: unknown[] = [];
  const app = anApp({
    explain: async ({ definition }, period, { mayFetch }) => {
      // A request of a viewer must not use a token.
      expect(mayFetch).toBe(false);
      requested.push(period);
      if (definition.report !== 'weekly') throw new Error('another report');
      if (requested.length === 3) throw new DocketError('catalog.missing', 'None is held.', { next: 'Run a report.' });
      return { tokens: 2 };
    },
  });
  const explain = async (path: string, as: keyof typeof tokens = 'viewer') => {
    const response = await app.request(`/api/reports/${path}`, {
      headers: { authorization: `Bearer ${tokens[as].token}` },
    });
    const body: unknown = await response.json();
    return { status: response.status, body };
  };
  expect(await explain('acme/weekly/explain')).toEqual({ status: 200, body: { tokens: 2 } });
  expect(await explain('acme/weekly/explain?period=2026-10')).toMatchObject({ status: 200 });
  expect(requested).toEqual([undefined, expect.anything()]);
  expect(await explain('acme/weekly/explain')).toMatchObject({
    status: 409,
    body: { code: 'catalog.missing', detail: 'None is held.', next: 'Run a report.' },
  });
  expect(await explain('acme/weekly/explain?period=someday')).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/period' }] },
  });
  expect((await explain('acme/gone/explain')).status).toBe(404);
  expect((await explain('acme/weekly/explain', 'rival')).status).toBe(404);
});
