import { type Command, Option } from 'commander';
import type { AppContext } from '../../base/context.ts';
import type { CommandIo } from '../io.ts';
import { createPrinter } from '../terminal/print.ts';

export function addTokensCommand(program: Command, io: CommandIo): void {
  const tokens = program.command('tokens').description('Tokens of the admin route');
  tokens
    .command('create')
    .description('Create a token, add its hash to DOCKET_ADMIN_TOKENS and print it once')
    .requiredOption('--name <name>', 'name of the token; appears in the audit log')
    .addOption(
      new Option('--role <role>', 'viewer: read-only; operator: also triggers and decides')
        .choices(['viewer', 'operator'])
        .default('viewer'),
    )
    .option('--org <org...>', 'its organizations; default: all')
    .option('--expires <when>', 'last day it is accepted (UTC): YYYY-MM-DD, or days from today, e.g. 90d')
    .option('--by <name>', 'who creates it; default: the user of this shell')
    .option('--json', 'one JSON document on stdout, with the token')
    .addHelpText(
      'after',
      `
Running processes accept it within seconds. With REDIS_URL set, the audit log gets an entry.

Environment: DOCKET_ADMIN_TOKENS, REDIS_URL, LOG_LEVEL

Examples:
  DOCKET_ADMIN_TOKENS=tokens.yaml docket tokens create --name ci --role operator --org acme --expires 90d
  docket tokens create --name prometheus`,
    )
    .action((flags: CreateFlags) => create(flags, io));
  tokens
    .command('list', { isDefault: true })
    .description('List the tokens by name; prints neither tokens nor hashes')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Environment: DOCKET_ADMIN_TOKENS

Example:
  DOCKET_ADMIN_TOKENS=tokens.yaml docket tokens`,
    )
    .action((flags: { readonly json?: boolean }) => list(flags, io));
  tokens
    .command('revoke')
    .description('Remove a token from DOCKET_ADMIN_TOKENS: within seconds it is rejected, and its sessions end')
    .argument('<name>', 'name of the token, see `docket tokens list`')
    .option('--by <name>', 'who revokes it; default: the user of this shell')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Environment: DOCKET_ADMIN_TOKENS, REDIS_URL, LOG_LEVEL

Example:
  DOCKET_ADMIN_TOKENS=tokens.yaml docket tokens revoke ci`,
    )
    .action((name: string, flags: RevokeFlags) => revoke(name, flags, io));
}

interface CreateFlags {
  readonly name: string;
  readonly role: 'viewer' | 'operator';
  readonly org?: string[];
  readonly expires?: string;
  readonly by?: string;
  readonly json?: boolean;
}

interface RevokeFlags {
  readonly by?: string;
  readonly json?: boolean;
}

async function create({ name, role, org, expires, by, json }: CreateFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const [{ createContext }, { addToken }, { readActorName }, { recordOrLog }] = await Promise.all([
    import('../context.ts'),
    import('../../admin/auth/token-file.ts'),
    import('../options/actor.ts'),
    import('../audit-log.ts'),
  ]);
  const context = createContext(io);
  const file = await requireTokenFile(context);
  const who = await readActorName(by);
  const lastDay = expires === undefined ? undefined : await parseExpiryDay(expires, context.clock.now());
  const token = await addToken(file, { name, role, orgs: org ?? '*', expires: lastDay });
  const scope = org === undefined ? 'all organizations' : org.join(', ');
  const why = `${name}: ${role} of ${scope}${lastDay === undefined ? '' : `, until ${lastDay}`}`;
  await recordOrLog({ event: 'token.created', who, why }, context);
  print.printStatus(`Added to ${file}. The token is shown only once; the file contains its hash:`);
  if (json) print.printJson({ name, role, organizations: org ?? '*', expires: lastDay ?? null, token });
  else print.printLine(token);
}

async function list({ json }: { readonly json?: boolean }, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const [{ createContext }, { readTokens }, { hasExpired }] = await Promise.all([
    import('../context.ts'),
    import('../../admin/auth/token-file.ts'),
    import('../../admin/auth/tokens.ts'),
  ]);
  const context = createContext(io);
  const entries = await readTokens(await requireTokenFile(context));
  const now = context.clock.now();
  const tokens = entries.map((entry) => ({
    name: entry.name,
    role: entry.role,
    organizations: entry.orgs,
    expires: entry.expires ?? null,
    expired: hasExpired(entry, now),
  }));
  if (json) return print.printJson({ tokens });
  if (tokens.length === 0) return print.printLine('There are no tokens: no token is accepted.');
  const row = ({ name, role, organizations, expires, expired }: (typeof tokens)[number]) => [
    name,
    role,
    organizations === '*' ? 'all' : organizations.join(', '),
    expires === null ? 'never' : expired ? `${expires} (expired)` : expires,
  ];
  print.printTable(['NAME', 'ROLE', 'ORGANIZATIONS', 'LAST DAY'], tokens.map(row));
}

async function revoke(name: string, { by, json }: RevokeFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const [{ createContext }, { revokeToken }, { readActorName }, { recordOrLog }] = await Promise.all([
    import('../context.ts'),
    import('../../admin/auth/token-file.ts'),
    import('../options/actor.ts'),
    import('../audit-log.ts'),
  ]);
  const context = createContext(io);
  const file = await requireTokenFile(context);
  const who = await readActorName(by);
  const { role } = await revokeToken(file, name);
  await recordOrLog({ event: 'token.revoked', who, why: `${name}: ${role}` }, context);
  if (json) return print.printJson({ name, role, revoked: true });
  print.printLine(`Revoked "${name}": running processes reject it within seconds.`);
}

async function requireTokenFile({ config }: AppContext): Promise<string> {
  const { requireVariable } = await import('../../base/config/config.ts');
  return requireVariable(
    config,
    'DOCKET_ADMIN_TOKENS',
    'it names the file with the hashes of the tokens',
    'Set the same file for `docket start` and this command. The first token creates it, e.g. `DOCKET_ADMIN_TOKENS=tokens.yaml docket tokens create --name admin --role operator`.',
  );
}

/** A day from today on, as `YYYY-MM-DD` or as days from today. Throws `usage.invalid`. */
async function parseExpiryDay(text: string, now: number): Promise<string> {
  const { DAY_MS } = await import('../../base/time.ts');
  const days = /^([1-9]\d{0,4})d$/.exec(text.trim())?.[1];
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const day = days === undefined ? text.trim() : dayOf(now + Number(days) * DAY_MS);
  const isDay = /^\d{4}-\d\d-\d\d$/.test(day) && !Number.isNaN(Date.parse(day)) && dayOf(Date.parse(day)) === day;
  if (isDay && day >= dayOf(now)) return day;
  const { invalidOption } = await import('../options/option-parsers.ts');
  throw invalidOption('--expires', text, 'today or a later day as YYYY-MM-DD, or days from today such as 90d');
}
