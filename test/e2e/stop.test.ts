import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type IncidentDeployment, incidentDeployment, type MailServer } from '../support/incidents/deployment.ts';
import { runCommand } from '../support/run-command.ts';
import { waitFor } from '../support/wait-for.ts';

let deployment: IncidentDeployment;
const mail = new Map<string, MailServer>();
/** The addresses of the processes, the latest last. */
const urls: string[] = [];
const accepted = (org: string): number =>
  mail.get(org)?.conversations.filter((conversation) => conversation.accepted).length ?? 0;

/** @returns what it prints */
async function command(...args: string[]): Promise<string> {
  const { folder, redis } = deployment;
  const { code, stdout } = await runCommand(args, {
    env: {
      REDIS_URL: redis.url,
      DOCKET_JOBS: join(folder, 'jobs'),
      DOCKET_ARCHIVE: pathToFileURL(join(folder, 'archive')).href,
    },
  });
  if (args[0] !== 'doctor') expect(code).toBe(0);
  return stdout;
}

beforeAll(async () => {
  deployment = await incidentDeployment();
  for (const org of ['acme', 'beta']) mail.set(org, await deployment.addOrg(org));
});
afterAll(() => deployment?.close());

test('stopped deliveries wait even if the worker is killed, and leave once they are released', async () => {
  const killed = await deployment.start();
  await command('stop', 'acme', '--reason', 'wrong figures');
  const first = await deployment.trigger('acme');
  await deployment.trigger('beta');
  await deployment.runIn('beta', 'done');
  expect(await deployment.runIn('acme', 'waiting')).toMatchObject({ waitingFor: { why: /wrong figures/ } });
  const second = await deployment.trigger('acme');
  await waitFor('both to wait', async () => (await command('stop')).includes('2 runs wait'));
  await killed.kill();
  urls.push((await deployment.start()).url);
  expect(await command('runs', 'retry', second, '--reason', 'now')).toContain('continues now');
  const tried = async () => {
    const run = await deployment.runIn('acme', 'waiting');
    return run.starts === 2 && run;
  };
  expect(await waitFor('the retry to find the stop', tried)).toMatchObject({ id: second, attempts: 1 });
  expect([accepted('acme'), accepted('beta')]).toEqual([0, 1]);
  expect(await command('stop')).toContain(`superseded by ${second.slice(0, 8)}`);
  const released = await command('stop', 'acme', '--release', '--reason', 'corrected');
  expect(released).toMatch(new RegExp(`Cancelled[^\\n]*${first.slice(0, 8)}`));
  expect(await deployment.runIn('acme', 'done')).toMatchObject({ id: second });
  expect(accepted('acme')).toBe(1);
  expect(await command('stop')).toBe('Deliveries are not stopped.\n');
});

test('nothing leaves while the stops cannot be read, and docket doctor says why', async () => {
  const [url = ''] = urls;
  await command('hold', '--all', '--reason', 'case 7');
  const folder = join(deployment.folder, 'archive', '.switches');
  await rename(folder, `${folder}-away`);
  const newest = (await readdir(`${folder}-away`)).sort().at(-1) ?? '';
  await deployment.write(`archive/.switches/${newest}`, '{');
  const before = accepted('beta');
  await waitFor('the copy in Redis to be old', async () => (await fetch(`${url}/readyz`)).status === 503);
  await deployment.trigger('beta');
  expect(await deployment.runIn('beta', 'waiting')).toMatchObject({
    error: { code: 'switch.unreadable' },
    attempts: 1,
  });
  expect(await command('doctor')).toContain('fail  Stops and legal holds: ');
  expect(accepted('beta')).toBe(before);
  await rename(`${folder}-away/${newest}`, `${folder}/${newest}`);
  await deployment.runIn('beta', 'done');
  expect(accepted('beta')).toBe(before + 1);
  expect(await command('hold')).toContain('case 7');
});
