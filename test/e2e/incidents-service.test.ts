import { afterAll, beforeAll, describe } from 'vitest';
import { type IncidentDeployment, incidentDeployment } from '../support/incidents/deployment.ts';
import { incident } from '../support/incidents/incident.ts';
import { sharedRepair } from '../support/incidents/steps.ts';
import type { RunningProcess } from '../support/running-docket.ts';

const WHY = 'repaired';
/** Docket gives up a run after this many crashes at one point. */
const MAX_CRASHES = 3;

describe('API keys', () => {
  let deployment: IncidentDeployment;
  beforeAll(async () => {
    deployment = await incidentDeployment();
    for (const by of ['p', 't']) {
      await deployment.addOrg(`${by}-revoked`, { key: 'revoked' });
      await deployment.addOrg(`${by}-expired`, { key: 'expired' });
    }
    await deployment.start();
    for (const by of ['p', 't']) {
      await deployment.trigger(`${by}-revoked`);
      await deployment.trigger(`${by}-expired`);
    }
  });
  afterAll(() => deployment?.close());
  const failed = (...orgs: string[]) => Promise.all(orgs.map((org) => deployment.runIn(org, 'failed')));

  incident(
    'API key revoked',
    () => deployment,
    {
      orgs: { page: 'p-revoked', terminal: 't-revoked' },
      raise: () => failed('p-revoked', 't-revoked'),
      page: async (operator) => {
        await operator.opens();
        await operator.clicks('link', /^Run [0-9a-f]{8}$/);
        await operator.reads('api.unauthorized');
        await operator.repairs('put a valid key where org.yaml points to', /org\.yaml/, () =>
          deployment.setKey('p-revoked', 'acme'),
        );
        await operator.opensForm('Retry the run');
        await operator.fills(/^Why/, WHY);
        await operator.clicks('button', /^Retry the run/);
        await operator.reads(/^Done$/);
        await operator.opens();
        await operator.reads('Nothing needs attention');
      },
      terminal: async (operator) => {
        const list = await operator.types('docket runs --org t-revoked --state failed');
        const run = list.reads(/\b([0-9a-f]{8,32})\b/);
        (await operator.types('docket runs show {run}', { run })).reads(/api\.unauthorized/);
        await operator.repairs('put a valid key where org.yaml points to', /org\.yaml/, () =>
          deployment.setKey('t-revoked', 'acme'),
        );
        await operator.types('docket runs retry {run} --reason {why}', { run, why: WHY });
        await deployment.runIn('t-revoked', 'done');
        (await operator.types('docket runs show {run}', { run })).reads(/\bdone\b/);
      },
    },
    { concurrent: true },
  );

  incident(
    'API key rotated',
    () => deployment,
    {
      orgs: { page: 'p-expired', terminal: 't-expired' },
      raise: () => failed('p-expired', 't-expired'),
      page: async (operator) => {
        await operator.opens();
        await operator.repairs('put the new key where org.yaml points to', /Replace the key/, () =>
          deployment.setKey('p-expired', 'acme'),
        );
        await operator.clicks('link', /^Run [0-9a-f]{8}$/);
        await operator.opensForm('Retry the run');
        await operator.fills(/^Why/, WHY);
        await operator.clicks('button', /^Retry the run/);
        await operator.reads(/^Done$/);
      },
      terminal: async (operator) => {
        const paused = await operator.types('docket pause');
        paused.reads(/t-expired[\s\S]*api\.unauthorized/);
        const run = paused.reads(/# t-expired,(?:\s+#[^\n]*|[^\n])*\s+docket runs retry ([0-9a-f]{8,32})/);
        await operator.repairs('put the new key where org.yaml points to', /org\.yaml/, () =>
          deployment.setKey('t-expired', 'acme'),
        );
        await operator.types('docket runs retry {run} --reason {why}', { run, why: WHY });
        await deployment.runIn('t-expired', 'done');
        (await operator.types('docket runs show {run}', { run })).reads(/\bdone\b/);
      },
    },
    { concurrent: true },
  );
});

describe('the service and the workers', () => {
  let deployment: IncidentDeployment;
  beforeAll(async () => {
    deployment = await incidentDeployment();
    for (const org of ['p-day', 't-day', 'p-kill', 't-kill']) await deployment.addOrg(org);
  });
  afterAll(() => deployment?.close());

  const down = { orgs: ['p-day', 't-day'] };
  let back: () => Promise<void>;
  let all: RunningProcess;
  incident('Service down for a day', () => deployment, {
    orgs: { page: 'p-day', terminal: 't-day' },
    raise: async () => {
      await deployment.setClock('-25h');
      all = await deployment.start();
      deployment.sandbox.setFaults([{ kind: 'status', value: 503 }]);
      for (const org of down.orgs) await deployment.trigger(org);
      await Promise.all(down.orgs.map((org) => deployment.runIn(org, 'waiting')));
      await deployment.setClock('+0');
      await Promise.all(down.orgs.map((org) => deployment.runIn(org, 'failed')));
      back = sharedRepair(2, () => deployment.sandbox.setFaults([]));
    },
    page: async (operator) => {
      await operator.opens();
      await operator.clicks('link', /^Run [0-9a-f]{8}$/);
      await operator.reads('run.deadline');
      await operator.repairs('wait for the service', /service/, back);
      await operator.opensForm('Retry the run');
      await operator.fills(/^Why/, WHY);
      await operator.clicks('button', /^Retry the run/);
      await operator.reads(/^Done$/);
    },
    terminal: async (operator) => {
      const list = await operator.types('docket runs --org t-day --state failed');
      const run = list.reads(/\b([0-9a-f]{8,32})\b/);
      (await operator.types('docket runs show {run}', { run })).reads(/run\.deadline/);
      (await operator.types('docket doctor')).reads(/(?:warn|fail) +API: [^\n]*503/);
      await operator.repairs('wait for the service', /operator of the service/, back);
      (await operator.types('docket doctor')).reads(/ok +API:/);
      await operator.types('docket runs retry {run} --reason {why}', { run, why: WHY });
      await deployment.runIn('t-day', 'done');
      (await operator.types('docket runs show {run}', { run })).reads(/\bdone\b/);
    },
  });

  const killed = ['p-kill', 't-kill'];
  incident('Worker killed repeatedly', () => deployment, {
    orgs: { page: 'p-kill', terminal: 't-kill' },
    raise: async () => {
      await all.stop();
      await deployment.start('scheduler,admin');
      // A request that hangs makes every worker die at the same call.
      deployment.sandbox.setFaults([{ kind: 'hang', path: '/report' }]);
      const runs = await Promise.all(killed.map((org) => deployment.trigger(org)));
      for (let crashes = 0; crashes < MAX_CRASHES; crashes += 1) {
        const worker = await deployment.start('worker');
        await Promise.all(killed.map((org) => deployment.runIn(org, 'running')));
        await worker.kill();
        await deployment.expireLocks(runs);
      }
      deployment.sandbox.setFaults([]);
      await deployment.start('worker');
      await Promise.all(killed.map((org) => deployment.runIn(org, 'failed')));
    },
    page: async (operator) => {
      await operator.opens();
      await operator.clicks('link', /^Run [0-9a-f]{8}$/);
      await operator.reads('run.poison');
      await operator.repairs('give the worker more memory', /memory/, () => {});
      await operator.opensForm('Retry the run');
      await operator.fills(/^Why/, WHY);
      await operator.clicks('button', /^Retry the run/);
      await operator.reads(/^Done$/);
    },
    terminal: async (operator) => {
      const list = await operator.types('docket runs --org t-kill --state failed');
      const run = list.reads(/\b([0-9a-f]{8,32})\b/);
      (await operator.types('docket runs show {run}', { run })).reads(/run\.poison/);
      await operator.repairs('give the worker more memory', /memory/, () => {});
      await operator.types('docket runs retry {run} --reason {why}', { run, why: WHY });
      await deployment.runIn('t-kill', 'done');
      (await operator.types('docket runs show {run}', { run })).reads(/\bdone\b/);
    },
  });
});
