import { basename } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect } from 'vitest';
import { type IncidentDeployment, incidentDeployment, type MailServer } from '../support/incidents/deployment.ts';
import { incident } from '../support/incidents/incident.ts';

const FORTY = Array.from({ length: 40 }, (_, n) => `reader-${n}`);
const [WRONG, RIGHT] = ['reader-17', 'reader-seventeen'];
const PERIOD = '2025-10';
/** A range of 352 days. */
const [FIRST, LAST] = ['2025-01-01', '2025-12-18'];
const GUIDE = 'docs/how-to/pause-for-an-incident.md';
const orgsOf = (what: string) => ({ page: `p-${what}`, terminal: `t-${what}` });

let deployment: IncidentDeployment;
let url: string;
const bouncing = new Map<string, MailServer>();
const both = <T>(act: (by: 'p' | 't') => Promise<T>) => Promise.all((['p', 't'] as const).map(act));
const backfill = async (org: string) => {
  const args = ['backfill', `${org}/weekly`, '--from', FIRST, '--to', LAST, '--yes'];
  const { code, stderr } = await deployment.command(args);
  if (code !== 0) throw new Error(stderr);
};
const stateOfAll = async (org: string, state: string) => {
  const { stdout } = await deployment.command(['runs', '--org', org, '--state', state, '--limit', '500', '--json']);
  return (JSON.parse(stdout) as { runs: unknown[] }).runs.length;
};

beforeAll(async () => {
  deployment = await incidentDeployment();
  for (const by of ['p', 't']) {
    await deployment.addOrg(`${by}-many`, { period: 'previous_day' });
    const org = `${by}-bounce`;
    const to = FORTY.map((name) => `${name}@${org}.example`).join(', ');
    const mail = { RCPT: { say: '550 5.1.1 No such mailbox', only: new RegExp(`${WRONG}@`) } };
    bouncing.set(org, await deployment.addOrg(org, { mail, deliveries: [`email: { to: [${to}], attach: [csv] }`] }));
    await deployment.addOrg(`${by}-legal`);
    const both = `ana@${by}-leaver.example, lead@${by}-leaver.example`;
    await deployment.addOrg(`${by}-leaver`, { deliveries: [`email: { to: [${both}], attach: [csv] }`] });
    await deployment.addOrg(`${by}-year`, { period: '{ from: 2025-10-01, to: 2025-10-31 }' });
  }
  // There is no worker, so mistakenly queued runs stay queued.
  ({ url } = await deployment.start('scheduler,admin'));
});
afterAll(() => deployment?.close());

incident('352 runs queued by mistake', () => deployment, {
  orgs: orgsOf('many'),
  guide: GUIDE,
  called: ({ terminal }) => `Somebody queued 352 runs of ${terminal} by mistake.`,
  raise: () => both((by) => backfill(`${by}-many`)),
  page: async (operator) => {
    await operator.opens();
    await operator.visits('Runs');
    await operator.clicks('link', /^Queued/);
    await operator.clicks('button', /^Preview all that match/);
    await operator.reads('Cancel: 352 runs');
    await operator.fills(/^Why/, 'wrong year');
    await operator.clicks('button', /^Cancel \(352\)/);
    await operator.reads(/352 carried out/);
    expect(await stateOfAll('p-many', 'queued')).toBe(0);
  },
  terminal: async (operator) => {
    const cancel = 'docket runs cancel --org {org} --state queued --reason {why}';
    const decided = await operator.types(cancel, { org: 't-many', why: 'wrong year' }, 'y');
    decided.reads(/352/);
    expect(await stateOfAll('t-many', 'cancelled')).toBe(352);
  },
});

incident('One of 40 recipients bounced', () => deployment, {
  orgs: orgsOf('bounce'),
  raise: async () => {
    await deployment.start('worker');
    await both(async (by) => {
      await deployment.trigger(`${by}-bounce`);
      await deployment.runIn(`${by}-bounce`, 'partly_delivered');
    });
  },
  page: async (operator) => {
    await operator.opens();
    await operator.clicks('link', /^Run [0-9a-f]{8}$/);
    await operator.reads(/550 5\.1\.1/);
    await operator.opensForm('Send to somebody');
    await operator.fills(/^Address/, `${RIGHT}@p-bounce.example`);
    await operator.chooses(/^In place of/, `${WRONG}@p-bounce.example, refused`);
    await operator.fills(/^Why is it sent to this address/, 'typing error');
    await operator.clicks('button', /^Send to somebody/);
    await operator.reads(/^Done$/);
    await gotOnce('p-bounce');
  },
  terminal: async (operator) => {
    const [replaces, to] = [`${WRONG}@t-bounce.example`, `${RIGHT}@t-bounce.example`];
    operator.receives(`The right address is ${to}.`);
    const list = await operator.types('docket runs --org t-bounce --state partly_delivered failed');
    const run = list.reads(/\b([0-9a-f]{8,32})\b/);
    (await operator.types('docket runs show {run}', { run })).reads(/550 5\.1\.1/);
    const send = 'docket deliveries send {run} --replaces {replaces} --to {to} --reason {why}';
    await operator.types(send, { run, replaces, to, why: 'typing error' });
    await deployment.runIn('t-bounce', 'done');
    (await operator.types('docket runs show {run}', { run })).reads(/\bdone\b/);
    await gotOnce('t-bounce');
  },
});

/** Every recipient got exactly one message, and the wrong address none. */
async function gotOnce(org: string): Promise<void> {
  await deployment.runIn(org, 'done');
  const bodies =
    bouncing.get(org)?.conversations.flatMap(({ body }) => (body.length === 0 ? [] : [String(body)])) ?? [];
  const to = bodies.flatMap((body) => /^To: (\S+)@/m.exec(body)?.[1] ?? []).filter((name) => name.startsWith('reader'));
  expect(to.sort()).toEqual([...FORTY.filter((name) => name !== WRONG), RIGHT].sort());
}

incident('Legal hold', () => deployment, {
  orgs: orgsOf('legal'),
  guide: GUIDE,
  called: ({ terminal }) => `The lawyers ask to keep everything of ${terminal}.`,
  page: async (operator) => {
    await operator.opens();
    await operator.visits('Pauses');
    await operator.opensForm(/^Legal hold for p-legal/);
    await operator.fills(/^Why is the hold needed/, 'case 2026-114');
    await operator.clicks('button', /^Legal hold for p-legal/);
    await operator.reads(/Legal hold for p-legal/);
    await operator.reads('case 2026-114');
  },
  terminal: async (operator) => {
    await operator.types('docket hold {org} --reason {why}', { org: 't-legal', why: 'case' });
    (await operator.types('docket hold')).reads(/t-legal/);
  },
});

incident('Leaver', () => deployment, {
  // The list belongs to the whole deployment, so an operator of one organization cannot change it.
  orgs: { page: '*', terminal: 't-leaver' },
  guide: GUIDE,
  called: ({ terminal }) => `ana@${terminal}.example has left, and must get nothing more.`,
  page: async (operator) => {
    await operator.opens();
    await operator.visits('Pauses');
    await operator.clicks('link', /^deny list$/);
    expect(await filesNaming('ana@p-leaver.example')).toEqual(['org.yaml', 'weekly.yaml']);
    await operator.fills(/^Addresses and domains/, 'ana@p-leaver.example');
    await operator.fills(/^Why/, 'left the company');
    await operator.clicks('button', /^Deny them/);
    await operator.reads('left the company');
    await gotNothing('p-leaver');
  },
  terminal: async (operator) => {
    const address = 'ana@t-leaver.example';
    (await operator.types('docket recipients --of {address}', { address })).reads(/weekly\.yaml:\d+/);
    await operator.types('docket deny {address} --reason {why}', { address, why: 'left' });
    await gotNothing('t-leaver');
  },
});

/** The names of the files that the running process finds for an address. */
async function filesNaming(address: string): Promise<readonly string[]> {
  const headers = { authorization: `Bearer ${deployment.token('*')}` };
  const response = await fetch(`${url}/api/recipients?of=${address}`, { headers });
  const { mentions } = (await response.json()) as { mentions: readonly { readonly file: string }[] };
  return mentions.map(({ file }) => basename(file));
}

/** The remaining recipient still gets the pack. */
async function gotNothing(org: string): Promise<void> {
  await deployment.trigger(org);
  const { deliveries } = await deployment.runIn(org, 'done');
  const states = Object.fromEntries(deliveries.map(({ recipient, state }) => [recipient, state]));
  expect(states).toEqual({ [`ana@${org}.example`]: 'skipped', [`lead@${org}.example`]: 'sent' });
}

incident('Did board@ get October? A year later', () => deployment, {
  orgs: orgsOf('year'),
  guide: GUIDE,
  called: ({ terminal }) => `Did lead@${terminal}.example of ${terminal} get the pack of ${PERIOD}? The auditors ask.`,
  raise: async () => {
    await both(async (by) => {
      await deployment.trigger(`${by}-year`);
      const { id } = await deployment.runIn(`${by}-year`, 'done');
      await expire(id);
    });
  },
  page: async (operator) => {
    await operator.opens();
    await operator.visits('Deliveries');
    await operator.fills('Recipient', 'lead@p-year.example');
    await operator.fills('Period', PERIOD);
    await operator.clicks('button', /^Show$/);
    await operator.reads('In the archive');
    await operator.reads('lead@p-year.example');
  },
  terminal: async (operator) => {
    const found = await operator.types('docket deliveries --to {address} --period {period}', {
      address: 'lead@t-year.example',
      period: PERIOD,
    });
    found.reads(/sent/);
    found.reads(/archived/);
  },
});

/** Deletes everything that Redis has of a run, as after ninety days. */
async function expire(run: string): Promise<void> {
  const redis = new Redis(deployment.redis.url);
  try {
    const keys = await redis.keys(`*${run.slice(0, 16)}*`);
    expect(keys.length).toBeGreaterThan(1);
    await redis.del(...keys);
  } finally {
    redis.disconnect();
  }
}
