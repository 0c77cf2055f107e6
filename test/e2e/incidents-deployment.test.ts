import { cp, mkdir, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { faultyDisk } from '../support/faulty-disk.ts';
import { reportYaml } from '../support/incidents/definitions.ts';
import { type IncidentDeployment, incidentDeployment } from '../support/incidents/deployment.ts';
import { incident } from '../support/incidents/incident.ts';
import { sharedRepair } from '../support/incidents/steps.ts';
import type { RunningProcess } from '../support/running-docket.ts';

const ORG = 'acme';
const CLEAR = 'Nothing needs attention';
/** Only people who see all organizations see problems of processes. */
const orgs = { page: '*', terminal: ORG };

let deployment: IncidentDeployment;
let all: RunningProcess;
let other: RunningProcess;
let scheduler: RunningProcess;
let disk: ReturnType<typeof faultyDisk>;
const ends: (() => unknown)[] = [];
/** Both operators face the same incident. It is repaired when both have read how. */
let repair: () => Promise<void>;

const path = (name: string) => join(deployment.folder, name);
const hasReports = () =>
  deployment.processes('its reports in each process', (found) =>
    found.every(
      ({ definitions: { reports, unreadable }, failing }) =>
        reports === 1 && unreadable === null && failing.length === 0,
    ),
  );

beforeAll(async () => {
  disk = faultyDisk((cleanUp) => ends.push(cleanUp));
  deployment = await incidentDeployment(() => disk.env);
  await deployment.addOrg(ORG);
  await cp(path('jobs'), path('other-jobs'), { recursive: true });
  // Start earlier, since processes may differ for five minutes during a rolling update.
  await deployment.setClock('-10m');
  [all, other] = await Promise.all([
    deployment.start('worker,admin'),
    deployment.start('worker', { DOCKET_JOBS: path('other-jobs') }),
  ]);
  await deployment.setClock('+0');
  scheduler = await deployment.start('scheduler');
});
afterAll(async () => {
  await deployment?.close();
  for (const end of ends.reverse()) await end();
});

incident('Two processes have different definitions', () => deployment, {
  orgs,
  raise: async () => {
    const write = async (title: string) => {
      await deployment.write('other-jobs/acme/weekly.yaml', reportYaml(ORG).replace('Weekly figures', title));
      other.reload();
    };
    const digests = (count: number) =>
      deployment.processes(
        `${count} digests`,
        (found) => new Set(found.map(({ definitions }) => definitions.digest)).size === count,
      );
    await write('Of another branch');
    await digests(2);
    repair = sharedRepair(2, async () => {
      await write('Weekly figures');
      await digests(1);
    });
  },
  page: async (operator) => {
    await operator.opens();
    await operator.reads('definitions.differ');
    await operator.repairs('give both the same folder', /same DOCKET_JOBS/, repair);
    await operator.reads(CLEAR);
  },
  terminal: async (operator) => {
    (await operator.types('docket doctor')).reads(/fail +Definitions of processes/);
    await operator.repairs('give both the same folder', /same DOCKET_JOBS/, repair);
    (await operator.types('docket doctor')).reads(/ok +Processes/);
  },
});

incident('Archive read-only', () => deployment, {
  orgs,
  raise: async () => {
    await other.stop();
    disk.breaks('EROFS', path('archive'));
    repair = sharedRepair(2, disk.mends);
    await deployment.trigger(ORG);
    await deployment.runIn(ORG, 'waiting');
  },
  page: async (operator) => {
    await operator.opens();
    await operator.reads(/^(archive\.unusable|archive\.unwritable|disk\.unavailable)$/);
    await operator.repairs('mount it for writing', /[Rr]emount the disk for writing/, repair);
    await deployment.runIn(ORG, 'done');
    await operator.reads(CLEAR);
  },
  terminal: async (operator) => {
    (await operator.types('docket doctor')).reads(/fail +Archive[\s\S]*read-only/);
    await operator.repairs('mount it for writing', /[Rr]emount the disk for writing/, repair);
    (await operator.types('docket doctor')).reads(/ok +Archive/);
    await deployment.runIn(ORG, 'done');
  },
});

/** Replaces the folder by an empty one, as if its disk was not mounted; `mount` brings it back. */
const unmount = async () => {
  await rename(path('jobs'), path('unmounted'));
  await mkdir(path('jobs'));
};
const mount = async () => {
  await rmdir(path('jobs'));
  await rename(path('unmounted'), path('jobs'));
  await hasReports();
};

incident('Jobs folder empty while running', () => deployment, {
  orgs,
  raise: async () => {
    await unmount();
    await deployment.processes('to find the empty folder', (found) =>
      found.some(({ definitions: { unreadable } }) => unreadable !== null),
    );
    repair = sharedRepair(2, mount);
  },
  page: async (operator) => {
    await operator.opens();
    await operator.reads('definitions.unreadable');
    await operator.repairs('mount the folder', /Mount the folder DOCKET_JOBS/, repair);
    await operator.reads(CLEAR);
  },
  terminal: async (operator) => {
    (await operator.types('docket doctor')).reads(/fail +Jobs folder/);
    await operator.repairs('mount the folder', /Mount the folder DOCKET_JOBS/, repair);
    (await operator.types('docket doctor')).reads(/ok +Processes/);
  },
});

incident('Jobs folder empty before a start', () => deployment, {
  orgs,
  raise: async () => {
    await Promise.all([all.stop(), scheduler.stop()]);
    await unmount();
    all = await deployment.start();
    await deployment.processes('to have no reports', (found) =>
      found.some(({ definitions: { reports } }) => reports === 0),
    );
    repair = sharedRepair(2, mount);
  },
  page: async (operator) => {
    await operator.opens();
    await operator.reads(/^definitions\.(none|lost)$/);
    await operator.repairs('mount the folder', /Check the folder DOCKET_JOBS and its mount/, repair);
    await operator.reads(CLEAR);
  },
  terminal: async (operator) => {
    (await operator.types('docket check')).reads(/There are no definitions in/);
    await operator.repairs('mount the folder', /Check DOCKET_JOBS and the mount of this folder/, repair);
    (await operator.types('docket check')).reads(/2 files, no errors/);
  },
});
