import { type Command, Option } from 'commander';

export function addTokens(program: Command): void {
  const tokens = program.command('tokens').description('Tokens of the admin route');
  tokens
    .command('create')
    .description('Make a token, add its hash to DOCKET_ADMIN_TOKENS and print it once')
    .requiredOption('--name <name>', 'who will use it; appears in the log')
    .addOption(
      new Option('--role <role>', 'viewer reads, operator also triggers')
        .choices(['viewer', 'operator'])
        .default('viewer'),
    )
    .option('--org <org...>', 'organizations it may see; all when absent')
    .option('--expires <date>', 'last day it is accepted, YYYY-MM-DD')
    .addHelpText(
      'after',
      '\nExample:\n  DOCKET_ADMIN_TOKENS=tokens.yaml docket tokens create --name ci --role operator --org acme',
    )
    .action(async (options: { name: string; role: 'viewer' | 'operator'; org?: string[]; expires?: string }) => {
      const [{ readConfig, required }, { addToken }, { printLine, sayLine }] = await Promise.all([
        import('../base/config.ts'),
        import('../admin/auth/token-file.ts'),
        import('./print.ts'),
      ]);
      const file = required(
        readConfig(process.env),
        'DOCKET_ADMIN_TOKENS',
        'it names the file that keeps the tokens’ hashes',
      );
      const token = await addToken(file, {
        name: options.name,
        role: options.role,
        orgs: options.org ?? '*',
        expires: options.expires,
      });
      sayLine(`Added to ${file}. The token is shown this once; only its hash is kept:`);
      printLine(token);
    });
}
