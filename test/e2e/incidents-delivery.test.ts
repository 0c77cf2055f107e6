import { afterAll, beforeAll, expect } from 'vitest';
import {
  type IncidentDeployment,
  incidentDeployment,
  type MailScript,
  type MailServer,
} from '../support/incidents/deployment.ts';
import { incident } from '../support/incidents/incident.ts';
import { waitFor } from '../support/wait-for.ts';

const REFUSES = { RCPT: { say: '554 5.7.1 Relaying is denied' } };
const SILENT = { dot: 'hang' } as const;
const EIGHTY = Array.from({ length: 80 }, (_, n) => `reader-${n}`);
/** Loses every second message only: after two losses in a row Docket would stop sending to the server. */
const LOSES_EVERY_SECOND: MailScript = (message) => (message % 2 === 0 ? { dot: 'RST' } : {});
const [RIGHT, WRONG] = ['lead', 'laed'];
const WHY = 'repaired';

let deployment: IncidentDeployment;
const mail = new Map<string, MailServer>();
const serverOf = (org: string): MailServer => {
  const server = mail.get(org);
  if (server === undefined) throw new Error(`no mail server of ${org}`);
  return server;
};
const each = (org: string, ...names: string[]) =>
  `email: { to: [${names.map((name) => `${name}@${org}.example`).join(', ')}], attach: [csv] }`;

beforeAll(async () => {
  deployment = await incidentDeployment();
  for (const by of ['p', 't']) {
    const add = async (org: string, options: Parameters<IncidentDeployment['addOrg']>[1]) =>
      void mail.set(org, await deployment.addOrg(org, options));
    await add(`${by}-deny`, { mail: REFUSES });
    await add(`${by}-mute`, { mail: SILENT });
    await add(`${by}-forty`, { mail: LOSES_EVERY_SECOND, deliveries: [each(`${by}-forty`, ...EIGHTY)] });
    await add(`${by}-typo`, {
      mail: { RCPT: { say: '550 5.1.1 No such mailbox', only: new RegExp(WRONG) } },
      deliveries: [each(`${by}-typo`, 'board', WRONG)],
    });
    await add(`${by}-wrong`, { deliveries: [each(`${by}-wrong`, 'board', 'mlro')] });
    await add(`${by}-held`, { period: '{ from: 2015-01-05, to: 2015-01-11 }', more: 'on_incomplete: hold\n' });
  }
  await deployment.start();
  for (const org of mail.keys()) if (!org.endsWith('forty')) await deployment.trigger(org);
});
afterAll(() => deployment?.close());

/** The mail server accepts the message and stays silent until its connection breaks. */
async function raiseSilence(org: string): Promise<void> {
  const server = serverOf(org);
  await waitFor('the message', () => server.conversations.some(({ ended }) => ended));
  server.script = {};
  server.cut();
  await deployment.runIn(org, 'partly_delivered', 'failed');
}

incident(
  'Mail server refuses',
  () => deployment,
  {
    orgs: { page: 'p-deny', terminal: 't-deny' },
    raise: () => Promise.all(['p-deny', 't-deny'].map((org) => deployment.runIn(org, 'failed'))),
    page: async (operator) => {
      await operator.opens();
      await operator.clicks('link', /^Run [0-9a-f]{8}$/);
      await operator.reads('deliver.target_refused');
      await operator.repairs('mend the mail server', /554 5\.7\.1/, () => (serverOf('p-deny').script = {}));
      await operator.opensForm('Retry deliveries');
      await operator.fills(/^Why/, WHY);
      await operator.clicks('button', /^Retry deliveries/);
      await operator.reads(/^Done$/);
    },
    terminal: async (operator) => {
      const list = await operator.types('docket runs --org t-deny --state failed');
      const run = list.reads(/\b([0-9a-f]{8,32})\b/);
      (await operator.types('docket runs show {run}', { run })).reads(/deliver\.target_refused/);
      await operator.repairs('mend the mail server', /554 5\.7\.1/, () => (serverOf('t-deny').script = {}));
      await operator.types('docket runs retry {run} --reason {why}', { run, why: WHY });
      await deployment.runIn('t-deny', 'done');
      (await operator.types('docket runs show {run}', { run })).reads(/\bdone\b/);
    },
  },
  { concurrent: true },
);

incident(
  'Mail server accepts, then is silent',
  () => deployment,
  {
    orgs: { page: 'p-mute', terminal: 't-mute' },
    raise: () => Promise.all(['p-mute', 't-mute'].map(raiseSilence)),
    page: async (operator) => {
      await operator.opens();
      await operator.clicks('link', /^Decide/);
      await operator.reads('lead@p-mute.example');
      await operator.clicks('radio', /^It arrived/);
      await operator.fills(/^How do you know/, 'she has it');
      await operator.clicks('button', /^Decide/);
      await operator.reads(/^Done$/);
    },
    terminal: async (operator) => {
      const list = await operator.types('docket deliveries --unknown');
      const delivery = list.reads(/t-mute[^\n]*?\b([0-9a-f]{8,32})\b/);
      await operator.types('docket deliveries resolve {delivery} --sent --reason {why}', { delivery, why: 'asked' });
      expect((await operator.types('docket deliveries --unknown')).text).not.toContain(delivery);
      await deployment.runIn('t-mute', 'done');
    },
  },
  { concurrent: true },
);

incident(
  'Pack held',
  () => deployment,
  {
    orgs: { page: 'p-held', terminal: 't-held' },
    raise: () => Promise.all(['p-held', 't-held'].map((org) => deployment.runIn(org, 'held'))),
    page: async (operator) => {
      await operator.opens();
      await operator.clicks('link', /^Run [0-9a-f]{8}$/);
      await operator.reads(/Missing figures/);
      await operator.reads('lead@p-held.example');
      await operator.fills(/^Why/, 'the board knows');
      await operator.clicks('button', /^Release/);
      await operator.reads(/^Done$/);
    },
    terminal: async (operator) => {
      const list = await operator.types('docket runs --state held');
      const run = list.reads(/t-held[^\n]*?\b([0-9a-f]{8,32})\b/);
      (await operator.types('docket runs show {run}', { run })).reads(/lead@t-held\.example/);
      await operator.types('docket runs release {run} --reason {why}', { run, why: 'known' });
      await deployment.runIn('t-held', 'done');
      (await operator.types('docket runs show {run}', { run })).reads(/\bdone\b/);
    },
  },
  { concurrent: true },
);

incident(
  'Wrong recipient in a definition',
  () => deployment,
  {
    orgs: { page: 'p-typo', terminal: 't-typo' },
    raise: () => Promise.all(['p-typo', 't-typo'].map((org) => deployment.runIn(org, 'partly_delivered'))),
    page: async (operator) => {
      await operator.opens();
      await operator.clicks('link', /^Run [0-9a-f]{8}$/);
      await operator.reads(/550 5\.1\.1/);
      await operator.reads(`${WRONG}@p-typo.example`);
      await operator.repairs('correct the definition', /in the definition/, () => correct('p-typo'));
      await operator.clicks('link', /weekly|Weekly figures/);
      await operator.opensForm('Run now');
      await operator.clicks('radio', /^Deliver them/);
      await operator.clicks('button', /^Run$/);
      await operator.clicks('checkbox', /^Deliver again/);
      await operator.clicks('button', /^Run$/);
      await operator.reads(/^Done$/);
    },
    terminal: async (operator) => {
      const list = await operator.types('docket runs --org t-typo --state partly_delivered failed');
      const [old, period] = [list.reads(/\b([0-9a-f]{8,32})\b/), list.reads(/\b(\d{4}-W\d\d)\b/)];
      (await operator.types('docket runs show {run}', { run: old })).reads(/550 5\.1\.1/);
      await operator.repairs('correct the definition', /correct the definition/, () => correct('t-typo'));
      await operator.types('docket run {report} --period {period} --queue', { report: 't-typo/weekly', period }, 'y');
      const run = await deployment.runIn('t-typo', 'done');
      (await operator.types('docket runs show {run}', { run: run.id.slice(0, 8) })).reads(/\bdone\b/);
    },
  },
  { concurrent: true },
);

/** Both recipients got the corrected edition, and nothing else was sent. */
async function readCorrected(org: string): Promise<void> {
  await deployment.runIn(org, 'done');
  const subjects = serverOf(org).conversations.flatMap(
    ({ body }) => body.toString('utf8').match(/^Subject: [^\r\n]*/m)?.[0] ?? [],
  );
  expect(subjects.map((subject) => /^Subject: Corrected/.test(subject))).toEqual([false, false, true, true]);
}

incident(
  'Wrong pack',
  () => deployment,
  {
    orgs: { page: 'p-wrong', terminal: 't-wrong' },
    called: ({ terminal }) => `The figures that ${terminal} got are wrong.`,
    raise: () => Promise.all(['p-wrong', 't-wrong'].map((org) => deployment.runIn(org, 'done'))),
    page: async (operator) => {
      await operator.opens();
      await operator.clicks('link', /^Run [0-9a-f]{8}$/);
      await operator.reads('board@p-wrong.example');
      await operator.opensForm('Send a corrected edition');
      await operator.reads(/goes to 2 recipients of this run, marked as corrected/);
      await operator.fills(/^What was wrong/, 'page 2 had the figures of another week');
      await operator.clicks('button', /^Send a corrected edition/);
      await operator.reads(/^Done$/);
      await readCorrected('p-wrong');
    },
    terminal: async (operator) => {
      await operator.types('docket --help');
      const list = await operator.types('docket runs');
      const run = list.reads(/t-wrong[^\n]*?\b([0-9a-f]{8,32})\b/);
      (await operator.types('docket runs show {run}', { run })).reads(/docket corrections open/);
      const opened = await operator.types('docket corrections open {run} --reason {why}', { run, why: WHY });
      opened.reads(/board@t-wrong\.example/);
      await deployment.runIn('t-wrong', 'done');
      const corrected = opened.reads(/docket runs show ([0-9a-f]{8,32})/);
      (await operator.types('docket runs show {run}', { run: corrected })).reads(/\bdone\b/);
      await readCorrected('t-wrong');
    },
  },
  { concurrent: true },
);

incident(
  'Unknown deliveries of 40 recipients',
  () => deployment,
  {
    orgs: { page: 'p-forty', terminal: 't-forty' },
    // The terminal lists all organizations, oldest first, so those of the page come later.
    raise: async () => {
      for (const org of ['t-forty', 'p-forty']) {
        await deployment.trigger(org);
        await deployment.runIn(org, 'partly_delivered');
      }
    },
    page: async (operator) => {
      await operator.opens();
      await operator.clicks('link', /^Decide/);
      await operator.reads(/^reader-\d+@p-forty\.example/);
      await operator.clicks('radio', /^It arrived/);
      await operator.fills(/^How do you know/, 'the log of the server has it');
      await operator.clicks('button', /^Decide about all 40/);
      await operator.reads(/^Done$/);
    },
    terminal: async (operator) => {
      const list = await operator.types('docket deliveries --unknown');
      list.reads(/reader-\d/);
      const run = list.reads(/docket deliveries resolve --run ([0-9a-f]{8,32})/);
      await operator.types('docket deliveries resolve --run {run} --sent --reason {why}', { run, why: 'log' });
      expect((await operator.types('docket deliveries --unknown')).text).not.toContain('t-forty');
      await deployment.runIn('t-forty', 'done');
    },
  },
  // Not concurrent: it starts when the other tests have no open deliveries.
  {},
);

/** Writes the definition with the right address. */
const correct = (org: string) => deployment.define(org, { deliveries: [each(org, 'board', RIGHT)] });
