import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { localRedis } from '../../src/demo/local-redis.ts';
import { roleProcesses } from '../support/role-processes.ts';
import { shellWords } from '../support/shell-words.ts';

test('what a run prints to do next is accepted as printed, and does what it says', async () => {
  const server = await localRedis({ PATH: process.env.PATH });
  onTestFinished(() => server.close());
  const house = await roleProcesses(server.url);
  const all = await house.start('worker,scheduler,admin');
  // `docket run --queue` checks that the report can be sent.
  const mail = { SMTP_URL: house.mail.url, MAIL_FROM: 'reports@acme.example' };
  /** Types the commands that the run prints now, with a reason for `…`. */
  const typeAll = async (run: string, chosen: RegExp) => {
    const { stdout } = await house.command('runs', 'show', run);
    const commands = [...stdout.matchAll(/^ {2}(docket .*?)(?: +#.*)?$/gm)].map(([, command = '']) => command);
    const answers = [];
    for (const command of commands.filter((each) => chosen.test(each))) {
      const {
        code,
        stdout: said,
        stderr,
      } = await house.commandWith(mail, ...shellWords(command.replace('…', 'the cause is gone')).slice(1));
      expect({ command, code }, stderr).toEqual({ command, code: 0 });
      answers.push(said);
    }
    return answers;
  };

  await house.mail.close();
  const waits = await house.trigger(all, 'waits');
  await all.logged(({ msg, run }) => msg === 'Attempt failed; will retry' && run === waits);
  const again = all.logged(
    ({ msg, run, attempt }) => msg === 'Attempt failed; will retry' && run === waits && attempt === 2,
  );
  expect(await typeAll(waits, /runs retry/)).toEqual([expect.stringContaining('continues now')]);
  await again;
  expect(await typeAll(waits, /runs cancel/)).toHaveLength(1);

  // The service has dropped a metric. The definition is corrected, then each command is typed.
  const file = join(house.root, 'jobs', 'acme', 'weekly.yaml');
  const text = await readFile(file, 'utf8');
  const change = async (to: string) => {
    const reloaded = all.logged(({ msg, count }) => msg === 'Definitions reloaded' && count === 1);
    await writeFile(file, to);
    await reloaded;
  };
  await change(text.replace('alerts.open', 'alerts.gone'));
  const failed = await house.trigger(all, 'fails');
  await all.logged(({ msg, run }) => msg === 'Run failed permanently' && run === failed);
  await writeFile(file, text);
  expect(await typeAll(failed, /./)).toHaveLength(2);
});
