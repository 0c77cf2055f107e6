import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { DEFAULT_KEY_PREFIX, redisKeys } from '../../src/redis/keys.ts';
import { hourlyFarFromNow } from '../support/hourly-schedule.ts';
import { type IncidentDeployment, incidentDeployment } from '../support/incidents/deployment.ts';
import { incident } from '../support/incidents/incident.ts';
import { sharedRepair } from '../support/incidents/steps.ts';
import type { RunningProcess } from '../support/running-docket.ts';

const HOUR_MS = 3_600_000;
const ORG = 'acme';
const CLEAR = 'Nothing needs attention';
const orgs = { page: ORG, terminal: ORG };

let deployment: IncidentDeployment;
let scheduler: RunningProcess;
let redis: Redis;
let mend: () => Promise<void>;

beforeAll(async () => {
  deployment = await incidentDeployment();
  const { cron } = hourlyFarFromNow();
  await deployment.addOrg(ORG, { more: `schedule: { cron: "${cron}", catch_up: latest }\n` });
  [, scheduler] = await Promise.all([deployment.start('worker,admin'), deployment.start('scheduler')]);
  redis = new Redis(deployment.redis.url);
});
afterAll(async () => {
  redis?.disconnect();
  await deployment?.close();
});

incident('Stuck schedule', () => deployment, {
  orgs,
  raise: async () => {
    await scheduler.kill();
    // Makes it look two hours later: the last scan is old, and a slot has come due since.
    const keys = redisKeys(DEFAULT_KEY_PREFIX);
    const then = Date.now() - 2 * HOUR_MS;
    await redis.hset(keys.looks, 'at', then);
    for (const cursor of await redis.hkeys(keys.cursors)) await redis.hset(keys.cursors, cursor, then);
    mend = sharedRepair(2, async () => {
      scheduler = await deployment.start('scheduler');
    });
  },
  page: async (operator) => {
    await operator.opens();
    await operator.repairs('start a scheduler', /docket start --role scheduler/, mend);
    await deployment.runIn(ORG, 'done');
    await operator.reads(CLEAR);
  },
  terminal: async (operator) => {
    (await operator.types('docket doctor')).reads(/acme\/weekly/);
    await operator.repairs('start a scheduler', /docket start --role scheduler/, mend);
    await deployment.runIn(ORG, 'done');
    (await operator.types('docket doctor')).reads(/ok +Schedules/);
  },
});

incident('Clock wrong', () => deployment, {
  orgs,
  raise: async () => {
    await deployment.setClock('-1h');
    mend = sharedRepair(2, () => deployment.setClock('+0'));
  },
  page: async (operator) => {
    await operator.opens();
    await operator.repairs('set the clock by a time server', /time server/, mend);
    await operator.reads(CLEAR);
  },
  terminal: async (operator) => {
    (await operator.types('docket doctor')).reads(/fail +Redis clock/);
    await operator.repairs('set the clock by a time server', /time server/, mend);
    (await operator.types('docket doctor')).reads(/ok +Redis clock/);
  },
});
