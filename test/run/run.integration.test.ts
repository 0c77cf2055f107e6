import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import officeCrypto from 'officecrypto-tool';
import PostalMime from 'postal-mime';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/base/config/config.ts';
import { silentLog } from '../../src/base/log.ts';
import { secretSource } from '../../src/base/secrets/secret.ts';
import { loadDefinitions, requireReport } from '../../src/compose/built-in-kinds.ts';
import { composeInline } from '../../src/compose/run-ports.ts';
import { RENDER_THREAD } from '../../src/compose/threads.ts';
import type { Definition } from '../../src/definitions/schema/report-definition.ts';
import { directoryArchive } from '../../src/deliver/archive/inline-archive.ts';
import { createMailCatcher, type MailCatcher } from '../../src/demo/mail-catcher.ts';
import { memoryCatalogCache, RECENT_CATALOG_MAX_AGE_MS } from '../../src/fetch/cache/catalog-cache.ts';
import type { FindReadings } from '../../src/plan/reading.ts';
import { renderPool } from '../../src/render/render-pool.ts';
import { run } from '../../src/run/run.ts';
import type { RunPorts } from '../../src/run/run-context.ts';
import type { RunEvent } from '../../src/run/run-events.ts';
import { createRunOrder } from '../../src/run/run-order.ts';
import { parseFault, type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { manualClock } from '../support/manual-clock.ts';
import { memoryLedger } from '../support/memory-ledger.ts';
import { definitionOf } from '../support/reports.ts';

const WINDOW_MS = 300;

describe('a run, from its definition to its receipts', () => {
  let sandbox: Sandbox;
  let mail: MailCatcher;
  let folder: string;
  let close: () => Promise<void>;
  let ports: RunPorts;
  let report: ReturnType<typeof requireReport>;
  // One render thread for all tests, as in a worker: starting it takes longer than rendering these reports.
  const pool = renderPool({ entry: RENDER_THREAD, threads: 1 });

  beforeAll(async () => {
    // A short window, so that the tests need not wait. The organization’s budget below has the same one.
    sandbox = await startSandbox({ windowMs: WINDOW_MS });
  });
  afterAll(async () => {
    await pool.close();
    await sandbox.close();
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-run-'));
    mail = await createMailCatcher(join(folder, 'mailbox'));
    const { definition, settings } = requireReport(await loadDefinitions('jobs'), 'demo/weekly-kpi');
    report = { definition, settings: { ...settings, budget: { window: WINDOW_MS / 1000 } } };
    const config = readConfig({
      COMPLIANCE_API_URL: sandbox.url,
      SMTP_URL: mail.url,
      MAIL_FROM: 'reports@acme.example',
    });
    const key = sandbox.keys.find(({ label }) => label === 'acme')?.key;
    const inline = await composeInline(
      { config, env: { DEMO_API_KEY: key }, clock: systemClock, log: silentLog, workingDirectory: folder },
      directoryArchive(join(folder, 'archive')),
    );
    ports = { ...(await inline.buildRunPorts(report.settings)), ledger: memoryLedger(), render: pool.render };
    close = () => inline.scope.close();
  });
  afterEach(async () => {
    sandbox.setFaults([]);
    await close();
    await mail.close();
    await rm(folder, { recursive: true, force: true });
  });

  const order = (definition: Definition, deliver = true) =>
    createRunOrder({
      ...report,
      definition,
      trigger: 'schedule',
      priority: 'scheduled',
      slot: '2026-11-16T07:00:00.000Z',
      at: Date.parse('2026-11-16T07:00:00Z'),
      deliver,
      now: systemClock.now(),
    });
  const go = async (
    change: Partial<Definition> = {},
    how: {
      deliver?: boolean;
      signal?: AbortSignal;
      ports?: Partial<RunPorts>;
      lastAttempt?: boolean;
      observe?: (event: RunEvent) => void;
    } = {},
  ) => {
    const definition = { ...report.definition, ...change };
    const events: RunEvent[] = [];
    const outcome = await run(
      order(definition, how.deliver),
      {
        definition,
        settings: report.settings,
        signal: how.signal ?? new AbortController().signal,
        observe: (event) => {
          events.push(event);
          how.observe?.(event);
        },
        lastAttempt: how.lastAttempt ?? true,
      },
      { ...ports, ...how.ports },
    );
    return { outcome, events };
  };

  test('sends each recipient one message, writes the directory, and reports its stages in order', async () => {
    const { outcome, events } = await go();
    expect(outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
    expect(mail.messages().map(({ to }) => to)).toEqual([['head-of-compliance@acme.example'], ['mlro@acme.example']]);
    const reported = events.map(({ type }) => type).filter((type) => type !== 'timed' && type !== 'begun');
    expect(reported.filter((type, index, all) => type !== all[index - 1])).toEqual([
      'planned',
      'fetched',
      'rendered',
      'delivered',
    ]);
    for (const type of ['begun', 'timed']) {
      expect(events.flatMap((event) => (event.type === type && 'stage' in event ? event.stage : []))).toEqual([
        'plan',
        'fetch',
        'render',
        'seal',
        'deliver',
      ]);
    }
  });

  test('fails without a call when its own period has not begun', async () => {
    const { outcome, events } = await go({ period: { from: '2099-01-01', to: '2099-01-31' } });
    expect(outcome).toMatchObject({ kind: 'fail', error: { code: 'period.not_begun', retryable: false } });
    expect(events).toEqual([]);
    expect(mail.messages()).toEqual([]);
  });

  test('attaches each picture of the mail to the message, and archives the same picture', async () => {
    const { outcome } = await go();
    if (outcome.kind !== 'done') throw new Error(outcome.kind);
    const { mail: kept } = (await ports.archive.find(order(report.definition)))!;
    const [file = ''] = (await readdir(join(folder, 'mailbox'))).filter((name) => name.endsWith('.eml'));
    const message = await PostalMime.parse(await readFile(join(folder, 'mailbox', file)));
    const shown = [...(message.html ?? '').matchAll(/src="cid:([^"]+)"/g)].map(([, cid]) => `<${cid}>`);
    // The logo, the small charts of the scorecard and the charts of the sections.
    expect(shown).toHaveLength(7);
    const parts = message.attachments.filter(({ related }) => related);
    expect(parts.map(({ contentId }) => contentId).sort()).toEqual(shown.sort());
    expect(parts.map(({ content }) => Buffer.from(content as ArrayBuffer))).toEqual(
      kept.pictures.map(({ bytes }) => Buffer.from(bytes)),
    );
    expect(message.attachments.filter(({ related }) => !related).map(({ filename }) => filename)).toEqual([
      'Weekly KPIs 2026-W46.xlsx',
    ]);
    expect(message.text).toContain('created at 08:00, only on Monday (Europe/Zurich).');
    expect(message.text).not.toContain('somebody asked');
  });

  test('writes in the report’s locale, which overrides the organization’s', async () => {
    report = { ...report, settings: { ...report.settings, locale: 'en-US' } };
    await go({ locale: 'de-CH' });
    const [file = ''] = (await readdir(join(folder, 'mailbox'))).filter((name) => name.endsWith('.eml'));
    const message = await PostalMime.parse(await readFile(join(folder, 'mailbox', file)));
    expect(message.text).toContain('Montag, 9. – Sonntag, 15. November 2026');
    expect(message.text).toContain('nach Zeitplan erstellt: um 08:00, jeden Montag (Europe/Zurich).');
    expect(message.text).not.toMatch(/previous period|still running|You receive this e-mail/);
  });

  test('records targets, statuses and headlines in the manifest, and judges conditions by them', async () => {
    const targets = [
      { metric: 'profiles.approval_rate', better: 'higher', target: '100%', from: '2026-01-01' },
      { metric: 'profiles.decided', better: 'higher', per: 'week', target: 0 },
    ] as const;
    report = { ...report, settings: { ...report.settings, targets: [...targets] } };
    const email = (send_if: string, to: string) => ({
      send_if,
      email: { to: [to], attach: [], subject: '{{ headline }}', subject_figures: true },
    });
    // The render thread hashes the figures. Nothing else does.
    const hashed = 'f'.repeat(64);
    const render: RunPorts['render'] = async (request, signal) => {
      const rendered = await ports.render(request, signal);
      expect([request.figures, rendered.figures]).toEqual([true, expect.stringMatching(/^[0-9a-f]{64}$/)]);
      return { ...rendered, figures: hashed };
    };
    const deliveries = [
      email('breached', 'mlro@acme.example'),
      email('profiles.decided < 0', 'head-of-compliance@acme.example'),
    ];
    const { outcome } = await go({ headline: ['profiles.approval_rate'], deliveries }, { ports: { render } });
    // A figure that appears in two sections counts once.
    expect(outcome).toMatchObject({ kind: 'done', value: { state: 'done', statuses: { breached: 1, on_target: 1 } } });
    const { manifest } = (await ports.archive.find(order(report.definition)))!;
    expect(manifest.targets).toMatchObject([
      { metric: 'profiles.approval_rate', target: 1, source: 'organization' },
      { metric: 'profiles.decided', target: 0, per: 'week' },
    ]);
    expect(manifest.figures).toBe(hashed);
    const judged = manifest.judgements ?? [];
    expect(judged.map(({ section, metric, bucket, status }) => [section, metric, bucket, status])).toEqual([
      ['scorecard', 'profiles.approval_rate', null, 'breached'],
      ['onboarding', 'profiles.decided', null, 'on_target'],
      ['turnaround', 'profiles.approval_rate', null, 'breached'],
    ]);
    expect(manifest.headlines).toHaveLength(1);
    expect(manifest.headlines?.[0]).toMatch(/^Approval rate.*, target 100\.0%, breached/);
    expect(mail.messages().map(({ to }) => to)).toEqual([['mlro@acme.example']]);
    const [file = ''] = (await readdir(join(folder, 'mailbox'))).filter((name) => name.endsWith('.eml'));
    const message = await PostalMime.parse(await readFile(join(folder, 'mailbox', file)));
    expect(message.subject).toBe(manifest.headlines?.[0]);
    expect(message.text).toContain('■ breached');
  });

  test('records in the manifest which reading each figure comes from', async () => {
    const { sections } = definitionOf([
      { id: 'queue', metrics: ['alerts.open'], compare: 'previous_period' },
      { id: 'card', layout: 'scorecard', metrics: ['alerts.open'], trend: 2 },
    ]);
    const readings = { at: '22:30', metrics: ['alerts.open'], by: [] };
    report = { ...report, settings: { ...report.settings, readings } };
    const find: FindReadings = async (org, dimension, days) =>
      new Map(
        days
          .filter((day) => day === '2026-11-15')
          .map((day) => [
            day,
            {
              ...{
                version: 1,
                org,
                service_org: 'current',
                day,
                timezone: 'Europe/Zurich',
                question: 'whole',
                metrics: ['alerts.open'],
              },
              ...{ dimension, as_of: `${day}T21:30:05Z`, received_at: `${day}T21:30:06Z`, registry_version: 7 },
              ...{ correlation_id: 'c1', rows: [{ group: null, values: { 'alerts.open': 4 } }] },
            } as const,
          ]),
      );
    const before = sandbox.requests().length;
    const { outcome } = await go({ sections }, { deliver: false, ports: { readings: find } });
    const of = { section: 'queue', of: 'rows', bucket: null, question: 'whole' };
    const read = { day: '2026-11-15', as_of: '2026-11-15T21:30:05Z', correlation_id: 'c1' };
    const gap = { day: '2026-11-08', as_of: null, correlation_id: null };
    const expected = [
      { ...of, comparison: null, ...read },
      { ...of, comparison: 'previous_period', ...gap },
      { ...of, section: 'card', comparison: null, ...read },
      { ...of, section: 'card', comparison: 'previous_period', ...gap },
    ];
    expect(outcome).toMatchObject({ kind: 'done', value: { calls: [], readings: expected } });
    const { manifest } = (await ports.archive.find(order(report.definition)))!;
    expect(manifest.readings).toEqual(expected);
    const ofTrend = { section: 'card', question: 'whole' };
    expect(manifest.trend_readings).toEqual([
      { ...ofTrend, bucket: '2026-11-02', ...gap },
      { ...ofTrend, bucket: '2026-11-09', ...read },
    ]);
    expect(sandbox.requests().slice(before)).not.toContainEqual(expect.objectContaining({ method: 'POST' }));
  });

  test('applies the target and headline of a deprecated metric to the successor that it follows', async () => {
    // Northwind still has the metric that was replaced.
    const key = sandbox.keys.find(({ label }) => label === 'northwind')?.key;
    const archive = directoryArchive(join(folder, 'other'));
    const inline = await composeInline(
      {
        config: readConfig({ COMPLIANCE_API_URL: sandbox.url }),
        env: { DEMO_API_KEY: key },
        clock: systemClock,
        log: silentLog,
        workingDirectory: folder,
      },
      archive,
    );
    try {
      const old = 'screening.matches';
      report = {
        ...report,
        settings: { ...report.settings, targets: [{ metric: old, better: 'lower', target: 0 }] },
      };
      const change = {
        follow_replacements: true,
        sections: [{ id: 'hits', metrics: [old], totals: false }],
        headline: [old],
        deliveries: [],
      };
      const { outcome } = await go(change, {
        ports: { ...(await inline.buildRunPorts(report.settings)), ledger: memoryLedger(), render: pool.render },
      });
      expect(outcome).toMatchObject({ kind: 'done', value: { statuses: { breached: 1 } } });
      const { manifest } = (await archive.find(order(report.definition)))!;
      expect(manifest.targets).toMatchObject([{ metric: 'screening.hits', target: 0 }]);
      expect(manifest.headlines).toEqual([expect.stringMatching(/^Screening hits: .*breached/)]);
    } finally {
      await inline.scope.close();
    }
  });

  test('requests, renders and sends nothing when the same order runs again', async () => {
    await go();
    const requestCount = sandbox.requests().length;
    const { outcome, events } = await go();
    expect(outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
    expect(sandbox.requests()).toHaveLength(requestCount);
    expect(mail.messages()).toHaveLength(2);
    expect(events.map(({ type }) => type)).toEqual(['begun', 'timed']);
  });

  test('fails without a call when the password of the workbook is missing', async () => {
    const requestCount = sandbox.requests().length;
    const outputs = [{ format: 'xlsx', password: { env: 'PACK_PASSWORD' } }] as const;
    const { outcome } = await go({ outputs: [...outputs], deliveries: [] });
    expect(outcome).toMatchObject({ kind: 'fail', error: { code: 'config.secret_missing', where: 'PACK_PASSWORD' } });
    expect(sandbox.requests()).toHaveLength(requestCount);
  });

  test('encrypts a workbook that has a password, and writes the password to no file', async () => {
    const password = 'correct-horse-9f2c';
    const outputs = [{ format: 'xlsx', password: { env: 'PACK_PASSWORD' } }] as const;
    const secrets = secretSource({ PACK_PASSWORD: password });
    const { outcome } = await go({ outputs: [...outputs], deliveries: [] }, { ports: { secrets } });
    expect(outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
    const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    const contents = await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name))));
    const workbook = contents[files.findIndex(({ name }) => name.endsWith('.xlsx'))] ?? Buffer.of();
    expect(officeCrypto.isEncrypted(workbook)).toBe(true);
    expect(contents.filter((bytes) => bytes.includes(password))).toEqual([]);
  });

  test('archives the files and sends nothing when delivery is off', async () => {
    const { outcome } = await go({}, { deliver: false });
    expect(outcome).toMatchObject({ kind: 'done', value: { state: 'done', receipts: [] } });
    expect(mail.messages()).toEqual([]);
  });

  test('keeps the answers from before a failed call, so that the next attempt requests only the rest', async () => {
    sandbox.setFaults([parseFault('status=503:2@/analytics/report/'), parseFault('status=500@/analytics/report/')]);
    const reports = () =>
      sandbox.requests().filter(({ path, status }) => path.includes('/report/') && status === 200).length;
    const before = reports();
    expect((await go()).outcome).toMatchObject({ kind: 'fail', error: { code: 'api.unavailable', retryable: true } });
    sandbox.setFaults([]);
    const { outcome } = await go();
    expect(outcome).toMatchObject({ kind: 'done' });
    // The section whose figures are readings needs no call, and the scorecard’s trend needs one.
    expect(reports() - before).toBe(report.definition.sections.length);
  });

  /** Days before the service’s first, for which it has no figures. */
  const EARLY = { from: '2015-01-05', to: '2015-01-11' };

  test('fails or delivers with a mark when figures are missing, as the definition says', async () => {
    const failed = await go({ period: EARLY, on_incomplete: 'fail' });
    expect(failed.outcome).toMatchObject({ kind: 'fail', error: { code: 'run.incomplete' } });

    const flagged = await go({ period: EARLY, on_incomplete: 'flag' });
    expect(flagged.outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
    if (flagged.outcome.kind === 'done') {
      expect(flagged.outcome.value.incomplete.map(({ code }) => code)).toContain('data_available_from');
    }
    expect(mail.messages()).toHaveLength(2);
  });

  test('is not held when its own limit cuts rows: they are not missing', async () => {
    const sections = report.definition.sections.map((section) => ({ ...section, limit: 1 }));
    const { outcome } = await go({ sections, on_incomplete: 'hold' });
    expect(outcome).toMatchObject({ kind: 'done', value: { state: 'done', incomplete: [] } });
    expect(mail.messages()).toHaveLength(2);
  });

  test('renders and archives a held pack, but does not send it', async () => {
    const { outcome } = await go({ period: EARLY, on_incomplete: 'hold' });
    expect(outcome).toMatchObject({ kind: 'done', value: { state: 'held', receipts: [] } });
    expect(mail.messages()).toEqual([]);
  });

  test('fails an attempt without a mail server, and is partly delivered after the last attempt', async () => {
    const dead = { mail: undefined };
    expect((await go({}, { ports: dead, lastAttempt: false })).outcome).toMatchObject({
      kind: 'fail',
      error: { code: 'deliver.target_failed', retryable: true },
    });
    const requestCount = sandbox.requests().length;
    expect((await go({}, { ports: dead })).outcome).toMatchObject({
      kind: 'done',
      value: { state: 'partly_delivered' },
    });
    const { outcome, events } = await go();
    expect(outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
    expect(mail.messages()).toHaveLength(2);
    // Only what was missing is sent: nothing is requested or rendered again, and the directory is not written twice.
    expect(sandbox.requests()).toHaveLength(requestCount);
    expect(events.flatMap((event) => (event.type === 'delivered' ? event.target : []))).toEqual(['0-email', '0-email']);
    // Each event says how long the attempt took.
    expect(events.every((event) => event.type !== 'delivered' || (event.ms ?? -1) >= 0)).toBe(true);
  });

  test('sends only the rest when it was stopped between two messages and continues', async () => {
    const stop = new AbortController();
    const stopped = await go(
      {},
      {
        signal: stop.signal,
        observe: (event) => {
          if (event.type === 'delivered' && event.target === '0-email') stop.abort(new Error('cancelled by ada'));
        },
      },
    );
    expect(stopped.outcome).toEqual({ kind: 'cancel', why: 'cancelled by ada' });
    expect(mail.messages()).toHaveLength(1);
    expect((await go()).outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
    expect(mail.messages().map(({ to }) => to)).toEqual([['head-of-compliance@acme.example'], ['mlro@acme.example']]);
  });

  test('is cancelled when its worker stops, and leaves no unfinished folder', async () => {
    const stop = new AbortController();
    stop.abort(new Error('the worker stops'));
    expect((await go({}, { signal: stop.signal })).outcome).toEqual({ kind: 'cancel', why: 'the worker stops' });
    expect(await ports.archive.find(order(report.definition))).toBeUndefined();
  });

  test('reads a new catalog for a group that was created after the catalog was read', async () => {
    const clock = manualClock(systemClock.now());
    const catalogs = memoryCatalogCache(clock);
    const countCatalogRequests = () =>
      sandbox.requests().filter(({ path }) => path.endsWith('/analytics/metrics/')).length;
    const before = countCatalogRequests();
    const filters = [{ dimension: 'profile.group', op: 'in' as const, values: ['Partners'] }];
    const [first] = report.definition.sections;
    const sections = [{ ...first, metrics: ['profiles.created'], filters, chart: undefined } as typeof first & object];
    sandbox.setFaults([parseFault('old-catalog=1:1')]);
    const partners = () => go({ sections, deliveries: [] }, { ports: { catalogs } });
    // The catalog has just been requested: nothing newer is available.
    expect((await partners()).outcome).toMatchObject({ kind: 'fail', error: { code: 'plan.invalid' } });
    expect(countCatalogRequests() - before).toBe(1);
    clock.advance(RECENT_CATALOG_MAX_AGE_MS + 1);
    expect((await partners()).outcome).toMatchObject({ kind: 'done' });
    expect(countCatalogRequests() - before).toBe(2);
  });

  test('fails before a report is requested when the catalog does not know a metric', async () => {
    const countRequests = () => sandbox.requests().filter(({ path }) => path.includes('/report/')).length;
    const before = countRequests();
    const [first, ...rest] = report.definition.sections;
    const sections = [{ ...first, metrics: ['profiles.creatde'] } as typeof first & object, ...rest];
    const { outcome } = await go({ sections });
    expect(outcome).toMatchObject({ kind: 'fail', error: { code: 'plan.invalid', retryable: false } });
    expect(countRequests()).toBe(before);
  });
});
