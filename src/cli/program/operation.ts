import { Argument } from 'commander';
import { toSingleLine } from '../../base/text/bidi.ts';
import type { CompletionSources } from '../completion/complete.ts';
import { type CommandIo, resolvePath } from '../io.ts';
import { createPrinter } from '../terminal/print.ts';
import type { DocketCommand } from './command.ts';

export function addOperationCommands(program: DocketCommand, io: CommandIo): void {
  program.commandsGroup('Operation:');

  program
    .command('budget')
    .description(
      'Show the rate-limit state of each API key: free tokens, calls in flight and waiting, blocks, 429s, reductions',
    )
    .wide()
    .option('--json', 'one JSON document on stdout')
    .details(`
Reads Redis and the organizations of DOCKET_JOBS; makes no call and spends no token. Keys are named by their fingerprints.
After a 429 a key has fewer tokens for some windows: FREE shows the reduced limit, SLOWED UNTIL the end of the reduction.

Environment: REDIS_URL, DOCKET_JOBS, LOG_LEVEL; the organizations' keys

Example:
  docket budget --json`)
    .action(async (flags) => (await import('../commands/budget.ts')).budget(flags, io));

  const tokens = program.command('tokens').description('Create, list and revoke tokens of the admin route');
  tokens
    .command('create')
    .description('Create a token, add its hash to DOCKET_ADMIN_TOKENS and print it once')
    .requiredOption('--name <name>', 'name of the token; appears in the audit log')
    .choice('--role <role>', 'viewer: read-only; operator: also triggers and decides', ['viewer', 'operator'], 'viewer')
    .option('--org <org...>', 'organizations that the token can access; default: all')
    .option('--expires <when>', 'last day it is accepted (UTC): YYYY-MM-DD, or days from today, e.g. 90d')
    .option('--by <name>', 'who creates it; default: the user of this shell')
    .option('--json', 'one JSON document on stdout, with the token')
    .details(`
Running processes accept it within seconds. With REDIS_URL set, the audit log gets an entry.

Environment: DOCKET_ADMIN_TOKENS, REDIS_URL, LOG_LEVEL

Examples:
  DOCKET_ADMIN_TOKENS=tokens.yaml docket tokens create --name ci --role operator --org acme --expires 90d
  docket tokens create --name prometheus`)
    .action(async (flags) => (await import('../commands/tokens.ts')).create(flags, io));
  tokens
    .command('list', { isDefault: true })
    .description('List the tokens by name; prints neither tokens nor hashes')
    .wide()
    .option('--json', 'one JSON document on stdout')
    .details(`
Environment: DOCKET_ADMIN_TOKENS

Example:
  DOCKET_ADMIN_TOKENS=tokens.yaml docket tokens`)
    .action(async (flags) => (await import('../commands/tokens.ts')).list(flags, io));
  tokens
    .command('revoke')
    .description('Remove a token from DOCKET_ADMIN_TOKENS: within seconds it is rejected, and its sessions end')
    .argument('<name>', 'name of the token, see `docket tokens list`')
    .option('--by <name>', 'who revokes it; default: the user of this shell')
    .option('--json', 'one JSON document on stdout')
    .details(`
Environment: DOCKET_ADMIN_TOKENS, REDIS_URL, LOG_LEVEL

Example:
  DOCKET_ADMIN_TOKENS=tokens.yaml docket tokens revoke ci`)
    .action(async (name, flags) => (await import('../commands/tokens.ts')).revoke(name, flags, io));

  program
    .command('completion')
    .description('Print a shell script that completes commands, options, reports, organizations and ids')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .details(`
Load it in the shell's start-up file, or save it where the shell looks for completions. It calls \`docket\` each time, so it
always knows the options of the installed version and the reports of DOCKET_JOBS. Ids of runs and deliveries come from
Redis; if Redis does not answer within 0.6 s, no ids are offered.

Environment: DOCKET_JOBS, REDIS_URL

Examples:
  docket completion bash > ~/.local/share/bash-completion/completions/docket
  docket completion zsh > ~/.zfunc/_docket
  docket completion fish > ~/.config/fish/completions/docket.fish`)
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      const { COMPLETION_SCRIPTS } = await import('../completion/scripts.ts');
      createPrinter(io).printLine(COMPLETION_SCRIPTS[shell].trim());
    });
  program
    .command('__complete', { hidden: true })
    .description('Complete the last word, for the scripts of `docket completion`')
    .argument('[words...]')
    .helpOption(false)
    .action(async (words: string[]) => {
      const { complete, listDefinitionNames } = await import('../completion/complete.ts');
      const names = await listDefinitionNames(resolvePath(io.env.DOCKET_JOBS || 'jobs', io));
      const sources: CompletionSources = {
        ...names,
        // Imported late, because it loads the Redis client.
        findIds: async (wanted, prefix) =>
          (await import('../completion/known-ids.ts')).findKnownIds(wanted, prefix, io.env),
      };
      for (const { value, description } of await complete(program, words, sources))
        createPrinter(io).printLine(`${value}\t${toSingleLine(description.split('\n')[0] ?? '')}`);
    });
}
