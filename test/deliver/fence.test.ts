import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { DocketError } from '../../src/base/error.ts';
import { Secret, secretSource } from '../../src/base/secrets/secret.ts';
import { type DeliverInput, deliver } from '../../src/deliver/deliver.ts';
import { attemptFence, NotConfirmedError } from '../../src/deliver/internal/fence.ts';
import type { DeliveryRow, Ledger } from '../../src/deliver/ledger/ledger.ts';
import { smtpMailer } from '../../src/deliver/targets/email/smtp/smtp-mailer.ts';
import {
  definitionWith,
  deliverInput,
  folderFor,
  RUN,
  SETTINGS,
  sealedRun,
  type TestDelivery,
} from '../support/delivery-case.ts';
import { fake } from '../support/fake.ts';
import { hostileServer } from '../support/hostile-server.ts';
import { manualClock } from '../support/manual-clock.ts';
import { memoryLedger } from '../support/memory-ledger.ts';
import { ACCESS_KEY_ID, SECRET_ACCESS_KEY, s3Server } from '../support/s3-server.ts';
import { SFTP_PASSWORD, SFTP_USER, sftpServer } from '../support/sftp-server.ts';
import { type SmtpScript, scriptedSmtp } from '../support/smtp-script.ts';

const HOUR_MS = 3_600_000;
const EMAIL: TestDelivery = { email: { to: ['lead@acme.example'], attach: ['csv'] } };

/** Happens during an attempt: another worker finds it interrupted, and a person has it sent again. */
async function resend(ledger: Ledger): Promise<DeliveryRow | undefined> {
  const [row] = await ledger.list(RUN);
  if (row === undefined) throw new Error('no row');
  await ledger.settle(row.id, row.epoch, 'unknown', 'interrupted', Date.now());
  return ledger.resolve(row.id, row.epoch, { to: 'pending', by: 'ada', reason: 'never arrived', at: Date.now() });
}

/** A ledger that calls the test before its n-th reply (from 1) about the state of a row. */
function watched(onFind: (nth: number, ledger: Ledger) => unknown): Ledger {
  const ledger = memoryLedger();
  let nth = 0;
  return {
    ...ledger,
    find: async (id) => {
      nth += 1;
      await onFind(nth, ledger);
      return ledger.find(id);
    },
  };
}

/** A ledger that calls the test before its first reply about the state of a row. */
const firstAfter = (before: (ledger: Ledger) => unknown): Ledger =>
  watched((nth, ledger) => (nth === 1 ? before(ledger) : undefined));

interface Over {
  readonly clock?: Clock;
  readonly monotonic?: () => number;
  readonly confirmLock?: () => Promise<number>;
  readonly claim?: () => Promise<void>;
  readonly confirmOpen?: () => Promise<void>;
}

async function caseOf(
  delivery: TestDelivery,
  ledger: Ledger,
  over: Over & Pick<Partial<DeliverInput>, 'mail'> & { readonly deliveries?: readonly TestDelivery[] } = {},
) {
  const root = await folderFor(onTestFinished);
  const { archive, published } = await sealedRun(root, {
    'queue.csv': Buffer.alloc(1024 * 1024, 'alerts,3\r\n'),
  });
  const input = deliverInput({
    definition: definitionWith([delivery, ...(over.deliveries ?? [])]),
    settings: { ...SETTINGS, allow_private: true },
    secrets: secretSource({
      KEY_ID: ACCESS_KEY_ID,
      SECRET: SECRET_ACCESS_KEY,
      PASSWORD: SFTP_PASSWORD,
      SIGNING: `whsec_${Buffer.alloc(32, 'k').toString('base64')}`,
    }),
    published,
    mail: undefined,
    ledger,
    archive,
    workingDirectory: root,
  });
  const { mail, deliveries: _, ...own } = over;
  const withMail = { ...input, mail };
  const rows = () => ledger.list(RUN);
  // The next worker has its own clocks and lock.
  return { root, once: () => deliver({ ...withMail, ...own }), again: () => deliver(withMail), rows };
}

async function mailCase(ledger: Ledger, script: SmtpScript = {}, over: Over = {}) {
  const server = await scriptedSmtp((connection) => (connection === 0 ? script : {}));
  const mailer = smtpMailer(new Secret(server.url));
  onTestFinished(async () => {
    await mailer.close();
    await server.close();
  });
  const mail = { mailer, from: 'reports@docket.example' };
  const made = await caseOf(EMAIL, ledger, { ...over, mail });
  const taken = () => server.conversations.filter(({ accepted }) => accepted).length;
  return { ...made, server, taken };
}

const DECIDED = { state: 'pending', epoch: 2, decisions: [{ to: 'pending', by: 'ada' }] };

test('no body is sent if the delivery was resent while the server delayed its reply to DATA', async () => {
  const ledger = memoryLedger();
  const meanwhile = (resume: () => void) => void resend(ledger).then(resume);
  const { server, once, again, rows, taken } = await mailCase(ledger, { DATA: { meanwhile } });
  await once();
  expect(await rows()).toMatchObject([DECIDED]);
  await server.left();
  expect(server.conversations.map(({ ended, body }) => [ended, body.length])).toEqual([[false, 0]]);
  await again();
  expect(await rows()).toMatchObject([{ state: 'sent' }]);
  expect(taken()).toBe(1);
});

test('no DATA terminator is sent if the delivery was resent during the body', async () => {
  const finds: number[] = [];
  const ledger = watched((nth, under) => {
    finds.push(nth);
    return nth === 2 ? resend(under) : undefined;
  });
  const { server, once, again, rows, taken } = await mailCase(ledger);
  await once();
  expect(finds).toEqual([1, 2]);
  expect(await rows()).toMatchObject([DECIDED]);
  await server.left();
  expect(server.conversations[0]?.ended).toBe(false);
  await again();
  expect(taken()).toBe(1);
});

test('an attempt is confirmed again when its confirmation expires during the body, and stops after a resend', async () => {
  let now = 0;
  let readings = 0;
  // The process is frozen for an hour after some pieces of the body.
  const monotonic = () => {
    readings += 1;
    if (readings === 8) now = HOUR_MS;
    return now;
  };
  const finds: number[] = [];
  const ledger = watched((nth, under) => {
    finds.push(now);
    return nth === 2 ? resend(under) : undefined;
  });
  const { server, once, rows, again, taken } = await mailCase(ledger, {}, { monotonic });
  await once();
  expect(finds).toEqual([0, HOUR_MS]);
  expect(await rows()).toMatchObject([DECIDED]);
  await server.left();
  expect(server.conversations[0]?.ended).toBe(false);
  await again();
  expect(taken()).toBe(1);
});

test('a slow body is confirmed repeatedly and sent completely', async () => {
  let now = 0;
  const monotonic = () => {
    now += 2_000;
    return now;
  };
  const finds: number[] = [];
  const { once, rows, taken } = await mailCase(
    watched((nth) => finds.push(nth)),
    {},
    { monotonic },
  );
  await once();
  expect(finds.length).toBeGreaterThan(3);
  expect(await rows()).toMatchObject([{ state: 'sent', epoch: 1 }]);
  expect(taken()).toBe(1);
});

const START = Date.UTC(2026, 10, 16, 7);
const AWAY = new DocketError('redis.unreachable', 'Redis does not answer.');

/** Reasons for which an attempt is not confirmed. Each creates the ports of one attempt. */
const UNCONFIRMED: Record<string, () => { over: Over; ledger: Ledger }> = {
  'by a ledger that answers after an hour (monotonic clock)': () => {
    let now = 0;
    return {
      over: { monotonic: () => now },
      ledger: firstAfter(() => {
        now = HOUR_MS;
      }),
    };
  },
  'by a ledger that answers after an hour (wall clock)': () => {
    const clock = manualClock(START);
    return { over: { clock }, ledger: firstAfter(() => clock.advance(HOUR_MS)) };
  },
  'while the wall clock is set back': () => {
    const clock = manualClock(START);
    return { over: { clock }, ledger: firstAfter(() => clock.set(START - HOUR_MS)) };
  },
  'by a ledger that cannot be asked': () => ({
    over: {},
    ledger: firstAfter(() => Promise.reject(AWAY)),
  }),
  'without the lock of the run': () => ({ over: { confirmLock: async () => 0 }, ledger: watched(() => {}) }),
  'with a lock that cannot be asked about': () => ({
    over: { confirmLock: () => Promise.reject(AWAY) },
    ledger: watched(() => {}),
  }),
  'with a lock that runs out meanwhile': () => {
    let now = 0;
    const confirmLock = async () => 1_000;
    return {
      over: { confirmLock, monotonic: () => now },
      ledger: firstAfter(() => {
        now = 1_500;
      }),
    };
  },
};

test('a ledger that does not reply confirms nothing', async () => {
  const find = () => new Promise<undefined>(() => {});
  const input = { ledger: fake<Ledger>({ find }), delivery: 'a', epoch: 1, clock: systemClock, timeoutMs: 1 };
  await expect(attemptFence(input).confirm()).rejects.toBeInstanceOf(NotConfirmedError);
});

test('a confirmation waits for slow records of the attempt’s start, and fails without them', async () => {
  const clock = manualClock(0);
  const ledger = memoryLedger();
  const row = { id: 'a', run: RUN, org: 'acme', report: 'weekly-kpi', target: '0-email', recipient: 'a@acme.example' };
  await ledger.open(row, 0);
  const epoch = (await ledger.begin('a', 0)) ?? 0;
  let tell: () => void = () => {};
  const begun = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const fence = attemptFence({ ledger, delivery: 'a', epoch, clock, monotonic: clock.now, begun });
  const confirmed = fence.confirm();
  clock.advance(HOUR_MS);
  tell();
  await confirmed;
  const failed = attemptFence({ ledger, delivery: 'a', epoch, clock, begun: Promise.reject(new Error('disk full')) });
  for (const confirm of [failed.confirm, failed.confirm, failed.confirmIfStale])
    await expect(confirm()).rejects.toBeInstanceOf(NotConfirmedError);
});

test.each(Object.keys(UNCONFIRMED))(
  'a confirmation %s is not enough to send, and the next attempt sends the message once',
  async (name) => {
    const { over, ledger } = UNCONFIRMED[name]!();
    const { server, once, again, rows, taken } = await mailCase(ledger, {}, over);
    // This worker stops, because another worker has the run.
    if ((await over.confirmLock?.().catch(() => undefined)) === 0)
      await expect(once()).rejects.toMatchObject({ code: 'run.cancelled' });
    else expect((await once()).retryable).toBe(true);
    expect(await rows()).toMatchObject([{ state: 'pending', epoch: 1 }]);
    await server.left();
    expect(server.conversations.map(({ ended, body }) => [ended, body.length])).toEqual([[false, 0]]);
    await again();
    expect(await rows()).toMatchObject([{ state: 'sent', epoch: 2 }]);
    expect(taken()).toBe(1);
  },
);

test('a worker that has lost the lock of the run begins no further delivery', async () => {
  const both = await Promise.all([TARGETS.directory!(), TARGETS.webhook!()]);
  const ledger = memoryLedger();
  const { once, again, rows } = await caseOf(both[0].delivery, ledger, {
    deliveries: [both[1].delivery],
    confirmLock: async () => 0,
  });
  await expect(once()).rejects.toMatchObject({ code: 'run.cancelled' });
  expect(await rows()).toMatchObject([
    { state: 'pending', epoch: 1 },
    { state: 'pending', epoch: 0 },
  ]);
  await again();
  expect(await rows()).toMatchObject([{ state: 'sent' }, { state: 'sent' }]);
});

test('a worker that loses the lock of the run while it claims the period begins no delivery', async () => {
  let lockMs = 60_000;
  const ledger = memoryLedger();
  const claim = async () => {
    lockMs = 0;
  };
  const { server, once, again, rows } = await mailCase(ledger, {}, { claim, confirmLock: async () => lockMs });
  await expect(once()).rejects.toMatchObject({ code: 'run.cancelled' });
  expect(await rows()).toEqual([]);
  expect(server.conversations).toEqual([]);
  await again();
  expect(await rows()).toMatchObject([{ state: 'sent', epoch: 1 }]);
});

test('files need no confirmation after their attempt has begun, and a result that is not visible yet is read again', async () => {
  const { delivery } = await TARGETS.directory!();
  const requested: string[] = [];
  const ledger = memoryLedger();
  const { once } = await caseOf(
    delivery,
    {
      ...ledger,
      find: (id) => {
        requested.push('find');
        return ledger.find(id);
      },
      list: async (run) => {
        requested.push('list');
        const rows = await ledger.list(run);
        return requested.length > 2 ? rows : rows.map((row) => ({ ...row, state: 'sending' as const }));
      },
    },
    {
      confirmLock: async () => {
        requested.push('lock');
        return 30_000;
      },
    },
  );
  expect((await once()).receipts).toMatchObject([{ state: 'sent' }]);
  expect(requested).toEqual(['lock', 'list', 'list']);
});

/** Kinds of targets, and what each has received. */
const TARGETS: Record<string, () => Promise<{ delivery: TestDelivery; has: (root: string) => unknown }>> = {
  directory: async () => ({
    delivery: { directory: { path: 'out' } },
    has: (root) => readdir(join(root, 'out')),
  }),
  s3: async () => {
    const server = await s3Server();
    onTestFinished(() => server.close());
    const s3 = {
      bucket: server.bucket,
      key: '{{ file.name }}',
      endpoint: server.url,
      credentials: { access_key_id: { env: 'KEY_ID' }, secret_access_key: { env: 'SECRET' } },
      tags: true,
      overwrite: true,
    };
    const puts = () => server.requests.filter(({ method }) => method === 'PUT').map(() => 'queue.csv');
    return { delivery: { s3 }, has: puts };
  },
  sftp: async () => {
    const server = await sftpServer();
    onTestFinished(() => server.close());
    const sftp = {
      host: '127.0.0.1',
      port: server.port,
      user: SFTP_USER,
      password: { env: 'PASSWORD' },
      host_key: [server.fingerprint],
      path: 'in',
      mkdir: false,
      overwrite: false,
    };
    return { delivery: { sftp }, has: () => [...server.files.keys()].map((path) => path.split('/').at(-1)) };
  },
  webhook: async () => {
    const server = await hostileServer();
    onTestFinished(() => server.close());
    server.behave((_request, response) => void response.writeHead(204).end());
    const webhook = { url: `${server.url}/hook`, secret: { env: 'SIGNING' }, idempotent: false };
    return { delivery: { webhook }, has: () => server.requests.map(() => 'queue.csv') };
  },
};

test.each(Object.keys(TARGETS))('a %s delivery sends nothing if it was resent just before', async (name) => {
  const { delivery, has } = await TARGETS[name]!();
  const ledger = firstAfter(resend);
  const { root, once, again, rows } = await caseOf(delivery, ledger);
  await once();
  expect(await rows()).toMatchObject([DECIDED]);
  expect(await has(root)).toEqual([]);
  await again();
  expect(await rows()).toMatchObject([{ state: 'sent' }]);
  expect(await has(root)).toEqual(['queue.csv']);
});

test('a message is not completed after a stop during its body, which does not count as a failure of the server', async () => {
  const ledger = memoryLedger();
  let requestCount = 0;
  // Deliveries are stopped only before the final dot, not in the earlier checks.
  const confirmOpen = async () => {
    requestCount += 1;
    if (requestCount > 2) throw new DocketError('delivery.stopped', 'Deliveries are stopped.');
  };
  const { server, once, again, rows, taken } = await mailCase(ledger, {}, { confirmOpen });
  expect(await once()).toMatchObject({ retryable: true, outage: undefined });
  expect(await rows()).toMatchObject([{ state: 'pending' }]);
  await server.left();
  expect(server.conversations[0]?.ended).toBe(false);
  await again();
  expect(taken()).toBe(1);
});

test('no delivery begins while deliveries are stopped', async () => {
  const ledger = memoryLedger();
  const stopped = new DocketError('delivery.stopped', 'Deliveries are stopped.');
  const { root, once, again, rows } = await caseOf({ directory: { path: 'out' } }, ledger, {
    confirmOpen: () => Promise.reject(stopped),
  });
  await expect(once()).rejects.toBe(stopped);
  expect(await rows()).toMatchObject([{ state: 'pending', epoch: 0 }]);
  expect(await readdir(root)).not.toContain('out');
  await again();
  expect(await rows()).toMatchObject([{ state: 'sent' }]);
});
