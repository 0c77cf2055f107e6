import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import PostalMime from 'postal-mime';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/base/config/config.ts';
import { silentLog } from '../../src/base/log.ts';
import { sha256 } from '../../src/base/sha256.ts';
import { loadDefinitions, requireReport } from '../../src/compose/built-in-kinds.ts';
import { composeInline } from '../../src/compose/run-ports.ts';
import { RENDER_THREAD } from '../../src/compose/threads.ts';
import { splitSlug } from '../../src/definitions/split.ts';
import { directoryArchive } from '../../src/deliver/archive/inline-archive.ts';
import type { Manifest } from '../../src/deliver/archive/manifest.ts';
import { createReviewArchive } from '../../src/deliver/archive/reviews/create-review-archive.ts';
import { directoryStorage } from '../../src/deliver/archive/storage/directory-storage.ts';
import { runProblems } from '../../src/deliver/archive/verify/verify-run.ts';
import { createMailCatcher, type MailCatcher } from '../../src/demo/mail-catcher.ts';
import { renderPool } from '../../src/render/render-pool.ts';
import { loadReview } from '../../src/run/review/load-review.ts';
import { type ReviewActor, reviewEventSchema } from '../../src/run/review/review-event.ts';
import { run } from '../../src/run/run.ts';
import type { RunPorts } from '../../src/run/run-context.ts';
import type { RunEvent } from '../../src/run/run-events.ts';
import { createRunOrder } from '../../src/run/run-order.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { deliveredContent } from '../../src/services/listings/delivered-content.ts';
import { reviewedPacks } from '../../src/services/reviews/reviewed-files.ts';
import { createRunFileReader } from '../../src/services/runs/run-file-reader.ts';
import { programOf } from '../recorded/program.ts';
import { filesBelow } from '../support/canary.ts';
import { program } from '../support/debian.ts';
import { memoryLedger } from '../support/memory-ledger.ts';

const WINDOW_MS = 300;
const ANN: ReviewActor = { person: 'ann', name: 'Ann Approver', principal: 'token:ann' };
const BEN: ReviewActor = { person: 'ben', name: 'Ben Writer', principal: 'token:ben' };
const ORG = `
version: 1
name: Acme Payments
org: current
api_key: { env: DEMO_API_KEY }
timezone: Europe/Zurich
recipients: { domains: [acme.example] }
destinations: { folders: [out] }
people:
  ann: { name: Ann Approver, tokens: [ann] }
  ben: { name: Ben Writer, tokens: [ben] }
`;
const REPORT = `
version: 1
title: Onboarding
owner: owner@acme.example
period: previous_week
compare: previous_period
split:
  by: profile.group
  to: desks.csv
sections:
  - { id: totals, title: Onboarding, layout: scorecard, metrics: [profiles.created, profiles.approval_rate, profiles.time_to_decision_p50], trend: 6 }
  - { id: risk, title: By risk, metrics: [profiles.created, profiles.decided], dimensions: [profile.risk], totals: true, order: [{ by: profiles.created, dir: desc }], limit: 3, chart: bar }
  - { id: days, title: By day, metrics: [profiles.created], granularity: day }
  - { id: own, title: Own row, metrics: [profiles.created], dimensions: [profile.group], granularity: week, totals: true }
  - { id: market, title: Whole market, split: false, metrics: [transaction_alerts.closed] }
outputs:
  - { format: xlsx }
  - { format: csv, name: "{{ split.slug }}-{{ section.id }}" }
  - { format: pdf }
deliveries:
  - email: { to: split, attach: [xlsx, pdf], subject: "{{ split.label }}: {{ title }}" }
  - split: true
    directory: { path: "out/{{ split.slug }}/{{ period.label }}" }
`;

/** The text of every file; workbooks, messages and PDFs are opened. */
async function* readable(folder: string): AsyncGenerator<{ readonly path: string; readonly text: string }> {
  const pdftotext = await program('pdftotext', 'poppler-utils');
  for await (const { path, text } of filesBelow(folder)) {
    yield path.endsWith('.pdf')
      ? { path, text: (await promisify(execFile)(pdftotext, ['-layout', path, '-'])).stdout + text }
      : { path, text };
  }
}

describe('a report with split', () => {
  let sandbox: Sandbox;
  let mail: MailCatcher;
  let folder: string;
  let close: () => Promise<void>;
  let ports: RunPorts;
  let groups: readonly string[];
  const pool = renderPool({ entry: RENDER_THREAD, threads: 1 });

  beforeAll(async () => {
    sandbox = await startSandbox({ windowMs: WINDOW_MS });
  });
  afterAll(async () => {
    await pool.close();
    await sandbox.close();
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-split-'));
    mail = await createMailCatcher(join(folder, 'mailbox'));
    await mkdir(join(folder, 'jobs/acme'), { recursive: true });
    await writeFile(join(folder, 'jobs/acme/org.yaml'), ORG);
    const config = readConfig({
      COMPLIANCE_API_URL: sandbox.url,
      SMTP_URL: mail.url,
      MAIL_FROM: 'reports@acme.example',
      DOCKET_PUBLIC_URL: 'https://docket.acme.example',
    });
    const key = sandbox.keys.find(({ label }) => label === 'acme')?.key;
    const inline = await composeInline(
      { config, env: { DEMO_API_KEY: key }, clock: systemClock, log: silentLog, workingDirectory: folder },
      directoryArchive(join(folder, 'archive')),
    );
    await save('group one,one@acme.example');
    const { settings } = await load();
    const made = await inline.buildRunPorts(settings);
    ports = { ...made, ledger: memoryLedger(), render: pool.render };
    const catalog = await made.client.catalog('current', new AbortController().signal);
    groups = catalog.dimensions.find(({ id }) => id === 'profile.group')?.values.map(({ value }) => value) ?? [];
    close = () => inline.scope.close();
  });
  afterEach(async () => {
    await close();
    await mail.close();
    await rm(folder, { recursive: true, force: true });
  });

  const save = async (lines: string, change: (report: string) => string = (report) => report) => {
    await writeFile(join(folder, 'jobs/acme/desks.yaml'), change(REPORT));
    await writeFile(join(folder, 'jobs/acme/desks.csv'), `\uFEFFvalue,address\r\n\r\n${lines}\r\n`);
  };
  const load = async () => {
    const jobs = await loadDefinitions(join(folder, 'jobs'));
    expect(jobs.diagnostics).toEqual([]);
    const { definition, settings } = requireReport(jobs, 'acme/desks');
    return { definition, settings: { ...settings, budget: { window: WINDOW_MS / 1000 } } };
  };
  const address = (index: number) => `desk-${index}@acme.example`;
  const listOf = (values: readonly string[]) =>
    values.map((value) => `"${value}",${address(groups.indexOf(value))}`).join('\r\n');
  const go = async (how: { ports?: Partial<RunPorts>; slot?: string } = {}) => {
    const { definition, settings } = await load();
    const slot = how.slot ?? '2026-11-16T07:00:00.000Z';
    const order = createRunOrder({
      definition,
      settings,
      trigger: 'schedule',
      priority: 'scheduled',
      slot,
      at: Date.parse(slot),
      deliver: true,
      now: systemClock.now(),
    });
    const events: RunEvent[] = [];
    const context = {
      definition,
      settings,
      signal: new AbortController().signal,
      observe: (event: RunEvent) => void events.push(event),
      lastAttempt: true,
    };
    const outcome = await run(order, context, { ...ports, ...how.ports });
    return { outcome, events, order };
  };
  const manifestOf = async (id: string): Promise<Manifest> =>
    JSON.parse(await readFile(join(folder, 'archive/acme/desks', id, 'manifest.json'), 'utf8'));

  test('sends every desk its own pack, with nothing of another desk in any file or message', async () => {
    await save(listOf(groups));
    const { outcome, order } = await go();
    expect(outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
    expect(
      mail
        .messages()
        .map(({ to }) => to)
        .sort(),
    ).toEqual(groups.map((_, index) => [address(index)]).sort());

    const archive = join(folder, 'archive/acme/desks', order.id);
    const places = groups.map((group, index) => ({
      group,
      own: [group, address(index), splitSlug(group)],
      folders: [join(archive, 'files', splitSlug(group)), join(folder, 'out', splitSlug(group))],
    }));
    let files = 0;
    for (const { group, folders } of places) {
      const others = places.filter((each) => each.group !== group).flatMap(({ own }) => own);
      for (const one of folders) {
        for await (const { path, text } of readable(one)) {
          files += 1;
          for (const other of others) expect(`${path} ${text}`.includes(other) ? `${path}: ${other}` : '').toBe('');
        }
      }
    }
    expect(files).toBeGreaterThan(groups.length * 10);
    for await (const { path, text } of readable(join(folder, 'mailbox'))) {
      const owner = places.find((_, index) => text.includes(address(index)));
      const others = places.filter((each) => each !== owner).flatMap(({ own }) => own);
      for (const other of others) expect(text.includes(other) ? `${path}: ${other}` : '').toBe('');
      expect(text).toContain(owner?.group);
    }
    // Every desk is ready, and the manifest lists only a few calls however many desks there are.
    const { packs = [], calls } = await manifestOf(order.id);
    expect(packs.map(({ value, state }) => [value, state])).toEqual(groups.map((value) => [value, 'ready']));
    expect(calls.length).toBeLessThanOrEqual(8);

    const stored = await directoryStorage(join(folder, 'archive')).find(order.id);
    if (stored === undefined) throw new Error('the run is not archived');
    expect(await runProblems(stored)).toEqual([]);
    // What the page and the API show of the run.
    const reader = createRunFileReader(directoryStorage(join(folder, 'archive')));
    const listed = (await reader.files(order)) ?? [];
    const [first = ''] = groups.map(splitSlug);
    expect(listed.find(({ name }) => name === `${first}/mail.html`)).toMatchObject({
      kind: 'mail',
      type: 'text/html; charset=utf-8',
    });
    expect((await reader.outputs(order))?.every(({ name }) => !name.endsWith('/mail.html'))).toBe(true);
    expect((await reader.file(order, `${first}/mail.html`))?.bytes).toBeGreaterThan(0);
    expect(await reader.file(order, `../${first}/mail.html`)).toBeUndefined();
    const { definition } = await load();
    const content = deliveredContent({ target: `0-email:${first}` }, definition);
    expect(content).toEqual({ kind: 'mail', formats: ['xlsx', 'pdf'] });

    await writeFile(join(archive, 'files', splitSlug(groups[0] ?? ''), 'mail.txt'), 'changed');
    expect(await runProblems(stored)).toHaveLength(1);
  });

  test('judges the figures of a desk by its own targets, and the whole market by none', async () => {
    const [first = '', second = ''] = groups;
    const targets = `
targets:
  - { metric: profiles.created, better: higher, target: 1000000, each_desk: true }
  - { metric: profiles.approval_rate, better: higher, target: 0%, where: { profile.group: "${second}" } }
`;
    await save(
      listOf([first, second]),
      (report) => `${report.replace('transaction_alerts.closed', 'profiles.created')}${targets}`,
    );
    const { order } = await go();
    const { packs = [] } = await manifestOf(order.id);
    const judged = packs.slice(0, 2).map(({ manifest }) => ({
      statuses: (manifest?.judgements ?? [])
        .filter(({ bucket, group }) => bucket === null && group === null)
        .map(({ section, metric, status }) => `${section} ${metric} ${status}`),
      headlines: manifest?.headlines ?? [],
    }));
    expect(judged.map(({ statuses }) => statuses.includes('totals profiles.created breached'))).toEqual([true, true]);
    expect(judged.map(({ statuses }) => statuses.includes('totals profiles.approval_rate on_target'))).toEqual([
      false,
      true,
    ]);
    for (const { statuses, headlines } of judged) {
      expect(statuses.filter((status) => status.startsWith('market'))).toEqual([]);
      expect(headlines[0]).toMatch(/^Profiles created: \d+, target 1,000,000, breached/);
    }
  });

  test('puts a list with split: false into every pack', async () => {
    await save(listOf(groups.slice(0, 2)), (report) =>
      report.replace(
        'outputs:',
        '  - { id: all, title: All profiles, list: profiles, split: false, print: false }\noutputs:',
      ),
    );
    const { outcome, order } = await go();
    expect(outcome).toMatchObject({ kind: 'done' });
    const { packs = [] } = await manifestOf(order.id);
    const lists = packs.map(({ manifest }) => manifest?.files.find(({ name }) => name.endsWith('-all.csv')));
    expect(lists[0]?.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(new Set(lists.map((file) => file?.sha256)).size).toBe(1);
    expect(lists.length).toBe(groups.length);
    const text = await readFile(
      join(folder, 'archive/acme/desks', order.id, 'files', packs[0]?.slug ?? '', lists[0]?.name ?? ''),
      'utf8',
    );
    expect(text.split('\n').length).toBeGreaterThan(100);
  });

  test('is verified by 0.2.0, which refuses its definition', async () => {
    await save(listOf(groups.slice(0, 2)));
    const { order } = await go();
    const env = { ...process.env, DOCKET_ARCHIVE: `file://${folder}/archive`, DOCKET_JOBS: join(folder, 'jobs') };
    const older = async (...command: string[]) =>
      promisify(execFile)(process.execPath, [await programOf('0.2.0'), ...command], { env, cwd: folder });
    const { stdout } = await older('archive', 'verify', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ runs: 1 });
    await expect(older('check', '--offline')).rejects.toMatchObject({ stdout: expect.stringContaining('"split"') });

    // The run has more files than 0.2.0 reads. 0.2.0 reports that, and leaves the run as it is.
    const place = join(folder, 'archive/acme/desks', order.id);
    const manifest = await manifestOf(order.id);
    const files = Array.from({ length: 1_000 }, (_, index) => ({
      ...manifest.files[0],
      name: `more-${index}.csv`,
      bytes: 1,
      sha256: sha256('x'),
    }));
    for (const { name } of files) await writeFile(join(place, 'files', name), 'x');
    const text = JSON.stringify({ ...manifest, files: [...manifest.files, ...files] });
    await writeFile(join(place, 'manifest.json'), text);
    const stored = await directoryStorage(join(folder, 'archive')).find(order.id);
    expect(stored && (await runProblems(stored))).toEqual([]);
    await expect(older('archive', 'verify')).rejects.toMatchObject({
      stdout: expect.stringContaining('[manifest.unreadable]'),
    });
    expect(await readFile(join(place, 'manifest.json'), 'utf8')).toBe(text);
  });

  test('waits for one approval of all packs, and prints each comment with the figures of its own desk', async () => {
    const [first = '', ...others] = groups;
    await save(listOf(groups), (report) =>
      report
        .replace('limit: 3, chart: bar }', 'limit: 3, chart: bar, commentary: required }')
        .replace('sections:', 'approval: { by: [ann], need: 1 }\nsections:'),
    );
    const reviews = createReviewArchive(directoryStorage(join(folder, 'archive')), reviewEventSchema);
    const attempt = () => go({ ports: { reviews } });
    const { outcome, order } = await attempt();
    expect(outcome).toMatchObject({ kind: 'done', value: { state: 'held', error: { code: 'run.comments_missing' } } });
    const stateOf = async () => (await loadReview(reviews, order)).state;
    const tell = async (event: object) => {
      const seq = (await reviews.events(order)).length + 1;
      await reviews.append(order, seq, reviewEventSchema.parse({ at: systemClock.now(), ...event, seq }));
    };
    const text = 'Made {{ risk.profiles.created }} of them.';
    await tell({ type: 'comment', by: BEN, section: 'risk', text: `zqall ${text}` });
    await tell({ type: 'comment', by: BEN, section: 'risk', value: first, text: `zqone ${text}` });
    const waiting = await attempt();
    expect(waiting.outcome).toMatchObject({ kind: 'done', value: { state: 'awaiting_approval' } });
    expect(mail.messages()).toEqual([]);
    const { content, phase } = await stateOf();
    expect(phase).toBe('approval');
    const packs = await reviewedPacks(reviews, order, content ?? '');
    expect(packs.map(({ value, held }) => [value, held])).toEqual(groups.map((value) => [value, null]));

    await tell({ type: 'approve', by: ANN, content: content ?? '', reason: 'seen' });
    const { outcome: end } = await attempt();
    expect(end).toMatchObject({ kind: 'done', value: { state: 'done' } });
    const manifest = await manifestOf(order.id);
    expect(manifest.review).toMatchObject({ content, approved_by: [{ person: 'ann' }] });
    expect(mail.messages()).toHaveLength(groups.length);
    const figures = new Set<string>();
    for (const { path, to } of mail.messages()) {
      const desk = groups.find((_, index) => to.includes(address(index))) ?? '';
      const own = (await PostalMime.parse(await readFile(path))).text ?? '';
      const figure = /(zq\w+) Made ([\d,]+) of them/.exec(own);
      expect(figure?.[1]).toBe(desk === first ? 'zqone' : 'zqall');
      figures.add(figure?.[2] ?? '');
      for (const other of [...others, first].filter((each) => each !== desk)) expect(own).not.toContain(other);
    }
    expect(figures.size).toBe(groups.length);
    for (const group of groups) {
      for await (const { path, text: found } of readable(
        join(folder, 'archive/acme/desks', order.id, 'files', splitSlug(group)),
      )) {
        expect(found.includes(group === first ? 'zqall' : 'zqone') ? path : '').toBe('');
        if (path.endsWith('.xlsx')) expect(found).toContain('Ann Approver');
      }
    }
  });

  test('asks for another approval when a desk is added while the run waits', async () => {
    const [added = '', ...before] = groups;
    const approved = (report: string) => report.replace('sections:', 'approval: { by: [ann], need: 1 }\nsections:');
    const withoutOthers = (report: string) =>
      approved(report).replace('to: desks.csv', 'to: desks.csv\n  others: skip');
    await save(listOf(before), withoutOthers);
    const reviews = createReviewArchive(directoryStorage(join(folder, 'archive')), reviewEventSchema);
    const { order } = await go({ ports: { reviews } });
    const { content } = (await loadReview(reviews, order)).state;
    const seq = (await reviews.events(order)).length + 1;
    const at = systemClock.now();
    await reviews.append(order, seq, { type: 'approve', seq, at, by: ANN, content: content ?? '', reason: 'seen' });
    // Redis was lost, and the slot is opened again with today’s list.
    await save(listOf([added, ...before]), withoutOthers);
    const again = await go({ ports: { reviews } });
    expect(again.outcome).toMatchObject({ kind: 'done', value: { state: 'awaiting_approval' } });
    const { state } = await loadReview(reviews, order);
    expect(state).toMatchObject({ phase: 'approval', approvals: [] });
    expect(state.content).not.toBe(content);
    expect(mail.messages()).toEqual([]);
  });

  test('sends and requests nothing again when the run is repeated', async () => {
    await save(listOf(groups));
    await go();
    const sent = mail.messages().length;
    const again = await go();
    expect(again.outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
    expect(mail.messages()).toHaveLength(sent);
    expect(again.events.filter(({ type }) => type === 'fetched')).toEqual([]);
  });

  test('holds the packs of desks without recipients and of unknown desks, and sends the others', async () => {
    const [first = '', ...others] = groups;
    await save(`${listOf([first])}\r\nNowhere,nobody@acme.example`);
    const { outcome, order } = await go();
    expect(outcome).toMatchObject({ kind: 'done', value: { state: 'partly_delivered' } });
    expect(mail.messages().map(({ to }) => to)).toEqual([[address(0)]]);
    const { packs = [] } = await manifestOf(order.id);
    expect(packs.map(({ value, state, manifest }) => [value, state, manifest !== undefined])).toEqual([
      [first, 'ready', true],
      ...others.map((value) => [value, 'held', true]),
      ['Nowhere', 'held', false],
    ]);
    expect(await readdir(join(folder, 'out'))).toEqual([splitSlug(first)]);
  });

  test('makes no packs of other desks with `others: skip`, and sends one pack of each to the addresses in `others`', async () => {
    const [first = '', ...others] = groups;
    await save(listOf([first]), (report) => report.replace('to: desks.csv', 'to: desks.csv\n  others: skip'));
    const skipped = await go();
    expect(skipped.outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
    expect((await manifestOf(skipped.order.id)).packs?.map(({ value }) => value)).toEqual([first]);
    await save(listOf([first]), (report) =>
      report.replace('to: desks.csv', 'to: desks.csv\n  others: [rest@acme.example]'),
    );
    const rest = await go({ slot: '2026-11-23T07:00:00.000Z' });
    expect(rest.outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
    const toRest = mail.messages().filter(({ to }) => to.includes('rest@acme.example'));
    expect(toRest).toHaveLength(others.length);
  });

  test('refuses a desk whose address is not allowed, and sends the others', async () => {
    const [first = '', second = ''] = groups;
    await save(`${listOf([first])}\r\n"${second}",outside@other.example`, (report) =>
      report.replace('to: desks.csv', 'to: desks.csv\n  others: skip'),
    );
    const { outcome } = await go();
    expect(outcome).toMatchObject({ kind: 'done', value: { state: 'partly_delivered' } });
    expect(mail.messages().map(({ to }) => to)).toEqual([[address(0)]]);
  });

  test('sends each desk its pack once after a crash between two desks', async () => {
    await save(listOf(groups));
    const ledger = memoryLedger();
    let settled = 0;
    const crashing = {
      ...ledger,
      settle: async (...args: Parameters<typeof ledger.settle>) => {
        settled += 1;
        if (settled > 2) throw new Error('the process is gone');
        return ledger.settle(...args);
      },
    };
    const crashed = await go({ ports: { ledger: crashing } });
    expect(crashed.outcome.kind).toBe('fail');
    const { outcome } = await go({ ports: { ledger } });
    const received = mail.messages().map(({ to }) => to.join());
    expect(received.sort()).toEqual(groups.map((_, index) => address(index)).sort());
    expect(outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
  });
});
