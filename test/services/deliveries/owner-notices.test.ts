import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { DocketError, type ErrorCode } from '../../../src/base/error.ts';
import { Secret } from '../../../src/base/secrets/secret.ts';
import { DAY_MS } from '../../../src/base/time.ts';
import { loadDefinitions, requireReport } from '../../../src/compose/built-in-kinds.ts';
import type { OrgSettings } from '../../../src/definitions/schema/org-settings.ts';
import type { Archive, PublishedManifest } from '../../../src/deliver/archive/archive.ts';
import { buildDenyList, type DenyState, denialText, NOBODY_DENIED } from '../../../src/deliver/denials/deny-list.ts';
import { deliveryId, INTERRUPTED, MAX_ATTEMPT_MS, noticeId } from '../../../src/deliver/ledger/ledger.ts';
import { type Mailer, type SendResult, smtpMailer } from '../../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import { createMailCatcher, type MailCatcher } from '../../../src/demo/mail-catcher.ts';
import type { Judgement } from '../../../src/fetch/dataset.ts';
import type { NoticeOutbox } from '../../../src/queue/runs/notice-outbox.ts';
import type { RedisRunStore } from '../../../src/queue/runs/run-store.ts';
import { createRunOrder } from '../../../src/run/run-order.ts';
import type { RunOrder } from '../../../src/run/run-record.ts';
import { allDeniedError } from '../../../src/run/run-result.ts';
import { sharedBudgets } from '../../../src/services/budgets/budgets.ts';
import { createDecisionService } from '../../../src/services/deliveries/decisions.ts';
import { createOwnerNotices, type OwnerNotices } from '../../../src/services/deliveries/owner-notices.ts';
import { fake } from '../../support/fake.ts';
import { freePort } from '../../support/free-port.ts';
import { recordingLog } from '../../support/queue-harness.ts';
import { scriptedSmtp } from '../../support/smtp-script.ts';
import { testDeployment } from '../../support/test-deployment.ts';

let deployment: Awaited<ReturnType<typeof testDeployment>>;
beforeEach(async () => {
  deployment = await testDeployment();
});

/** An archive with the parts of a published manifest that notices read. */
const judgedArchive = (archive: Archive, judgements: () => readonly Judgement[] | undefined): Archive => ({
  ...archive,
  peek: async (order) => {
    const found = judgements();
    if (found === undefined) return archive.peek(order);
    return { folder: '', manifest: { judgements: found, incomplete: [] } } as unknown as PublishedManifest;
  },
  getArchivedStates: async () => new Map(),
  putAttempt: async () => {},
  getMessage: async () => undefined,
  putMessage: async () => '',
});

const DENIAL = { by: 'ana', reason: 'left', since: 1 };
const OWNER = 'compliance-ops@acme.example';

describe('the owner of a run that ended badly', () => {
  const error = new DocketError('config.secret_missing', 'The environment variable DEMO_API_KEY is not set.').toJSON();
  let mail: MailCatcher;
  let noticeOutbox: NoticeOutbox;
  let order: RunOrder;
  let notices: OwnerNotices;
  let smtp: string;
  let mailer: Mailer | undefined;
  let runs: RedisRunStore;
  let settings: OrgSettings;
  /** Judgements in the run's manifest; undefined if nothing is published. */
  let judgements: readonly Judgement[] | undefined;
  /** Ms that the clock is ahead. */
  let ahead: number;
  /** The deny list, or the error of reading it. */
  let denyState: DenyState | ErrorCode;
  let log: ReturnType<typeof recordingLog>;

  beforeEach(async () => {
    ahead = 0;
    denyState = NOBODY_DENIED;
    log = recordingLog();
    judgements = undefined;
    mail = await createMailCatcher(join(deployment.folder, 'mailbox'));
    smtp = mail.url;
    mailer = undefined;
    const report = requireReport(await loadDefinitions('jobs'), 'demo/weekly-kpi');
    settings = report.settings;
    const now = systemClock.now();
    order = createRunOrder({
      ...report,
      trigger: 'schedule',
      priority: 'scheduled',
      slot: new Date(now).toISOString(),
      at: now,
      deliver: true,
      now,
    });
    ({ runs, noticeOutbox } = deployment);
    await runs.open(order);
    await runs.update(order.id, { state: 'failed', error });
    notices = createOwnerNotices(
      {
        ...deployment,
        definitions: fake({ get: async () => ({ ...report, settings }) }),
        archive: judgedArchive(deployment.archive, () => judgements),
        denials: fake({
          list: async () => {
            if (typeof denyState === 'string') throw new DocketError(denyState, 'Nobody knows who is denied.');
            return buildDenyList(denyState);
          },
        }),
        log,
        clock: { ...systemClock, now: () => systemClock.now() + ahead },
      },
      {
        mailOf: async () => ({ mailer: mailer ?? smtpMailer(new Secret(smtp)), from: 'reports@acme.example' }),
        observe: () => {},
      },
    );
  });
  afterEach(async () => {
    await mail.close();
  });

  test('is notified once, and no notice stays pending', async () => {
    await notices.send(order, error);
    await notices.send(order, error);
    await notices.retryPending();
    expect(mail.messages().map(({ to }) => to)).toEqual([['compliance-ops@acme.example']]);
    expect(await noticeOutbox.list()).toEqual([]);
  });

  test('is notified in the language of the report', async () => {
    settings = { ...settings, locale: 'de-CH' };
    await notices.send(order, error);
    const [message] = mail.messages();
    const { subject, text } = await PostalMime.parse(await readFile(message?.path ?? ''));
    expect(subject).toMatch(/^Fehlgeschlagen: /);
    expect(text).toContain('Es wurde nichts zugestellt.');
  });

  test('is notified later if the mail server was down, also by another process', async () => {
    smtp = `smtp://127.0.0.1:${await freePort()}`;
    await notices.send(order, error);
    expect(await noticeOutbox.list()).toMatchObject([{ run: order.id, error: { code: 'config.secret_missing' } }]);
    await notices.retryPending();
    expect(mail.messages()).toEqual([]);
    smtp = mail.url;
    await notices.retryPending();
    await notices.retryPending();
    expect(mail.messages()).toHaveLength(1);
    expect(await noticeOutbox.list()).toEqual([]);
  });

  test('gets a notice that nobody got the report, because all recipients are denied', async () => {
    const skipped = { target: '0-email', recipient: 'lead@acme.example', state: 'skipped', detail: denialText(DENIAL) };
    await runs.reopen(order.id, ['failed'], { what: 'retry', by: 'ops', reason: 'r', at: 1 });
    await runs.update(order.id, { state: 'done', error: null, deliveries: [{ ...skipped, state: 'skipped' }] });
    // The process died before it sent the notice.
    await notices.enqueue(order, allDeniedError([skipped])?.toJSON() ?? null);
    await notices.retryPending();
    await notices.retryPending();
    const [message, ...others] = mail.messages();
    expect([message?.to, others]).toEqual([[OWNER], []]);
    expect(await readFile(message?.path ?? '', 'utf8')).toContain('deliver.recipient_denied');
  });

  test('gets no notice if denied, and the log says so', async () => {
    denyState = { ...NOBODY_DENIED, entries: [{ ...DENIAL, name: OWNER }] };
    await notices.send(order, error);
    await notices.retryPending();
    expect(mail.messages()).toEqual([]);
    expect(await noticeOutbox.list()).toEqual([]);
    expect(await deployment.ledger.find(noticeId(order.id, OWNER, false))).toMatchObject({ state: 'skipped' });
    expect(log.lines).toMatchObject([{ level: 'warn', run: order.id, why: denialText(DENIAL) }]);
  });

  test('is notified however long the deny list is unreadable; other failures end the notice after days', async () => {
    const pendingAfter = async (days: number, cause: ErrorCode) => {
      denyState = cause;
      await notices.enqueue(order, error);
      ahead += days * DAY_MS;
      await notices.retryPending();
      return noticeOutbox.list();
    };
    expect(await pendingAfter(9, 'switch.unreadable')).toMatchObject([{ run: order.id }]);
    denyState = NOBODY_DENIED;
    await notices.retryPending();
    expect([mail.messages(), await noticeOutbox.list()]).toMatchObject([[{ to: [OWNER] }], []]);
    await deployment.redis.del(await deployment.redis.keys('*deliveries*'));
    expect(await pendingAfter(2, 'redis.unreachable')).toHaveLength(1);
    expect(await pendingAfter(4, 'redis.unreachable')).toEqual([]);
  });

  test('is not notified while the run continues, nor if it ends well after all', async () => {
    await notices.enqueue(order, error);
    await runs.reopen(order.id, ['failed'], { what: 'retry', by: 'ops', reason: 'r', at: 1 });
    await notices.retryPending();
    expect(await noticeOutbox.list()).toHaveLength(1);
    await runs.update(order.id, { state: 'done' });
    await notices.retryPending();
    expect(await noticeOutbox.list()).toEqual([]);
    expect(mail.messages()).toEqual([]);
  });

  test.each([
    ['cannot be right', true, 1],
    ['can be right', undefined, 0],
  ] as const)('is notified of a delivered run whose judged figure %s', async (_, wrong, messages) => {
    const reported = new DocketError('run.incomplete', 'A figure cannot be right: kpis: 1 figure.').toJSON();
    await runs.reopen(order.id, ['failed'], { what: 'retry', by: 'ops', reason: 'r', at: 1 });
    await runs.update(order.id, { state: 'done', error: null });
    judgements = [
      {
        section: 'kpis',
        metric: 'rfis.overdue',
        bucket: null,
        group: null,
        figure: -5,
        status: 'undefined',
        target: 0,
        wrong,
      },
    ];
    const id = deliveryId(order.id, '0-email', 'board@acme.example');
    const { ledger } = deployment;
    const row = { id, run: order.id, org: 'demo', report: 'weekly-kpi', target: '0-email' };
    await ledger.open({ ...row, recipient: 'board@acme.example' }, 1);
    // The process died before it sent the notice.
    await notices.enqueue(order, reported);
    await notices.retryPending();
    await notices.retryPending();
    expect(mail.messages()).toHaveLength(messages);
    for (const { path } of mail.messages()) expect(await readFile(path, 'utf8')).toMatch(/^Subject: Wrong figures: /m);
    expect(await noticeOutbox.list()).toEqual([]);
  });

  test('has an unknown notice if a process died while sending it and the run ended well after all', async () => {
    const { ledger } = deployment;
    const id = noticeId(order.id, OWNER, false);
    await ledger.open({ id, run: order.id, org: 'demo', report: 'weekly-kpi', target: 'notice', recipient: OWNER }, 1);
    await ledger.begin(id, systemClock.now());
    await notices.enqueue(order, error);
    await runs.reopen(order.id, ['failed'], { what: 'retry', by: 'ops', reason: 'r', at: 1 });
    await runs.update(order.id, { state: 'done' });
    await notices.retryPending();
    expect(await ledger.find(id)).toMatchObject({ state: 'sending' });
    expect(await noticeOutbox.list()).toHaveLength(1);

    ahead = MAX_ATTEMPT_MS;
    await notices.retryPending();
    expect(await ledger.find(id)).toMatchObject({ state: 'unknown', detail: INTERRUPTED });
    expect(await ledger.listUnknown(1)).toMatchObject([{ id }]);
    expect(await noticeOutbox.list()).toEqual([]);
    expect(mail.messages()).toEqual([]);
  });

  test('finds in the notice how to decide about a delivery that a dead attempt left', async () => {
    const { ledger } = deployment;
    const recipient = 'lead@acme.example';
    const row = { id: deliveryId(order.id, '0-email', recipient), run: order.id, org: order.org, report: order.report };
    await ledger.open({ ...row, target: '0-email', recipient }, 1);
    await ledger.begin(row.id, 2);
    await notices.send(
      order,
      new DocketError('run.poison', '3 workers went away with the run in hand, the last 3 at the same place.').toJSON(),
    );
    expect(await ledger.listUnknown(5)).toMatchObject([{ id: row.id, recipient }]);
    const text = await readFile(mail.messages()[0]?.path ?? '', 'utf8');
    expect(text).toContain(`docket deliveries resolve ${row.id}`);
  });

  test.each([
    ['unknown', { dot: 'FIN' }],
    ['refused', { RCPT: { say: '550 5.1.1 No such user' } }],
  ] as const)('need not decide about a notice that ended as %s; a decision sends it again', async (state, script) => {
    const server = await scriptedSmtp((connection) => (connection === 0 ? script : {}));
    onTestFinished(() => server.close());
    smtp = server.url;
    const { ledger } = deployment;
    await notices.send(order, error);
    expect(await noticeOutbox.list()).toEqual([]);
    const desk = createDecisionService(deployment);
    expect(await desk.list({ orgs: '*', state: 'unknown', limit: 5 })).toEqual([]);
    const [row] = await desk.list({ orgs: '*', state, run: order.id, limit: 5 });
    expect(row).toMatchObject({ target: 'notice', recipient: 'compliance-ops@acme.example', run: order.id });

    const decided = await desk.resolve(row?.id ?? '', 'resend', { by: 'ops', reason: 'not there' });
    expect(decided).toMatchObject({ state: 'pending', decisions: [{ to: 'pending', by: 'ops' }] });
    // As after a crash between the ledger and the outbox.
    await noticeOutbox.delete(order.id);
    await desk.resolve(row?.id ?? '', 'resend', { by: 'ops', reason: 'not there' });
    await notices.retryPending();
    await notices.retryPending();

    expect(await ledger.find(row?.id ?? '')).toMatchObject({ state: 'sent', epoch: 3 });
    const taken = server.conversations.filter(({ ended }) => ended);
    expect(taken).toHaveLength(state === 'unknown' ? 2 : 1);
    const idOf = (body: Buffer) => /^Message-ID: .*$/im.exec(body.toString('latin1'))?.[0];
    expect(new Set(taken.map(({ body }) => idOf(body))).size).toBe(1);
    expect(await noticeOutbox.list()).toEqual([]);
    // The run was not reopened for it.
    expect(await runs.get(order.id)).toMatchObject({ state: 'failed', reopened: [] });
    await expect(desk.resolve(row?.id ?? '', 'resend', { by: 'ops', reason: 'r' })).rejects.toMatchObject({
      code: 'delivery.conflict',
    });
  });

  test('gets an unknown notice once more with on_unknown: resend, and then it waits for a decision', async () => {
    settings = { ...settings, on_unknown: 'resend' };
    const server = await scriptedSmtp({ dot: 'FIN' });
    onTestFinished(() => server.close());
    smtp = server.url;
    await notices.send(order, error);
    expect(await noticeOutbox.list()).toHaveLength(1);
    await notices.retryPending();
    await notices.retryPending();
    expect(server.conversations.filter(({ ended }) => ended)).toHaveLength(2);
    expect(await noticeOutbox.list()).toEqual([]);
    const { ledger } = deployment;
    expect(await ledger.listUnknown(5)).toMatchObject([{ target: 'notice', decisions: [{ by: 'docket' }] }]);
  });

  test.each<readonly [string, SendResult, number]>([
    ['is taken', { kind: 'accepted', response: '250 Ok' }, 1],
    ['is put off', { kind: 'deferred', response: '450 Later', server: false }, 2],
  ])(
    'gets one notice even if another process checks pending ones while it is being sent and %s',
    async (_, answer, sends) => {
      settings = { ...settings, on_unknown: 'resend' };
      let requestCount = 0;
      let letGo: (result: SendResult) => void = () => {};
      const leaving = new Promise<void>((underWay) => {
        const send = (): Promise<SendResult> => {
          requestCount += 1;
          if (requestCount > 1) return Promise.resolve({ kind: 'accepted', response: '250 Ok' });
          underWay();
          return new Promise((resolve) => (letGo = resolve));
        };
        mailer = { send, close: async () => {} };
      });
      const reported = notices.send(order, error);
      await leaving;
      await notices.retryPending();
      await notices.retryPending();
      expect(await noticeOutbox.list()).toHaveLength(1);
      letGo(answer);
      await reported;
      await notices.retryPending();
      expect(requestCount).toBe(sends);
      expect(await noticeOutbox.list()).toEqual([]);
      const rows = await deployment.ledger.list(order.id);
      expect(rows).toMatchObject([{ target: 'notice', state: 'sent', decisions: [] }]);
    },
  );

  test('of a held run that was released and then failed is notified of both', async () => {
    const server = await scriptedSmtp((connection) => (connection === 0 ? { dot: 'FIN' } : {}));
    onTestFinished(() => server.close());
    smtp = server.url;
    await notices.send(order, { ...error, code: 'run.held' });
    await notices.send(order, error);
    await notices.send(order, error);
    expect(server.conversations.filter(({ ended }) => ended)).toHaveLength(2);
    // The notice that the run is held is outdated and cannot be resent.
    const { ledger } = deployment;
    const desk = createDecisionService(deployment);
    const [held] = await ledger.listUnknown(5);
    await expect(desk.resolve(held?.id ?? '', 'resend', { by: 'ops', reason: 'r' })).rejects.toMatchObject({
      code: 'delivery.conflict',
    });
  });

  test('gets no notice of a run without a record', async () => {
    await noticeOutbox.enqueue({ run: 'f'.repeat(32), error, since: 0 });
    await notices.retryPending();
    expect(await noticeOutbox.list()).toEqual([]);
  });
});

test('a budget that a deploy changes still counts the calls made before', async () => {
  const budgets = sharedBudgets(deployment.redis, deployment.prefix, systemClock);
  const ask = (calls: number, id: string) =>
    budgets('metrics', { calls, windowMs: 60_000 }).acquire({
      key: 'fingerprint',
      id,
      org: 'acme',
      priority: 'scheduled',
      holdMs: 1_000,
    });
  for (let call = 0; call < 30; call += 1) expect((await ask(30, `before:${call}`)).granted).toBe(true);
  for (let call = 0; call < 30; call += 1) expect((await ask(29, `after:${call}`)).granted).toBe(false);
});
