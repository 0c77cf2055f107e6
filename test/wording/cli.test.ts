import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { createTestProgram, runCommand } from '../support/run-command.ts';

// The wording of the command line, in snapshots. Other tests assert codes, structure and values.
/** Groups of commands included. */
const namesOf = (command: Command, name = command.name()): string[] => [
  name,
  ...command.commands
    .filter((child) => child.name() !== '__complete')
    .flatMap((child) => namesOf(child, `${name} ${child.name()}`)),
];

describe('the command line', () => {
  test('prints the recorded help of all commands', async () => {
    const helps: string[] = [];
    for (const name of namesOf(createTestProgram())) {
      const { code, stdout, stderr } = await runCommand([...name.split(' ').slice(1), '--help']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      helps.push(`$ ${name} --help\n${stdout}`);
    }
    await expect(helps.join('\n')).toMatchFileSnapshot('./snapshots/cli-help.txt');
  });

  test('prints the recorded usage errors', async () => {
    const errors: string[] = [];
    for (const line of [
      'chek',
      'check --offlin',
      'runs shw x',
      'runs show',
      'run',
      'run acme/weekly --wait',
      'run acme/weekly --queue --out x',
      'runs --report weekly',
      'runs --state lost',
      'runs --since soon',
      'runs --limit 0',
      'runs watch x --timeout 5',
      'runs retry x',
      'deliveries resolve x --reason y',
      'deliveries resolve x --sent --reason=',
      'pause acme',
      'pause acme --history',
      'pause --reason x',
      'tokens',
      'tokens create --name x --expires soon',
      'start --role cook',
      'start --concurrency none',
      'start --grace 5',
      'sandbox --port http',
      'init --key-env sbx_acme.x',
      'init --yes',
      'archive verify --public-key nowhere.pem',
      'schedule acme/weekly',
    ]) {
      const tokens = line === 'tokens' ? undefined : 'nowhere.yaml';
      // `docket start` then prints the error as on a terminal, not as JSON.
      const env = { DOCKET_JOBS: 'nowhere', DOCKET_ADMIN_TOKENS: tokens, LOG_FORMAT: 'pretty' };
      const { code, stdout, stderr } = await runCommand(line.split(' '), { env });
      expect({ line, code, stdout }).toEqual({ line, code: 2, stdout: '' });
      errors.push(`$ docket ${line}\n${stderr}`);
    }
    await expect(errors.join('\n')).toMatchFileSnapshot('./snapshots/cli-usage-errors.txt');
  });
});
