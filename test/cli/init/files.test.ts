import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import {
  type Answers,
  idFromName,
  quoteForShell,
  STARTER_REPORTS,
  validateAddresses,
  validateKeyEnv,
  validateKeyFile,
  validateOwner,
  validateSmtpUrl,
  validateUrl,
} from '../../../src/cli/init/answers.ts';
import { completeAnswers } from '../../../src/cli/init/draft.ts';
import { createFiles } from '../../../src/cli/init/files.ts';
import { assertNoExistingFiles, writeFiles } from '../../../src/cli/init/write-files.ts';
import { RECIPE_NAMES, type RecipeName } from '../../../src/cli/recipes/recipe.ts';
import { reportYaml } from '../../../src/cli/recipes/report-yaml.ts';
import { loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { type Catalog, catalogSchema, isCurrentCount } from '../../../src/contract/catalog.ts';
import { canonicalAddress } from '../../../src/definitions/allow-lists/recipients.ts';
import { resolveReportPeriod } from '../../../src/definitions/periods/period.ts';
import { isZone } from '../../../src/definitions/schema/values/primitives.ts';
import { checkPlan } from '../../../src/plan/checks/check-plan.ts';
import { checkTargets } from '../../../src/plan/checks/check-targets.ts';
import { cases } from '../../support/fuzz.ts';
import { inProcessSandbox } from '../../support/in-process-sandbox.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');

let folder: string;
const catalogs: Catalog[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-init-'));
  const sandbox = inProcessSandbox({ now: NOW });
  for (const org of [101, 102, 103, 104]) {
    catalogs.push(catalogSchema.parse((await sandbox.get(`/api/orgs/${org}/analytics/metrics/`)).body));
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let count = 0;
const place = () => {
  const own = join(folder, String(count++));
  return { folder: own, jobs: join(own, 'jobs') };
};

const addresses = fc
  .tuple(
    fc.string({ unit: fc.constantFrom(..."abzAZ019!#$%&'*+/=?^_`{|}~-"), minLength: 1, maxLength: 20 }),
    fc.constantFrom('acme.example', 'bücher.example', 'sub.ACME.example', 'xn--bcher-kva.example'),
  )
  .map(([local, domain]) => canonicalAddress(`${local}@${domain}`))
  .filter((address) => address !== undefined);
const OPTIONS = { report: 'x', owner: 'a@acme.example', to: ['a@acme.example'] };
const sectionsOf = (name: RecipeName, catalog: Catalog | undefined) => {
  const { text } = reportYaml(name, OPTIONS, catalog);
  return z.object({ sections: z.array(z.looseObject({ id: z.string() })) }).parse(parse(text)).sections;
};
const line = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 });
const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone').filter(isZone), 'UTC');

const answers: fc.Arbitrary<Answers> = fc
  .record({
    org: fc.oneof(
      fc.constantFrom('null', 'true', 'no', 'on', '0', '007', '1e5', '0x1f', '12_34', 'y', 'n', '1-2', 'nan'),
      fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,40}$/),
    ),
    name: fc.option(
      fc.oneof(
        line,
        fc.constantFrom(
          '# no comment',
          '- a',
          'a: b',
          '"',
          "'",
          '{x}',
          '%TAG',
          '!!str',
          '&a *a',
          'Yes',
          '1e3',
          '~',
          'Acme “Pay” — Zürich 🏦',
        ),
      ),
      { nil: undefined },
    ),
    serviceOrg: fc.oneof(fc.constant('current' as const), fc.integer({ min: 1, max: 2 ** 31 })),
    key: fc.oneof(
      fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,30}$/).map((env) => ({ env })),
      line.filter((file) => file.trim() !== '' && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(file)).map((file) => ({ file })),
    ),
    timezone: zones,
    to: fc.uniqueArray(addresses, { minLength: 1, maxLength: 5, selector: (address) => address.toLowerCase() }),
    allow: fc.constantFrom('address' as const, 'domain' as const),
    owner: addresses.filter((address) => validateOwner(address) === undefined),
    report: fc.constantFrom(...STARTER_REPORTS),
    url: fc.constantFrom('http://127.0.0.1:8600', 'https://api.example.com/v1/a&b;c', "https://api.example.com/it's"),
  })
  .map(({ name, ...rest }) => {
    // `completeAnswers` drops names that cannot be written: the service may give an organization any name.
    const known = completeAnswers({ ...rest, ...(name === undefined ? {} : { name }) }, { errors: [] });
    return known;
  });

/** A catalog of another organization: fewer metrics, other dimensions and granularities, unusual labels. */
const variants = fc
  .record({
    of: fc.nat(3),
    draws: fc.array(fc.nat(9), { minLength: 50, maxLength: 200 }),
    label: fc.oneof(line, fc.constantFrom('two\nlines', '\u2028deliveries: []', '---\n')),
  })
  .map(({ of, draws, label }) => (): Catalog => {
    const base = catalogs[of];
    if (base === undefined) throw new Error('no catalog');
    let drawn = 0;
    const next = () => draws[drawn++ % draws.length] ?? 0;
    return {
      ...base,
      metrics: base.metrics
        .filter(() => next() > 3)
        .map((metric) => ({
          ...metric,
          label: next() > 6 ? label : metric.label,
          granularities: metric.granularities.filter(() => next() > 1),
          dimensions: metric.dimensions.filter(() => next() > 1),
          ...(next() === 0 ? { deprecated_at: '2026-01-01T00:00:00Z' } : {}),
        })),
      dimensions: base.dimensions.filter(() => next() > 0),
    };
  });

/** Activates the suggested targets as the comment in the file says. */
const withTargets = (text: string): string =>
  text.includes('\n#   - ') ? text.replace('targets: []', 'targets:').replace(/^# (?= {2})/gm, '') : text;

describe('the files of a first organization', () => {
  test('are valid, use only what the catalog has, and contain what was answered, for any answers', async () => {
    await fc.assert(
      fc.asyncProperty(answers, fc.option(variants, { nil: undefined }), async (given, variant) => {
        const catalog = variant?.();
        const places = place();
        const files = createFiles(given, catalog, places);
        await writeFiles(files);
        const jobs = await loadDefinitions(places.jobs);
        expect(jobs.diagnostics).toEqual([]);
        const settings = jobs.orgs.get(given.org);
        expect(settings).toMatchObject({
          id: given.org,
          org: given.serviceOrg,
          api_key: given.key,
          timezone: given.timezone,
        });
        expect(settings?.name).toBe(given.name);
        expect(jobs.reports.size).toBe(given.report === 'both' ? 2 : 1);
        for (const definition of jobs.reports.values()) {
          expect(definition.deliveries).toMatchObject([{ email: { to: given.to } }]);
          expect(definition.owner).toBe(given.owner);
          if (settings === undefined || catalog === undefined || catalog.metrics.length === 0) continue;
          const period = resolveReportPeriod(definition, settings, NOW);
          expect(checkPlan({ definition, period, catalog })).toEqual([]);
        }
        const env = parseEnv(await readFile(join(places.folder, 'docket.env'), 'utf8'));
        if (!given.url.includes("'")) expect(env.COMPLIANCE_API_URL).toBe(given.url);
        await rm(places.folder, { recursive: true });
      }),
      cases(100),
    );
  });

  test('suggest targets in comments, which are valid once activated', async () => {
    await fc.assert(
      fc.asyncProperty(answers, fc.option(variants, { nil: undefined }), async (given, variant) => {
        const catalog = variant?.();
        const places = place();
        const files = createFiles(given, catalog, places).map((file) =>
          file.path.endsWith('targets.yaml') ? { ...file, text: withTargets(file.text) } : file,
        );
        await writeFiles(files);
        const jobs = await loadDefinitions(places.jobs);
        expect(jobs.diagnostics).toEqual([]);
        const targets = jobs.orgs.get(given.org)?.targets ?? [];
        if (catalog === undefined) expect(targets).toHaveLength(4);
        else {
          expect(targets.length).toBeGreaterThanOrEqual(Math.min(1, catalog.metrics.length));
          expect(checkTargets(targets, catalog)).toEqual([]);
        }
        await rm(places.folder, { recursive: true });
      }),
      cases(30),
    );
  });

  test('begin with a scorecard', () => {
    for (const name of ['weekly-kpi', 'board-pack'] as const) {
      for (const catalog of [undefined, ...catalogs]) {
        expect(sectionsOf(name, catalog)[0]).toMatchObject({ id: 'scorecard', layout: 'scorecard' });
      }
    }
  });

  test.each(['weekly', 'monthly'] as const)('suggest groups and a trend that work in a %s report', async (report) => {
    const [answer] = fc.sample(answers, 1);
    if (answer === undefined) throw new Error('no answers');
    const places = place();
    const given = { ...answer, report };
    const files = createFiles(given, catalogs[0], places).map((file) => ({
      ...file,
      text: file.text.replace(/^( +)# ((trend|groups):| +- \{ title: More)/gm, '$1$2'),
    }));
    await writeFiles(files);
    const jobs = await loadDefinitions(places.jobs);
    expect(jobs.diagnostics).toEqual([]);
    const [definition] = [...jobs.reports.values()];
    expect(definition?.sections[0]).toMatchObject({
      trend: 13,
      groups: [{ metrics: [expect.any(String), expect.any(String)] }],
    });
    await rm(places.folder, { recursive: true });
  });

  test('keep the spaces of an answer, even those that only Unicode counts as spaces', async () => {
    const key = { file: '/run/secrets/key\u00a0' };
    const answer = fc.sample(answers, 1)[0];
    if (answer === undefined) throw new Error('no answers');
    const places = place();
    await writeFiles(createFiles({ ...answer, key }, undefined, places));
    expect((await loadDefinitions(places.jobs)).orgs.get(answer.org)?.api_key).toEqual(key);
    await rm(places.folder, { recursive: true });
  });

  test('use only metrics that the key can read, without sections of other features', () => {
    const ids = (catalog: Catalog | undefined) => sectionsOf('board-pack', catalog).map(({ id }) => id);
    expect(ids(catalogs[0])).toContain('transactions');
    // Lakeside Trust does not use transactions.
    expect(ids(catalogs[2])).not.toContain('transactions');
    expect(ids(undefined)).not.toContain('transactions');
    const known = catalogs[0];
    if (known === undefined) throw new Error('no catalog');
    const own = known.metrics.filter(({ id }) => id.startsWith('intake.'));
    expect(sectionsOf('weekly-kpi', { ...known, metrics: own })).toMatchObject([
      { id: 'figures', metrics: own.map(({ id }) => id) },
    ]);
  });

  test('fetch completed periods ahead, unless there is nothing to fetch ahead', () => {
    const current = catalogs.map((catalog) => ({ ...catalog, metrics: catalog.metrics.filter(isCurrentCount) }));
    const prepared = (name: RecipeName, catalog?: Catalog, dataReady?: number) =>
      /^schedule:.*prepare: 1h.*fetched from/m.test(reportYaml(name, { ...OPTIONS, dataReady }, catalog).text);
    expect(RECIPE_NAMES.filter((name) => prepared(name))).toEqual(['weekly-kpi', 'board-pack', 'approved-pack']);
    expect(prepared('weekly-kpi', catalogs[0])).toBe(true);
    expect(prepared('weekly-kpi', current[0])).toBe(false);
    expect(prepared('board-pack', catalogs[0], 7 * 3600)).toBe(false);
  });
});

describe('writing the files', () => {
  const file = (path: string, shared = false) => ({ path, text: 'x\n', shared });

  test('replaces no file, and lists the existing ones', async () => {
    const { folder: own } = place();
    await writeFiles([file(join(own, 'acme/org.yaml')), file(join(own, 'acme/old.yml'))]);
    await expect(assertNoExistingFiles([file(join(own, 'acme/new.yaml'))], join(own, 'acme'))).rejects.toMatchObject({
      code: 'usage.invalid',
      message: expect.stringMatching(/acme\/old\.yml\n.*acme\/org\.yaml/),
    });
  });

  test('removes all new files and folders when one file cannot be written', async () => {
    const { folder: own } = place();
    await writeFiles([file(join(own, 'jobs/a/org.yaml'))]);
    const before = (await readdir(own, { recursive: true })).sort();
    // Somebody else has created the last file meanwhile.
    const wanted = [file(join(own, 'jobs/b/org.yaml')), file(join(own, 'env/x')), file(join(own, 'jobs/a/org.yaml'))];
    await expect(writeFiles(wanted)).rejects.toMatchObject({ code: 'usage.invalid' });
    expect((await readdir(own, { recursive: true })).sort()).toEqual(before);
    await writeFile(join(own, 'plain'), '');
    await expect(writeFiles([file(join(own, 'c/x')), file(join(own, 'plain/x'))])).rejects.toMatchObject({
      code: 'usage.invalid',
    });
    expect((await readdir(own, { recursive: true })).sort()).toEqual([...before, 'plain'].sort());
  });

  test('keeps existing files that all organizations share', async () => {
    const { folder: own } = place();
    await writeFiles([file(join(own, 'docket.env'), true)]);
    await writeFile(join(own, 'docket.env'), 'mine\n');
    const again = await writeFiles([file(join(own, 'docket.env'), true), file(join(own, 'b/org.yaml'))]);
    expect(again).toEqual({ written: [join(own, 'b/org.yaml')], kept: [join(own, 'docket.env')] });
    expect(await readFile(join(own, 'docket.env'), 'utf8')).toBe('mine\n');
  });
});

describe('the answers', () => {
  test('are rejected without repeating them if they contain a key instead of its place', () => {
    for (const key of [
      'sbx_acme.8FJzfA_Zpsh3KHGZKk_ZkrztVNRMoZxB',
      'ab12.Zk9XqLw82hT5mN3vRc7D',
      'ghp_abcdefghijkl1234',
    ]) {
      for (const fault of [validateKeyEnv(key), validateKeyFile(key)]) {
        expect(fault).toContain('looks like a key itself');
        expect(fault).not.toContain(key);
      }
    }
    expect(validateKeyEnv('ACME_API_KEY')).toBeUndefined();
    expect(validateKeyFile('/run/secrets/acme')).toBeUndefined();
  });

  test('cannot bring a password into a file by a URL', () => {
    expect(validateUrl('https://me:hunter2@api.example.com')).toBeDefined();
    expect(validateSmtpUrl('smtp://me:hunter2@mail.example.com')).toBeDefined();
    expect(validateSmtpUrl('smtp://mail.example.com:587')).toBeUndefined();
  });

  test('can be several addresses, and give a folder name for an organization', () => {
    expect(validateAddresses('a@acme.example, b@acme.example')).toBeUndefined();
    expect(validateAddresses('a@acme.example, b')).toBeDefined();
    expect(validateAddresses(' ')).toBeDefined();
    const given = { url: 'https://api.example.com', key: { env: 'K' }, org: 'acme' };
    expect(completeAnswers({ ...given, to: ['}a@acme.example', 'b@acme.example'] }, { errors: [] }).owner).toBe(
      'b@acme.example',
    );
    expect(() => completeAnswers({ ...given, to: ['}a@acme.example'] }, { errors: [] })).toThrow(
      expect.objectContaining({ expected: expect.stringContaining('--owner') }),
    );
    expect(['Acme Payments', 'Zürcher & Söhne AG', '株式会社', '--'].map(idFromName)).toEqual([
      'acme-payments',
      'zurcher-sohne-ag',
      undefined,
      undefined,
    ]);
    expect(quoteForShell("it's")).toBe("'it'\\''s'");
  });

  test('name everything that is missing at once', () => {
    expect(() => completeAnswers({}, { errors: [] })).toThrow(
      expect.objectContaining({ expected: expect.stringMatching(/--url.*--key-env.*--org.*--to/) }),
    );
  });
});
