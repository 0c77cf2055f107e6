import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { archiveUrl, STORE_ENV } from '../support/archives.ts';
import { faultyDisk } from '../support/faulty-disk.ts';
import { type IncidentDeployment, incidentDeployment } from '../support/incidents/deployment.ts';
import { incident } from '../support/incidents/incident.ts';
import { sharedRepair } from '../support/incidents/steps.ts';
import { type S3Server, s3Server } from '../support/s3-server.ts';

const ORG = 'acme';
const CLEAR = 'Nothing needs attention';

let deployment: IncidentDeployment;
let store: S3Server;
let disk: ReturnType<typeof faultyDisk>;
let redis: Redis;
const ends: (() => unknown)[] = [];
/** Both operators face the same incident. It is repaired when both have read how. */
let mend: () => Promise<void>;

beforeAll(async () => {
  store = await s3Server();
  ends.push(store.close);
  disk = faultyDisk((cleanUp) => ends.push(cleanUp));
  deployment = await incidentDeployment((folder) => ({
    ...STORE_ENV,
    ...disk.env,
    DOCKET_ARCHIVE: archiveUrl(store, join(folder, 'staging')),
  }));
  await deployment.addOrg(ORG);
  await deployment.start();
  redis = new Redis(deployment.redis.url);
  ends.push(() => redis.disconnect());
});
afterAll(async () => {
  await deployment?.close();
  for (const end of ends.reverse()) await end();
});

const orgs = { page: ORG, terminal: ORG };

incident('Redis frozen', () => deployment, {
  orgs,
  strike: async () => {
    deployment.redis.freeze();
    mend = sharedRepair(2, deployment.redis.thaw);
  },
  page: async (operator) => {
    await operator.opens();
    await operator.reads('redis.unreachable');
    await operator.repairs('mend Redis', /Start Redis/, mend);
    await operator.reads(CLEAR);
  },
  terminal: async (operator) => {
    (await operator.types('docket doctor')).reads(/fail +Redis/);
    await operator.repairs('mend Redis', /Redis/, mend);
    (await operator.types('docket doctor')).reads(/ok +Redis:/);
  },
});

incident('Redis full', () => deployment, {
  orgs,
  strike: async () => {
    await redis.config('SET', 'maxmemory', '1mb');
    mend = sharedRepair(2, () => redis.config('SET', 'maxmemory', '0'));
  },
  page: async (operator) => {
    await operator.opens();
    await operator.repairs('raise maxmemory', /maxmemory/, mend);
    await operator.reads(CLEAR);
  },
  terminal: async (operator) => {
    (await operator.types('docket doctor')).reads(/fail +Redis memory/);
    await operator.repairs('raise maxmemory', /maxmemory/, mend);
    (await operator.types('docket doctor')).reads(/ok +Redis memory/);
  },
});

incident('Disk full', () => deployment, {
  orgs,
  raise: async () => {
    disk.breaks('ENOSPC', join(deployment.folder, 'staging'));
    mend = sharedRepair(2, disk.mends);
    await deployment.trigger(ORG);
    await deployment.runIn(ORG, 'waiting');
  },
  page: async (operator) => {
    await operator.opens();
    await operator.reads(/^(disk\.unavailable|archive\.unwritable)$/);
    await operator.repairs('free space', /space/, mend);
    await deployment.runIn(ORG, 'done');
    await operator.reads(CLEAR);
  },
  terminal: async (operator) => {
    (await operator.types('docket doctor')).reads(/fail +Archive/);
    await operator.repairs('free space', /space/, mend);
    (await operator.types('docket doctor')).reads(/ok +Archive/);
    await deployment.runIn(ORG, 'done');
  },
});

incident('Archive bucket gone', () => deployment, {
  orgs,
  raise: async () => {
    store.fault = () => ({ when: 'before', how: { status: 404, code: 'NoSuchBucket' } });
    mend = sharedRepair(2, () => {
      store.fault = () => undefined;
    });
    await deployment.trigger(ORG);
    await deployment.runIn(ORG, 'waiting', 'failed');
  },
  page: async (operator) => {
    await operator.opens();
    await operator.reads(/^archive\./);
    await operator.repairs('bring the bucket back', /bucket|DOCKET_ARCHIVE/, mend);
    await deployment.runIn(ORG, 'done');
    await operator.reads(CLEAR);
  },
  terminal: async (operator) => {
    (await operator.types('docket doctor')).reads(/fail +(?:Archive|Deployment)/);
    await operator.repairs('bring the bucket back', /bucket|DOCKET_ARCHIVE/, mend);
    (await operator.types('docket doctor')).reads(/ok +Archive|warn +Archive/);
    await deployment.runIn(ORG, 'done');
  },
});
