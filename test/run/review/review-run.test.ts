import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { readConfig } from '../../../src/base/config/config.ts';
import { DocketError } from '../../../src/base/error.ts';
import { silentLog } from '../../../src/base/log.ts';
import { createScope } from '../../../src/base/scope.ts';
import { sha256 } from '../../../src/base/sha256.ts';
import { loadDefinitions, requireReport } from '../../../src/compose/built-in-kinds.ts';
import { createInlinePorts } from '../../../src/compose/run-ports.ts';
import type { OrgSettings } from '../../../src/definitions/schema/org-settings.ts';
import type { Definition } from '../../../src/definitions/schema/report-definition.ts';
import { createArchive } from '../../../src/deliver/archive/create-archive.ts';
import { createReviewArchive } from '../../../src/deliver/archive/reviews/create-review-archive.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { createMailCatcher, type MailCatcher } from '../../../src/demo/mail-catcher.ts';
import type { Artifact } from '../../../src/render/artifact.ts';
import type { Renderer } from '../../../src/render/renderer.ts';
import { openFigures } from '../../../src/run/review/frozen-figures.ts';
import { loadReview, type Reviews } from '../../../src/run/review/load-review.ts';
import { parseOpenReview } from '../../../src/run/review/open-review.ts';
import { type NewReviewEvent, type ReviewActor, reviewEventSchema } from '../../../src/run/review/review-event.ts';
import { isRenderedAlike } from '../../../src/run/review/review-run.ts';
import { run } from '../../../src/run/run.ts';
import type { RunPorts } from '../../../src/run/run-context.ts';
import type { RunEvent } from '../../../src/run/run-events.ts';
import { createRunOrder } from '../../../src/run/run-order.ts';
import type { RunOrder } from '../../../src/run/run-record.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { memoryLedger } from '../../support/memory-ledger.ts';

const WINDOW_MS = 300;
const ANN: ReviewActor = { person: 'ann', name: 'Ann Approver', principal: 'token:ann' };
const BEN: ReviewActor = { person: 'ben', name: 'Ben Writer', principal: 'token:ben' };
const PEOPLE = {
  ann: { name: 'Ann Approver', tokens: ['ann'], accounts: [] },
  ben: { name: 'Ben Writer', tokens: ['ben'], accounts: [] },
};
const APPROVAL = { by: ['ann', 'ben'], need: 1, four_eyes: true, otherwise: 'hold' } as const;

/** Renders the figures and comments as text, without the cost of workbooks. */
const renderText: Renderer = async ({ dataset, outputs, files: { folder }, mail: { bodies = [] } }) => {
  const { approval, comments = [] } = dataset;
  const text = JSON.stringify({ comments, approval, rows: dataset.tables.map(({ rows }) => rows) });
  const artifacts: Artifact[] = [];
  for (const { format } of outputs) {
    const path = join(folder, `${format}.txt`);
    await writeFile(path, text);
    const size = Buffer.byteLength(text);
    artifacts.push({ name: `${format}.txt`, format, mediaType: 'text/plain', path, bytes: size, sha256: sha256(text) });
  }
  const [first, ...others] = bodies.map(({ body }) => ({ body, html: `<p>${text}</p>`, text, pictures: [] }));
  if (first === undefined) throw new Error('no body');
  return { artifacts, mail: { ...first, others } };
};

type EventOf<Type extends NewReviewEvent['type']> = Omit<Extract<NewReviewEvent, { type: Type }>, 'at'>;
type PersonEvent = EventOf<'comment'> | EventOf<'approve'> | EventOf<'reject'> | EventOf<'release'> | EventOf<'cancel'>;

describe('a run that waits for people', () => {
  let sandbox: Sandbox;
  let mail: MailCatcher;
  let folder: string;
  let close: () => Promise<void>;
  let ports: RunPorts;
  let reviews: Reviews;
  let definition: Definition;
  let settings: OrgSettings;
  let order: RunOrder;
  let change: Partial<Definition>;

  beforeAll(async () => {
    sandbox = await startSandbox({ windowMs: WINDOW_MS });
  });
  afterAll(() => sandbox.close());
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'docket-review-'));
    mail = await createMailCatcher(join(folder, 'mailbox'));
    const loaded = requireReport(await loadDefinitions('jobs'), 'demo/weekly-kpi');
    settings = { ...loaded.settings, budget: { window: WINDOW_MS / 1000 }, people: PEOPLE };
    change = { approval: { ...APPROVAL, by: [...APPROVAL.by] } };
    definition = { ...loaded.definition, ...change };
    const config = readConfig({
      COMPLIANCE_API_URL: sandbox.url,
      SMTP_URL: mail.url,
      MAIL_FROM: 'reports@acme.example',
      DOCKET_TEMPLATES: join(folder, 'templates'),
    });
    const key = sandbox.keys.find(({ label }) => label === 'acme')?.key;
    const storage = directoryStorage(join(folder, 'archive'));
    const archive = createArchive(storage, systemClock);
    const ledger = memoryLedger();
    reviews = createReviewArchive(storage, reviewEventSchema);
    const inline = createInlinePorts(
      { config, env: { DEMO_API_KEY: key }, clock: systemClock, log: silentLog, workingDirectory: folder },
      undefined,
      createScope(),
      { archive, ledger, reviews },
      {},
    );
    ports = { ...(await inline.buildRunPorts(settings)), render: renderText };
    close = () => inline.scope.close();
    order = createRunOrder({
      definition,
      settings,
      trigger: 'schedule',
      priority: 'scheduled',
      slot: '2026-11-16T07:00:00.000Z',
      at: Date.parse('2026-11-16T07:00:00Z'),
      deliver: true,
      now: systemClock.now(),
    });
  });
  afterEach(async () => {
    await close();
    await mail.close();
    await rm(folder, { recursive: true, force: true });
  });

  const attempt = async (more: Partial<RunPorts> = {}) => {
    const events: RunEvent[] = [];
    const { signal } = new AbortController();
    const context = {
      definition,
      settings,
      signal,
      observe: (event: RunEvent) => events.push(event),
      lastAttempt: true,
    };
    const outcome = await run(order, context, { ...ports, ...more });
    return { outcome, calls: events.filter((event) => event.type === 'fetched' && !event.saved).length };
  };
  const review = () => loadReview(reviews, order);
  const content = async () => (await review()).state.content ?? '';
  const say = async (event: PersonEvent) => {
    const { state } = await review();
    expect(await reviews.append(order, state.seq + 1, { ...event, seq: state.seq + 1, at: systemClock.now() })).toBe(
      true,
    );
  };
  const approve = async (by: ReviewActor) => say({ type: 'approve', by, content: await content(), reason: 'checked' });
  const waits = (state: string, phase: string) => ({ kind: 'done', value: { state, review: { phase }, folder: '' } });
  const openRuns = async () => {
    const found = [];
    for await (const each of reviews.listOpen()) found.push(each);
    return found;
  };

  test('fetches once, waits, and sends exactly what was approved', async () => {
    const first = await attempt();
    expect(first.outcome).toMatchObject(waits('awaiting_approval', 'approval'));
    expect(first.calls).toBeGreaterThan(0);
    expect(await ports.archive.find(order)).toBeUndefined();
    const reviewed = await reviews.list(order, `content/${await content()}`);
    expect(reviewed).toContain('manifest.json');
    expect(reviewed.filter((name) => name.startsWith('files/')).length).toBeGreaterThan(0);
    const [open] = await openRuns();
    const stored = parseOpenReview(open?.order ?? '');
    expect(stored).toMatchObject({ order: { id: order.id, slot: order.slot }, definition: { digest: order.digest } });

    // Another attempt while it waits neither fetches nor renders.
    const again = await attempt({ render: () => Promise.reject(new Error('rendered again')) });
    expect(again).toMatchObject({ outcome: waits('awaiting_approval', 'approval'), calls: 0 });

    await approve(ANN);
    const { outcome, calls } = await attempt();
    expect({ outcome, calls }).toMatchObject({ outcome: { kind: 'done', value: { state: 'done' } }, calls: 0 });
    const manifest = (await ports.archive.peek(order))?.manifest;
    const { state } = await review();
    expect(state.phase).toBe('sealed');
    expect(manifest?.review).toMatchObject({
      content: state.content,
      figures: state.figures,
      need: 1,
      approved_by: [{ person: 'ann', name: 'Ann Approver', principal: 'token:ann', reason: 'checked' }],
      comments: [],
    });
    const published = await ports.archive.find(order);
    expect(JSON.parse(published?.mail.text ?? '')).toMatchObject({
      approval: { by: [{ name: 'Ann Approver' }], content: state.content },
    });
    const shown = await reviews.get(order, `content/${state.content}/mail.txt`);
    expect(JSON.parse(String(shown))).not.toHaveProperty('approval');
    expect(mail.messages()).toHaveLength(2);
    expect((await attempt()).outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
    expect(mail.messages()).toHaveLength(2);
  });

  test('needs a new approval after a comment, from somebody else than its author, and prints it', async () => {
    await attempt();
    const before = await content();
    await approve(ANN);
    await say({ type: 'comment', by: BEN, section: null, text: 'A quiet week.' });
    expect((await attempt()).outcome).toMatchObject(waits('awaiting_approval', 'approval'));
    await approve(BEN);
    expect((await attempt()).outcome).toMatchObject(waits('awaiting_approval', 'approval'));
    await say({ type: 'approve', by: ANN, content: before, reason: 'the old one' });
    expect((await attempt()).outcome).toMatchObject(waits('awaiting_approval', 'approval'));
    expect(mail.messages()).toEqual([]);
    await approve(ANN);
    expect((await attempt()).outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
    const comments = (await ports.archive.peek(order))?.manifest.review?.comments;
    expect(comments).toMatchObject([{ section: null, text: 'A quiet week.', author: 'Ben Writer', version: 1 }]);
  });

  test('waits for required comments, and for nothing else if it needs no approval', async () => {
    const [first, ...others] = definition.sections;
    if (first === undefined) throw new Error('no section');
    definition = { ...definition, sections: [{ ...first, commentary: { required: true } }, ...others] };
    delete definition.approval;
    const held = await attempt();
    expect(held.outcome).toMatchObject(waits('held', 'comments'));
    expect(held.outcome).toMatchObject({ value: { error: { code: 'run.comments_missing' } } });
    await say({ type: 'comment', by: BEN, section: first.id, text: 'Holidays.' });
    expect((await attempt()).outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
    expect(mail.messages()).toHaveLength(2);
  });

  test('ends with a rejection, or fetches new figures, which are reviewed again', async () => {
    await attempt();
    const { state } = await review();
    await approve(ANN);
    await say({ type: 'reject', by: ANN, content: await content(), reason: 'wrong', refetch: true });
    const again = await attempt();
    expect(again.outcome).toMatchObject(waits('awaiting_approval', 'approval'));
    expect((await review()).state.figures).not.toBe(state.figures);
    expect(again.calls).toBeGreaterThan(0);
    await say({ type: 'reject', by: ANN, content: await content(), reason: 'still wrong', refetch: false });
    expect((await attempt()).outcome).toMatchObject({ kind: 'cancel', why: expect.stringContaining('still wrong') });
    // The review stays open until the sweep has informed the author of the run.
    expect([(await openRuns()).length, mail.messages()]).toEqual([1, []]);
  });

  test('is not sealed when another event is recorded first', async () => {
    await attempt();
    await approve(ANN);
    let appended = 0;
    const racing: Reviews = {
      ...reviews,
      append: async (ref, seq, event) => {
        if (event.type === 'seal' && appended++ === 0)
          await say({ type: 'comment', by: BEN, section: null, text: 'Wait.' });
        return reviews.append(ref, seq, event);
      },
    };
    expect((await attempt({ reviews: racing })).outcome).toMatchObject(waits('awaiting_approval', 'approval'));
    expect(appended).toBe(1);
    expect(mail.messages()).toEqual([]);
    // Approved before a worker has rendered it: what was approved is stored nevertheless.
    await say({ type: 'comment', by: BEN, section: null, text: 'Go.' });
    await approve(ANN);
    expect((await attempt()).outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
    expect(await reviews.list(order, `content/${await content()}`)).toContain('manifest.json');
  });

  test('is finished by the next worker if one dies after the seal, with the frozen templates', async () => {
    const template = join(folder, 'templates', 'email', 'report.txt.liquid');
    await mkdir(dirname(template), { recursive: true });
    await writeFile(template, 'as it was');
    await attempt();
    await approve(ANN);
    const dying = { render: () => Promise.reject(new Error('killed')) };
    expect((await attempt(dying)).outcome).toMatchObject({ kind: 'fail' });
    expect((await review()).state.phase).toBe('sealed');
    await writeFile(template, 'changed since');
    const used: string[] = [];
    const render: Renderer = async (request, signal) => {
      const path = join(request.mail.templates ?? '', 'email', 'report.txt.liquid');
      used.push(await readFile(path, 'utf8'));
      return renderText(request, signal);
    };
    expect((await attempt({ render })).outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
    expect(used).toEqual(['as it was']);
    expect(mail.messages()).toHaveLength(2);
  });

  test('uses a repaired template without new figures if the frozen one cannot be rendered', async () => {
    const template = join(folder, 'templates', 'email', 'report.txt.liquid');
    await mkdir(dirname(template), { recursive: true });
    await writeFile(template, 'broken');
    const render: Renderer = async (request, signal) => {
      const used = await readFile(join(request.mail.templates ?? '', 'email', 'report.txt.liquid'), 'utf8');
      if (used === 'broken') throw new DocketError('template.invalid', 'It is broken.');
      return renderText(request, signal);
    };
    const broken = { kind: 'fail', error: { code: 'template.invalid' } };
    expect((await attempt({ render })).outcome).toMatchObject(broken);
    expect((await attempt({ render })).outcome).toMatchObject(broken);
    await writeFile(template, 'mended');
    const repaired = await attempt({ render });
    expect(repaired.outcome).toMatchObject(waits('awaiting_approval', 'approval'));
    expect(repaired.calls).toBe(0);
    // The template of an approved run is never replaced.
    await approve(ANN);
    await writeFile(template, 'broken');
    expect((await attempt({ render })).outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
  });

  test('needs a new approval after a change of rendered settings, but not of recipient domains', async () => {
    await attempt();
    await approve(ANN);
    const { state } = await review();
    settings = { ...settings, name: 'Another name' };
    expect((await attempt()).outcome).toMatchObject(waits('awaiting_approval', 'approval'));
    const later = (await review()).state;
    expect([later.figures === state.figures, later.content === state.content, later.approvals]).toEqual([
      false,
      false,
      [],
    ]);
    // Recipients may change while the run waits: they are checked on delivery.
    settings = { ...settings, recipients: { ...settings.recipients, domains: ['other.example'] } };
    await attempt();
    expect((await review()).state.figures).toBe(later.figures);
    // Another version of the report may have other sections.
    definition = { ...definition, digest: 'f'.repeat(64) };
    expect((await attempt()).calls).toBeGreaterThan(0);
    definition = { ...definition, digest: order.digest };
    // Another version of Docket may write other files.
    const { inputs } = await openFigures(reviews, order, later.figures ?? '');
    expect(isRenderedAlike(inputs, { definition, settings })).toBe(true);
    expect(isRenderedAlike({ ...inputs, docket: '0.0.0' }, { definition, settings })).toBe(false);
  });

  test('needs no approval when there is nothing to send', async () => {
    definition = {
      ...definition,
      deliveries: definition.deliveries.map((delivery) => ({ ...delivery, send_if: 'profiles.created > 1000000000' })),
    };
    expect((await attempt()).outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
    expect((await ports.archive.peek(order))?.manifest.review).toMatchObject({ approved_by: [] });
    expect(mail.messages()).toEqual([]);
  });

  test('is not sent if it was published without approval, or if a stored file of its figures was changed', async () => {
    const { approval } = definition;
    delete definition.approval;
    order = { ...order, deliver: false };
    expect((await attempt()).outcome).toMatchObject({ kind: 'done', value: { state: 'done' } });
    order = { ...order, deliver: true };
    definition = { ...definition, approval };
    expect((await attempt()).outcome).toMatchObject({ kind: 'fail', error: { code: 'review.not_approved' } });
    expect(mail.messages()).toEqual([]);

    order = { ...order, id: 'e'.repeat(32) };
    await attempt();
    await approve(ANN);
    const { figures } = (await review()).state;
    const path = join(
      folder,
      'archive',
      '.reviews',
      order.org,
      order.report,
      order.id,
      'figures',
      figures ?? '',
      'dataset.json',
    );
    await writeFile(
      path,
      (await readFile(path, 'utf8')).replace(/\d/, (digit) => String((Number(digit) + 1) % 10)),
    );
    await expect(openFigures(reviews, order, figures ?? '').then((opened) => opened.dataset())).rejects.toMatchObject({
      code: 'archive.corrupt',
    });
    expect((await attempt()).outcome).toMatchObject({ kind: 'fail', error: { code: 'archive.corrupt' } });
    expect(mail.messages()).toEqual([]);
  });

  test('fails before the first call without an archive of reviews', async () => {
    const { outcome, calls } = await attempt({ reviews: undefined });
    expect({ outcome, calls }).toMatchObject({ outcome: { error: { code: 'review.not_approved' } }, calls: 0 });
  });
});
