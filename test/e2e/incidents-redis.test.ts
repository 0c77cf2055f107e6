import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { type IncidentDeployment, incidentDeployment, type MailServer } from '../support/incidents/deployment.ts';
import { incident } from '../support/incidents/incident.ts';
import { sharedRepair } from '../support/incidents/steps.ts';

const ORG = 'acme';
/** Only people who see all organizations see problems of processes. */
const orgs = { page: '*', terminal: ORG };

let deployment: IncidentDeployment;
let mail: MailServer;
let redis: Redis;
/** Both operators face the same incident. It is repaired when both have read how. */
let repair: () => Promise<void>;

// A separate file: after a loss of data, Docket holds all tokens for a minute.
beforeAll(async () => {
  deployment = await incidentDeployment();
  mail = await deployment.addOrg(ORG);
  redis = new Redis(deployment.redis.url);
  await deployment.start();
});
afterAll(async () => {
  redis?.disconnect();
  await deployment?.close();
});

incident('Redis is a read-only replica', () => deployment, {
  orgs,
  strike: async () => {
    // A replica of a master that is gone keeps its data and accepts no writes.
    await redis.replicaof('127.0.0.1', 1);
    repair = sharedRepair(2, () => redis.replicaof('no', 'one'));
  },
  page: async (operator) => {
    await operator.opens();
    await operator.reads('redis.replica');
    await operator.repairs('end the failover', /failover/, repair);
    await operator.reads('Nothing needs attention');
  },
  terminal: async (operator) => {
    (await operator.types('docket doctor')).reads(/fail +Redis role: [^\n]*read-only replica/);
    await operator.repairs('end the failover', /failover/, repair);
    (await operator.types('docket doctor')).reads(/ok +Redis role/);
  },
});

incident('Redis emptied', () => deployment, {
  orgs,
  raise: async () => {
    mail.script = { greeting: { say: '421 4.3.2 Closing' } };
    await deployment.trigger(ORG);
    await deployment.runIn(ORG, 'waiting');
    await redis.flushall();
    mail.script = {};
    await deployment.processes('to be back', (found) => found.length > 0);
    repair = sharedRepair(2, () => deployment.runIn(ORG, 'done'));
  },
  page: async (operator) => {
    await operator.opens();
    await operator.reads('redis.lost');
    await operator.repairs('queue the missing run in the terminal', /docket backfill/, repair);
  },
  terminal: async (operator) => {
    const [from, to] = lastWeek(Date.now());
    operator.receives(`The readers of acme/weekly miss ${from} to ${to}.`);
    (await operator.types('docket doctor')).reads(/warn +Redis data: Redis lost data/);
    await operator.types('docket backfill {report} --from {from} --to {to}', { report: 'acme/weekly', from, to });
    await operator.repairs('queue the missing run in the terminal', /docket backfill/, repair);
    await deployment.runIn(ORG, 'done');
  },
});

/** Monday and Sunday of the last complete week in UTC. */
function lastWeek(now: number): readonly [string, string] {
  const DAY_MS = 86_400_000;
  const monday = now - ((new Date(now).getUTCDay() + 6) % 7) * DAY_MS;
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  return [day(monday - 7 * DAY_MS), day(monday - DAY_MS)];
}
