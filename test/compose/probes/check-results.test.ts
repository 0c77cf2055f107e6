import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { readConfig } from '../../../src/base/config/config.ts';
import { silentLog } from '../../../src/base/log.ts';
import { Secret } from '../../../src/base/secrets/secret.ts';
import { loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { checkAdminTokens, evaluateTokens } from '../../../src/compose/probes/admin-tokens.ts';
import { checkApi, evaluateConnectionError, evaluateReply } from '../../../src/compose/probes/api.ts';
import { evaluateBudget, evaluateCatalog, evaluateKey } from '../../../src/compose/probes/api-keys.ts';
import { evaluateArchiveProbe, evaluateDiskUsage, evaluateIdentity } from '../../../src/compose/probes/archive.ts';
import { evaluateCertificate } from '../../../src/compose/probes/certificates.ts';
import { API_CLOCK, evaluateClockSkew, evaluateClockSteps, REDIS_CLOCK } from '../../../src/compose/probes/clock.ts';
import { checkDefinitions, checkReportScope } from '../../../src/compose/probes/definitions.ts';
import { diagnose } from '../../../src/compose/probes/diagnose.ts';
import { evaluateHandshake, evaluateSender, lookUpDomain } from '../../../src/compose/probes/mail.ts';
import { evaluateLatency, evaluateMemory, evaluatePersistence } from '../../../src/compose/probes/redis.ts';
import { checkTimeZoneData, evaluateNodeVersion, evaluateTimeZoneData } from '../../../src/compose/probes/runtime.ts';
import { evaluatePauses, evaluateSlots, evaluateWorkers } from '../../../src/compose/probes/schedules.ts';
import { probeSmtp } from '../../../src/deliver/targets/email/smtp/smtp-probe.ts';
import { localRedis } from '../../../src/demo/local-redis.ts';
import { type CheckResult, formatByteSize, ok } from '../../../src/services/deployment/probe.ts';
import { freePort } from '../../support/free-port.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';
import { TLS } from '../../support/tls.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const DAY = 86_400_000;
const GB = 1024 ** 3;

/** Checks the results by the expected state in their names. All but `ok` must say what to do. */
function states(cases: Readonly<Record<string, CheckResult | undefined>>) {
  for (const [name, result] of Object.entries(cases)) {
    const { state, remedy, detail } = result ?? ok('');
    const expected = /^(ok|warn|fail)/.exec(name)?.[0];
    expect(`${name}: ${state}`).toBe(`${name}: ${expected}`);
    expect(detail).toMatch(/\w/);
    if (state === 'ok') expect(remedy).toBeUndefined();
    else expect(remedy).toMatch(/\w/);
  }
}

describe('the check of Redis', () => {
  test('evaluates its persistence', () => {
    const keeping = (logged: boolean, persistent: boolean | undefined, writeError?: string) =>
      evaluatePersistence({ logged, persistent }, writeError);
    states({
      'ok logged': keeping(true, true),
      'ok not told': keeping(false, undefined),
      'warn snapshots': keeping(false, true),
      'warn nothing': keeping(false, false),
      'fail a write that failed': keeping(true, true, 'aof_last_write_status:err'),
    });
  });

  test('compares its memory with its limit or that of the machine', () => {
    const memory = (usedBytes: number, limitBytes: number, machineBytes: number) =>
      evaluateMemory({ usedBytes, limitBytes, machineBytes });
    states({
      'ok limit': memory(GB, 4 * GB, 0),
      'ok neither is told': memory(GB, 0, 0),
      'warn limit': memory(3.2 * GB, 4 * GB, 64 * GB),
      'warn machine': memory(3.2 * GB, 0, 4 * GB),
      'fail limit': memory(3.9 * GB, 4 * GB, 64 * GB),
    });
  });

  test('evaluates latency, clock skew and clock steps', () => {
    states({
      'ok near': evaluateLatency(0.4),
      'ok not far': evaluateLatency(49),
      'warn far': evaluateLatency(51),
      'fail hanging': evaluateLatency(1_001),
    });
    for (const sign of [-1, 1]) {
      states({
        'ok clock': evaluateClockSkew(sign * 999, REDIS_CLOCK),
        'warn clock': evaluateClockSkew(sign * 1_000, REDIS_CLOCK),
        'fail clock': evaluateClockSkew(sign * 30_000, REDIS_CLOCK),
        'ok header': evaluateClockSkew(sign * 4_999, API_CLOCK),
        'warn header': evaluateClockSkew(sign * 119_999, API_CLOCK),
        'fail header': evaluateClockSkew(sign * 120_000, API_CLOCK),
      });
    }
    const agrees = evaluateClockSkew(0, REDIS_CLOCK);
    const stepped = { steps: 2, last: { ms: -7_000, at: NOW } };
    states({
      'ok never stepped': evaluateClockSteps({ steps: 0, last: null }, NOW, agrees),
      'ok stepped long ago': evaluateClockSteps(stepped, NOW + 86_400_001, agrees),
      'warn stepped': evaluateClockSteps(stepped, NOW + 86_400_000, agrees),
      'warn stepped, and set back since': evaluateClockSteps(stepped, NOW - 3_600_000, agrees),
    });
    expect(evaluateClockSkew(90_000, REDIS_CLOCK).detail).toBe('Redis is 90 s ahead of this machine');
    expect(evaluateClockSkew(-1_500, REDIS_CLOCK).detail).toBe('Redis is 1.5 s behind this machine');
  });

  test('fails for a server that evicts keys or is unreachable, and warns of one without persistence', async () => {
    const evicting = await localRedis({ PATH: process.env.PATH }, () => {}, ['--maxmemory-policy', 'allkeys-lru']);
    const jobs = await loadDefinitions(await jobsFolder({ 'acme/org.yaml': ORG }));
    const look = async (url: string, clock = systemClock) => {
      const env = { REDIS_URL: url };
      const context = { config: readConfig(env), env, clock, log: silentLog };
      const { signal } = new AbortController();
      const findings = await diagnose(jobs, context, { fetchCatalogs: false, signal });
      return Object.fromEntries(
        findings.flatMap(({ what, state }) => (what.startsWith('Redis') ? [[what, state]] : [])),
      );
    };
    expect(await look(evicting.url)).toMatchObject({ Redis: 'fail', 'Redis clock': 'ok' });
    await evicting.close();
    const forgetful = await localRedis({ PATH: process.env.PATH }, () => {}, ['--appendonly', 'no']);
    expect(await look(forgetful.url)).toMatchObject({ Redis: 'ok', 'Redis on disk': 'warn', 'Redis memory': 'ok' });
    const ahead = { ...systemClock, now: () => systemClock.now() - 60_000 };
    expect(await look(forgetful.url, ahead)).toMatchObject({ 'Redis clock': 'fail' });
    await forgetful.close();
    expect(await look(`redis://127.0.0.1:${await freePort()}`)).toEqual({ Redis: 'fail' });
  });
});

describe('the check of the API', () => {
  const url = new URL('https://api.example.com/v1');

  test('recognizes the API by its response to a request without a key', () => {
    const answer = (status: number, code?: string, ms = 5, at = url) => evaluateReply({ status, code, ms }, at);
    states({
      'ok planErrors': answer(401, 'auth.invalid_credentials'),
      'ok on this machine': answer(401, 'auth.invalid_credentials', 5, new URL('http://127.0.0.1:8600')),
      'warn slow': answer(401, 'auth.invalid_credentials', 6_000),
      'warn in the clear': answer(401, 'auth.invalid_credentials', 5, new URL('http://api.example.com')),
      'warn busy': answer(429),
      'warn broken': answer(502),
      'fail another page': answer(200),
      'fail another service': answer(401, 'nope'),
      'fail another path': answer(404, 'not_found'),
    });
  });

  test('has a remedy for each kind of connection error', () => {
    const error = (code: string) => Object.assign(new Error(code), { code });
    expect(evaluateConnectionError(error('ENOTFOUND'), url)).toMatchObject({
      state: 'fail',
      detail: expect.stringContaining('DNS'),
    });
    expect(evaluateConnectionError(error('CERT_HAS_EXPIRED'), url).detail).toContain('has expired');
    expect(evaluateConnectionError(error('SELF_SIGNED_CERT_IN_CHAIN'), url).remedy).toContain('NODE_EXTRA_CA_CERTS');
    const nested = new Error('fetch failed', { cause: new AggregateError([error('ECONNREFUSED')]) });
    expect(evaluateConnectionError(nested, url)).toMatchObject({
      state: 'fail',
      detail: expect.stringContaining('ECONNREFUSED'),
    });
  });

  test('evaluates the expiry of its certificate', () => {
    states({
      'ok certificate': evaluateCertificate(NOW + 90 * DAY, NOW),
      'warn certificate': evaluateCertificate(NOW + 13 * DAY, NOW),
      'fail certificate': evaluateCertificate(NOW - DAY, NOW),
    });
  });

  test('fails for another server, an untrusted certificate and an unreachable host', async () => {
    const other = createServer((_request, response) => void response.end('<h1>Welcome</h1>'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const at = (server: { address(): AddressInfo | string | null }) => (server.address() as AddressInfo).port;
    const found = async (base: string) =>
      (await checkApi(base, systemClock, new AbortController().signal)).find(({ what }) => what === 'API');
    expect(await found(`http://127.0.0.1:${at(other)}`)).toMatchObject({
      state: 'fail',
      remedy: expect.stringContaining('base URL'),
    });
    other.close();
    const secure = createTlsServer({ key: TLS.key, cert: TLS.cert }, (_request, response) => void response.end());
    await new Promise<void>((resolve) => secure.listen(0, 'localhost', resolve));
    expect(await found(`https://localhost:${at(secure)}`)).toMatchObject({
      state: 'fail',
      remedy: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    });
    secure.close();
    expect(await found(`http://127.0.0.1:${await freePort()}`)).toMatchObject({ state: 'fail' });
    expect(await found('http://no-such-host.invalid')).toMatchObject({ state: 'fail' });
  });
});

describe('the check of API keys', () => {
  const acme = { id: 101, name: 'Acme Payments' };

  test('evaluates which organizations they reach', () => {
    states({
      'ok reached': evaluateKey({ org: 101 }, [acme], []),
      'ok current': evaluateKey({ org: 'current' }, [acme], ['other']),
      'ok limited': evaluateKey({ org: 101 }, undefined, []),
      'fail another organization': evaluateKey({ org: 102 }, [acme], []),
      'fail nobody’s': evaluateKey({ org: 'current' }, [], []),
    });
    expect(evaluateKey({ org: 101 }, [acme], ['north']).detail).toBe(
      'accepted, reaches Acme Payments (101); one key and one budget with north',
    );
  });

  test('evaluates their catalogs', () => {
    const limits = { max_range_days: 366, max_dimensions: 2, max_rows: 5000 };
    const metric = {
      id: 'a.b',
      label: 'A',
      description: '',
      type: 'integer',
      unit: 'count',
      aggregation: '',
      time_field: 'created',
      granularities: [],
      dimensions: [],
      additive_over_time: true,
    };
    const catalog = { registry_version: 7, metrics: [metric], dimensions: [], limits };
    states({
      'ok catalog': evaluateCatalog(catalog),
      'warn unreadable': evaluateCatalog({ ...catalog, unread: [{ id: 'x.y', why: 'odd' }] }),
      'warn additive': evaluateCatalog({
        ...catalog,
        metrics: [metric, { ...metric, id: 'a.rate', unit: 'ratio' }],
      }),
      'fail empty': evaluateCatalog({ ...catalog, metrics: [] }),
    });
  });

  test('evaluates their budgets', () => {
    const limits = { calls: 30, windowMs: 60_000 };
    const metrics = {
      key: 'f00d',
      tokens: 3,
      limit: 15,
      inFlight: 1,
      waiting: 2,
      throttled: 1,
      blockedUntil: null,
      slowedUntil: null,
    };
    const budget = (change: object) => evaluateBudget({ limits, metrics: { ...metrics, ...change } }, NOW);
    states({
      'ok free': budget({}),
      'ok over': budget({ blockedUntil: NOW - 1 }),
      'warn blocked': budget({ blockedUntil: NOW + 1_000 }),
      'warn slowed': budget({ slowedUntil: NOW + 1_000 }),
    });
  });
});

describe('the check of mail', () => {
  test('evaluates the encryption of the connection', () => {
    const handshake = (encrypted: boolean, host: string) =>
      evaluateHandshake({ detail: `${host} answers`, encrypted, host });
    states({
      'ok TLS': handshake(true, 'mail.example.com'),
      'ok this machine': handshake(false, '127.0.0.1'),
      'warn in the clear': handshake(false, 'mail.example.com'),
    });
  });

  test('fails with a remedy if nothing listens', async () => {
    const url = new Secret(`smtp://me:hunter2@127.0.0.1:${await freePort()}`);
    const error = await probeSmtp(url).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: 'deliver.target_failed', next: expect.stringContaining('SMTP_URL') });
    expect(JSON.stringify(error)).not.toContain('hunter2');
  });

  test('evaluates the sender', async () => {
    states({
      'ok sender': evaluateSender('reports@acme.com', { receives: true }, undefined),
      'ok signed for': evaluateSender('reports@acme.com', undefined, 'acme.com'),
      'warn unsigned': evaluateSender('reports@acme.com', undefined, 'other.com'),
      'warn no domain': evaluateSender('reports@acme.com', { receives: false }, undefined),
      'fail none': evaluateSender(undefined, undefined, undefined),
      'ok named': evaluateSender('Reports <reports@acme.com>', undefined, undefined),
      'fail odd': evaluateSender('Reports reports@acme.com', undefined, undefined),
    });
    expect(await lookUpDomain('acme.example')).toBeUndefined();
  });
});

describe('other checks', () => {
  test('evaluate the archive and its disk', () => {
    states({
      'ok kept': evaluateArchiveProbe({ ok: true, detail: 'can be written' }, ['acme/board']),
      'warn unconditional': evaluateArchiveProbe({ ok: false, detail: 'no If-None-Match' }, []),
      'fail unconditional': evaluateArchiveProbe({ ok: false, detail: 'no If-None-Match' }, ['DOCKET_SIGNING_KEY']),
      'ok room': evaluateDiskUsage({ free: 50 * GB, total: 100 * GB }),
      'warn little': evaluateDiskUsage({ free: 0.9 * GB, total: 10 * GB }),
      'warn share': evaluateDiskUsage({ free: 2 * GB, total: 100 * GB }),
      'fail none': evaluateDiskUsage({ free: 0.05 * GB, total: 100 * GB }),
    });
    expect([0, 1023, 1536, 5 * GB].map(formatByteSize)).toEqual(['0 bytes', '1023 bytes', '1.5 KB', '5 GB']);
  });

  test('evaluate the definitions', async () => {
    const check = async (files: Record<string, string>) =>
      checkDefinitions({ jobs: await loadDefinitions(await jobsFolder(files)), now: NOW }, new Map());
    states({
      'ok definitions': await check({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': REPORT }),
      'fail faults': await check({ 'acme/org.yaml': ORG, 'acme/weekly.yaml': `${REPORT}odd: 1\n` }),
      'fail none': await check({ 'acme/org.yaml': ORG }),
    });
  });

  test('evaluate the identity of the deployment', () => {
    const [id, other] = ['1'.repeat(32), '2'.repeat(32)];
    const known = { id, since: NOW, restored: false };
    const marker = { id, createdAt: '2026-11-21T12:00:00.000Z', deployed: true };
    states({
      'ok new': evaluateIdentity(undefined, undefined),
      'ok known on both sides': evaluateIdentity(known, marker),
      'ok put back': evaluateIdentity({ ...known, restored: true }, marker),
      'ok learned at the next start': evaluateIdentity(undefined, marker),
      'ok not to be compared': evaluateIdentity('away', marker),
      'fail not mounted': evaluateIdentity(known, undefined),
      'fail two deployments': evaluateIdentity(known, { ...marker, id: other }),
    });
    const { detail } = evaluateIdentity(known, { ...marker, id: other });
    expect([id, other].filter((each) => !detail.includes(each))).toEqual([]);
  });

  test('evaluate schedules, pauses and workers', () => {
    states({
      'ok none': evaluateSlots(0, []),
      'ok in time': evaluateSlots(3, []),
      'warn late': evaluateSlots(3, ['acme/weekly']),
      'ok nothing paused': evaluatePauses([]),
      'warn paused': evaluatePauses([{ org: 'acme', report: null, who: 'ops', why: 'holidays' }]),
      'ok at work': evaluateWorkers(2, true),
      'ok before the first start': evaluateWorkers(0, false),
      'warn away': evaluateWorkers(0, true),
    });
  });

  test('evaluate Node.js and its time zones', () => {
    states({
      'ok node': evaluateNodeVersion('24.1.0', NOW),
      'ok node later than we know': evaluateNodeVersion('30.0.0', NOW),
      'warn node': evaluateNodeVersion('20.19.0', NOW),
      'fail node': evaluateNodeVersion('20.18.3', NOW),
      'ok zones': evaluateTimeZoneData({ version: '2026a', unknown: [], languages: true }, NOW),
      'ok of the system': evaluateTimeZoneData({ version: undefined, unknown: [], languages: true }, NOW),
      'warn old': evaluateTimeZoneData({ version: '2023c', unknown: [], languages: true }, NOW),
      'fail unknown': evaluateTimeZoneData({ version: '2026a', unknown: ['Mars/Olympus'], languages: true }, NOW),
      'fail English only': evaluateTimeZoneData({ version: '2026a', unknown: [], languages: false }, NOW),
    });
    expect(checkTimeZoneData(['Europe/Zurich', 'Mars/Olympus'], NOW)).toMatchObject({
      state: 'fail',
      detail: expect.stringContaining('Mars/Olympus'),
    });
  });
});

describe('the check of the scope of reports', () => {
  const check = async (org: string, settings: Record<string, string>, report = REPORT) => {
    const jobs = await loadDefinitions(await jobsFolder({ 'acme/org.yaml': org, 'acme/weekly.yaml': report }));
    const env = { ACME_KEY: 'x', ...settings };
    const context = { config: readConfig(env), env, clock: systemClock, log: silentLog };
    const findings = await checkReportScope({ jobs, context });
    return Object.fromEntries(findings.map(({ what, state }) => [what, state]));
  };
  const listed = `${ORG}destinations: { hosts: [hooks.acme.example] }\n`;

  test('warns if no folders for secrets and no destinations are set', async () => {
    const open = await check(ORG, {});
    expect(open).toEqual({ 'Scope of reports': 'ok', 'Secret folders': 'warn', Destinations: 'warn' });
    const settings = { DOCKET_SECRET_FOLDERS: '/run/secrets', DOCKET_REQUIRE_DESTINATIONS: 'on' };
    expect(await check(ORG, settings)).toMatchObject({ 'Secret folders': 'ok', Destinations: 'ok' });
    expect(await check(listed, {})).toMatchObject({ Destinations: 'ok' });
  });

  test('fails for an unlisted folder and for a secret of the deployment', async () => {
    expect(await check(listed, {})).toMatchObject({ 'Scope of reports': 'fail' });
    const elsewhere = `${REPORT}  - webhook: { url: "https://hooks.acme.example/", secret: { env: SIGNING } }\n`;
    const settings = { DOCKET_SIGNING_KEY: 'env:SIGNING' };
    expect(await check(ORG, settings, elsewhere)).toMatchObject({ 'Scope of reports': 'fail' });
  });
});

describe('the check of admin tokens', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-doctor-tokens-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('evaluates the mode of the file and expiry dates', () => {
    const token = (expires?: string) => [{ name: 'ci', ...(expires === undefined ? {} : { expires }) }];
    states({
      'ok private': evaluateTokens(token(), 0o100600, NOW),
      'ok readable, for hashes tell nothing': evaluateTokens(token(), 0o100644, NOW),
      'warn writable': evaluateTokens(token(), 0o100622, NOW),
      'warn empty': evaluateTokens([], 0o100600, NOW),
      'warn expired': evaluateTokens(token('2026-11-20'), 0o100600, NOW),
      'warn soon': evaluateTokens(token('2026-11-30'), 0o100600, NOW),
      'ok long': evaluateTokens(token('2027-11-30'), 0o100600, NOW),
    });
  });

  test('fails for an unreadable file', async () => {
    const path = join(folder, 'tokens.yaml');
    await writeFile(path, '- name: [');
    await chmod(path, 0o600);
    await expect(checkAdminTokens(path, NOW)).rejects.toMatchObject({ code: 'config.invalid' });
    await expect(checkAdminTokens(folder, NOW)).rejects.toThrow();
  });
  test('warns of a missing file, which the first token creates', async () => {
    expect(await checkAdminTokens(join(folder, 'none.yaml'), NOW)).toMatchObject({ state: 'warn' });
  });
});
