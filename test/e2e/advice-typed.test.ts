import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SITUATIONS } from '../support/advice/situations.ts';
import { type Typist, typist } from '../support/advice/typist.ts';
import { alarmText } from '../support/incidents/alarms.ts';
import { reportYaml } from '../support/incidents/definitions.ts';
import { type IncidentDeployment, incidentDeployment, type MailServer } from '../support/incidents/deployment.ts';
import type { RunningProcess } from '../support/running-docket.ts';
import { waitFor } from '../support/wait-for.ts';

const DOWN = { greeting: { say: '421 4.3.2 Closing' } } as const;
const HELD = { period: '{ from: 2015-01-05, to: 2015-01-11 }', more: 'on_incomplete: hold\n' };

let deployment: IncidentDeployment;
let worker: RunningProcess;
let scheduler: RunningProcess;
const mail = new Map<string, MailServer>();
/** The token of a person who may approve. */
let approver = '';
let redis: Redis;

beforeAll(async () => {
  deployment = await incidentDeployment();
  const add = async (org: string, options: Parameters<IncidentDeployment['addOrg']>[1] = {}) =>
    void mail.set(org, await deployment.addOrg(org, options));
  await add('stop', { mail: DOWN });
  await add('wait', { mail: DOWN });
  await add('fail');
  await deployment.write('jobs/fail/weekly.yaml', reportYaml('fail').replace('profiles.created', 'nonsense.zzz'));
  await add('held', HELD);
  const both = 'email: { to: [lead@doubt.example, board@doubt.example], attach: [csv] }';
  await add('doubt', { mail: { dot: 'RST' }, deliveries: [both] });
  await add('review', {
    org: 'people:\n  ben: { name: Ben, tokens: [night-review] }\n',
    more: 'approval: { by: [ben], need: 1, four_eyes: false }\n',
  });
  await deployment.write(
    'jobs/review/weekly.yaml',
    reportYaml('review', { more: 'approval: { by: [ben], need: 1, four_eyes: false }\n' }).replace(
      'totals: true',
      'totals: true, commentary: required',
    ),
  );
  await add('idle');
  await add('key', { key: 'revoked' });
  [worker, scheduler] = await Promise.all([deployment.start('worker'), deployment.start('scheduler')]);
  await deployment.start('admin');
  approver = deployment.token('review');
  redis = new Redis(deployment.redis.url);
});
afterAll(async () => {
  redis?.disconnect();
  await deployment?.close();
});

/** Types exactly the commands that are printed in a situation, as listed in the table. */
function situation(
  name: keyof typeof SITUATIONS,
  act: (someone: Typist) => Promise<unknown>,
  env: () => Readonly<Record<string, string>> = () => ({}),
): void {
  test.concurrent(`the printed commands work when ${name}`, async () => {
    const someone = typist((args) => deployment.command(args, env()));
    await act(someone);
    expect([...someone.typed].sort()).toEqual([...SITUATIONS[name]].sort());
  });
}

const alerts = async (someone: Typist, org: string, ...names: string[]): Promise<void> => {
  for (const name of names) someone.reads(await alarmText(name, { org }));
};

situation('a run waits for a mail server', async (someone) => {
  await alerts(someone, 'stop', 'DocketRunsWaiting', 'DocketTokensStarved', 'DocketRunsWaitForWorkers');
  await alerts(someone, 'stop', 'DocketReportLate', 'DocketQueueGrowing');
  const ID = await deployment.trigger('stop');
  await deployment.runIn('stop', 'waiting');
  expect(await someone.types('docket runs --state waiting')).toContain(ID.slice(0, 8));
  expect(await someone.types('docket runs --state running waiting')).toContain(ID.slice(0, 8));
  expect(await someone.types('docket runs --limit 50')).toContain(ID.slice(0, 8));
  await someone.types('docket runs --state queued running');
  await someone.types('docket runs --state queued');
  await someone.types('docket budget');
  await someone.types('docket runs show _', { ID });
  const { starts } = await deployment.runIn('stop', 'waiting');
  // The retry makes the next attempt at once. It fails as well.
  await someone.types('docket runs retry _ --reason …', { ID });
  await waitFor('the attempt', async () => (await deployment.runIn('stop', 'waiting')).starts > starts);
  await someone.types('docket runs show _', { ID });
  await someone.types('docket runs cancel _ --reason …', { ID });
  await deployment.runIn('stop', 'cancelled');
});

situation('a run waits and continues', async (someone) => {
  // Three failed runs open the circuit of the mail server, and all wait for its probe.
  const ID = await deployment.trigger('wait');
  await deployment.trigger('wait');
  await deployment.trigger('wait');
  await alerts(someone, 'wait', 'DocketCircuitOpen', 'DocketRunsWaiting');
  const circuit = `circuit:mail 127.0.0.1:${mail.get('wait')?.port}`;
  const key = await waitFor('the circuit to open', async () => {
    const keys = (await redis.keys('*')).filter((each) => each.includes(circuit));
    const open = await Promise.all(keys.map(async (each) => (await redis.hget(each, 'until')) !== null));
    return keys[open.indexOf(true)];
  });
  // Keeps every run waiting during this test.
  await redis.hset(key, 'until', Date.now() + 3_600_000);
  await waitFor('every run to wait', async () => (await deployment.runIn('wait', 'waiting')).until !== null);
  Object.assign(mail.get('wait') ?? {}, { script: {} });
  await someone.types('docket runs show _', { ID });
  await someone.types('docket runs retry _ --reason …', { ID });
  expect(await someone.types('docket runs watch _', { ID })).toMatch(/done|Completed|delivered/);
});

situation('a run has failed', async (someone) => {
  await alerts(someone, 'fail', 'DocketRunFailed', 'DocketDeliveryRefused', 'DocketSlotsSkipped', 'DocketNoticesOwed');
  await alerts(someone, 'fail', 'DocketDefinitionsFaulty', 'DocketTokensStarved');
  const ID = await deployment.trigger('fail');
  await deployment.runIn('fail', 'failed');
  for (const shape of [
    'docket runs --org _ --state failed',
    'docket runs --org _ --state partly_delivered failed',
    'docket runs --state failed partly_delivered held',
  ] as const)
    expect(await someone.types(shape)).toContain(ID.slice(0, 8));
  await someone.types('docket runs --org _ --state skipped');
  await someone.types('docket runs show _', { ID });
  expect(await someone.types('docket check', {}, 1)).toContain('nonsense.zzz');
  await someone.types('docket catalog --org _');
  await deployment.write('jobs/fail/weekly.yaml', reportYaml('fail'));
  await someone.types('docket explain _', { 'ORG/REPORT': 'fail/weekly' });
  // The retry uses the old definition and fails. A new run uses the corrected one.
  await someone.types('docket runs retry _ --reason …', { ID });
  await deployment.runIn('fail', 'failed');
  await someone.types('docket run _ --period _ --queue');
  await deployment.runIn('fail', 'done');
});

situation('a pack is held', async (someone) => {
  await alerts(someone, 'held', 'DocketRunsHeld');
  const ID = await deployment.trigger('held');
  await deployment.runIn('held', 'held');
  expect(await someone.types('docket runs --state held')).toContain(ID.slice(0, 8));
  await someone.types('docket runs show _', { ID });
  await someone.types('docket runs get _', { ID });
  await someone.types('docket runs release _ --reason …', { ID });
  await deployment.runIn('held', 'done');
});

situation('deliveries are uncertain', async (someone) => {
  await alerts(someone, 'doubt', 'DocketDeliveryUnknown');
  const first = await deployment.trigger('doubt');
  await deployment.runIn('doubt', 'partly_delivered');
  expect(await someone.types('docket deliveries --unknown')).toContain('lead@doubt.example');
  const show = async (run: string) => someone.reads((await deployment.command(['runs', 'show', run])).stdout);
  await show(first);
  Object.assign(mail.get('doubt') ?? {}, { script: {} });
  await someone.types('docket deliveries resolve --run _ --sent --reason …');
  await deployment.runIn('doubt', 'done');
  // In the second run, one message has arrived and one has not.
  Object.assign(mail.get('doubt') ?? {}, { script: { dot: 'RST' } });
  const second = await deployment.trigger('doubt');
  await deployment.runIn('doubt', 'partly_delivered');
  Object.assign(mail.get('doubt') ?? {}, { script: {} });
  await show(second);
  const ID = /\b[0-9a-f]{32}\b/.exec(await someone.types('docket deliveries --run _'))?.[0] ?? '';
  await alerts(someone, 'doubt', 'DocketDeliveryUnknown');
  await someone.types('docket deliveries resolve _ --sent --reason …', { ID });
  await show(second);
  await someone.types('docket deliveries resolve _ --resend --reason …');
  await deployment.runIn('doubt', 'done');
});

situation('an id is not known', async (someone) => {
  const refuses = async (...args: string[]) => {
    const { code, stderr } = await deployment.command(args);
    expect(code).toBe(2);
    someone.reads(stderr);
  };
  await refuses('runs', 'show', 'ffffffff');
  await refuses('deliveries', 'resolve', 'ffffffff', '--sent', '--reason', 'asked');
  await someone.types('docket runs');
  await someone.types('docket deliveries');
  someone.reads('`docket deliveries --help` `docket deliveries resolve --help` `docket init --help`');
  for (const what of ['deliveries', 'deliveries resolve', 'init'] as const)
    expect(await someone.types(`docket ${what} --help`)).toContain('Usage');
});

situation('a report is new', async (someone) => {
  const { stdout, stderr } = await deployment.command([
    'new',
    'idle/monthly',
    '--from',
    'weekly-kpi',
    '--to',
    'lead@idle.example',
  ]);
  someone.reads(stdout + stderr);
  await someone.types('docket check _');
  await someone.types('docket preview _ --sample');
  await someone.types('docket catalog --org _');
});

situation(
  'a report waits for its approval',
  async (someone) => {
    await alerts(someone, 'review', 'DocketApprovalsOverdue');
    await deployment.write('note.md', 'As expected.\n');
    const first = await deployment.trigger('review');
    await deployment.runIn('review', 'held');
    await someone.types('docket runs show _', { ID: first });
    await someone.types('docket comment _ --section _ --file _');
    await deployment.runIn('review', 'awaiting_approval');
    expect(await someone.types('docket runs --state awaiting_approval')).toContain(first.slice(0, 8));
    await someone.types('docket runs show _', { ID: first });
    await someone.types('docket runs get _ --review');
    await someone.types('docket runs approve _ --reason …');
    await deployment.runIn('review', 'done');
    const second = await deployment.trigger('review');
    await deployment.runIn('review', 'held');
    await deployment.command(['runs', 'show', second]).then(({ stdout }) => someone.reads(stdout));
    await someone.types('docket comment _ --section _ --file _');
    await deployment.runIn('review', 'awaiting_approval');
    await deployment.command(['runs', 'show', second]).then(({ stdout }) => someone.reads(stdout));
    await someone.types('docket runs reject _ --reason …');
    await deployment.runIn('review', 'cancelled', 'failed');
  },
  () => ({ DOCKET_TOKEN: approver }),
);

situation('a key was refused', async (someone) => {
  await alerts(someone, 'key', 'DocketOrganizationPaused', 'DocketReadingsMissed', 'DocketSchedulerStopped');
  const ID = await deployment.trigger('key');
  await deployment.runIn('key', 'failed');
  await alerts(someone, 'key', 'DocketRunFailed');
  expect(await someone.types('docket pause')).toContain('key');
  await someone.types('docket runs show _', { ID });
  await someone.types('docket readings _');
  await someone.types('docket schedule');
  await someone.types('docket doctor', {}, 1);
  await deployment.setKey('key', 'acme');
  await someone.types('docket resume _ --reason …');
  expect((await deployment.command(['pause'])).stdout).not.toContain('api.unauthorized');
  const paused = await deployment.command(['pause', 'key', '--reason', 'a holiday']);
  someone.reads((paused.stdout + paused.stderr).replaceAll(/\n */g, ' '));
  await someone.types('docket resume _');
});

situation('a token is needed', async (someone) => {
  await alerts(someone, 'key', 'DocketNotScraped');
  await someone.types('docket tokens create --name prometheus --role viewer');
  // Without the variable that names the token file.
  someone.reads((await deployment.command(['tokens', 'list'], { DOCKET_ADMIN_TOKENS: '' })).stderr);
  await someone.types('docket tokens create --name admin --role operator');
  someone.reads('`docket tokens list`');
  expect(await someone.types('docket tokens list')).toContain('prometheus');
  someone.reads('`docket tokens create --name NAME --role operator` `docket tokens revoke prometheus`');
  await someone.types('docket tokens create --name _ --role operator', { NAME: 'night' });
  await someone.types('docket tokens revoke _');
});

test('the printed commands work when nothing runs', async () => {
  await Promise.all([worker.stop(), scheduler.stop()]);
  const someone = typist(async (args) => {
    if (args[0] !== 'start') return deployment.command(args);
    const [, , roles = ''] = args;
    await deployment.start(roles);
    return { code: 0, stdout: '', stderr: '' };
  });
  const ID = await deployment.trigger('idle');
  someone.reads(await alarmText('DocketNoWorker'));
  someone.reads((await deployment.command(['runs', 'show', ID])).stdout);
  someone.reads('`docket runs show ID`');
  expect(await someone.types('docket runs show _', { ID })).toContain('docket start --role worker');
  await someone.types('docket start --role worker');
  someone.reads(await alarmText('DocketSchedulerStopped'));
  await someone.types('docket start --role scheduler');
  await deployment.runIn('idle', 'done');
  expect([...someone.typed].sort()).toEqual([...SITUATIONS['nothing runs']].sort());
});
