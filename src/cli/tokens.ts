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
    .option('--expires <when>', 'last day (UTC) it is accepted, YYYY-MM-DD, or days from today, e.g. 90d')
    .option('--by <name>', 'who makes it; the user of this shell when absent')
    .option('--json', 'one JSON document on stdout, the token in it')
    .addHelpText(
      'after',
      `
Running processes accept it within seconds. Where REDIS_URL is set, the audit log there has an entry of it.

Environment: DOCKET_ADMIN_TOKENS, REDIS_URL, LOG_LEVEL

Examples:
  DOCKET_ADMIN_TOKENS=tokens.yaml docket tokens create --name ci --role operator --org acme --expires 90d
  docket tokens create --name prometheus`,
    )
    .action(create);
  tokens
    .command('list', { isDefault: true })
    .description('List the tokens by name, never themselves nor their hashes')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Environment: DOCKET_ADMIN_TOKENS

Example:
  DOCKET_ADMIN_TOKENS=tokens.yaml docket tokens`,
    )
    .action(list);
  tokens
    .command('revoke')
    .description('Take a token out of DOCKET_ADMIN_TOKENS: within seconds it is refused, and its sessions end')
    .argument('<name>', 'as `docket tokens list` shows it')
    .option('--by <name>', 'who revokes it; the user of this shell when absent')
    .option('--json', 'one JSON document on stdout')
    .addHelpText(
      'after',
      `
Environment: DOCKET_ADMIN_TOKENS, REDIS_URL, LOG_LEVEL

Example:
  DOCKET_ADMIN_TOKENS=tokens.yaml docket tokens revoke ci`,
    )
    .action(revoke);
}

interface CreateFlags {
  readonly name: string;
  readonly role: 'viewer' | 'operator';
  readonly org?: string[];
  readonly expires?: string;
  readonly by?: string;
  readonly json?: boolean;
}

async function create({ name, role, org, expires, by, json }: CreateFlags): Promise<void> {
  const [{ addToken }, { printJson, printLine, sayLine }, { systemClock }] = await Promise.all([
    import('../admin/auth/token-file.ts'),
    import('./print.ts'),
    import('../base/clock.ts'),
  ]);
  const file = await tokensFile();
  const who = await asker(by);
  const last = expires === undefined ? undefined : await lastDay(expires, systemClock.now());
  const token = await addToken(file, { name, role, orgs: org ?? '*', expires: last });
  await audit({
    event: 'token.created',
    who,
    why: `${name}: ${role} of ${org === undefined ? 'all organizations' : org.join(', ')}${last === undefined ? '' : `, until ${last}`}`,
  });
  sayLine(`Added to ${file}. The token is shown this once; only its hash is kept:`);
  if (json) printJson({ name, role, organizations: org ?? '*', expires: last ?? null, token });
  else printLine(token);
}

async function list({ json }: { readonly json?: boolean }): Promise<void> {
  const [{ readTokens }, { hasExpired }, print, { systemClock }] = await Promise.all([
    import('../admin/auth/token-file.ts'),
    import('../admin/auth/tokens.ts'),
    import('./print.ts'),
    import('../base/clock.ts'),
  ]);
  const entries = await readTokens(await tokensFile());
  const now = systemClock.now();
  const tokens = entries.map((entry) => ({
    name: entry.name,
    role: entry.role,
    organizations: entry.orgs,
    expires: entry.expires ?? null,
    expired: hasExpired(entry, now),
  }));
  if (json) return print.printJson({ tokens });
  if (tokens.length === 0) return print.printLine('There are no tokens: nobody is let in.');
  const row = ({ name, role, organizations, expires, expired }: (typeof tokens)[number]) => [
    name,
    role,
    organizations === '*' ? 'all' : organizations.join(', '),
    expires === null ? 'never' : expired ? `${expires} (expired)` : expires,
  ];
  print.printLine(print.formatColumns(['NAME', 'ROLE', 'ORGANIZATIONS', 'LAST DAY'], tokens.map(row)));
}

async function revoke(name: string, { by, json }: { readonly by?: string; readonly json?: boolean }): Promise<void> {
  const [{ revokeToken }, { printJson, printLine }] = await Promise.all([
    import('../admin/auth/token-file.ts'),
    import('./print.ts'),
  ]);
  const file = await tokensFile();
  const who = await asker(by);
  const { role } = await revokeToken(file, name);
  await audit({ event: 'token.revoked', who, why: `${name}: ${role}` });
  if (json) return printJson({ name, role, revoked: true });
  printLine(`Revoked "${name}": running processes refuse it within seconds.`);
}

async function tokensFile(): Promise<string> {
  const { readConfig, required } = await import('../base/config.ts');
  return required(
    readConfig(process.env),
    'DOCKET_ADMIN_TOKENS',
    'it names the file that keeps the tokens’ hashes',
    'Give `docket start` and this command the same file. The first token makes it, e.g. `DOCKET_ADMIN_TOKENS=tokens.yaml docket tokens create --name admin --role operator`.',
  );
}

const asker = async (by: string | undefined): Promise<string> => (await import('./decider.ts')).readAsker(by);

/** A day, or so many days from today. A token that was never accepted is nobody's intention: `usage.invalid`. */
async function lastDay(text: string, now: number): Promise<string> {
  const days = /^([1-9]\d{0,4})d$/.exec(text.trim())?.[1];
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const day = days === undefined ? text.trim() : dayOf(now + Number(days) * 86_400_000);
  const isDay = /^\d{4}-\d\d-\d\d$/.test(day) && !Number.isNaN(Date.parse(day)) && dayOf(Date.parse(day)) === day;
  if (isDay && day >= dayOf(now)) return day;
  const { DocketError } = await import('../base/error.ts');
  throw new DocketError('usage.invalid', 'The value is not usable.', {
    where: '--expires',
    expected: 'today or a later day as YYYY-MM-DD, or days from today such as 90d',
    got: JSON.stringify(text.slice(0, 40)),
    next: 'See docket tokens create --help.',
  });
}

/** The file decides who is let in; that Redis is away must keep nobody from revoking. */
async function audit(entry: import('../admin/auth/audit.ts').AuditEntry): Promise<void> {
  const [{ readSurroundings }, { auditLine, redisAudit }, { DEFAULT_PREFIX }] = await Promise.all([
    import('./surroundings.ts'),
    import('../admin/auth/audit.ts'),
    import('../queue/keys.ts'),
  ]);
  const { config, clock, log } = readSurroundings();
  if (!process.env.REDIS_URL?.trim()) return auditLine(log, entry);
  const { openRedis } = await import('../queue/connection.ts');
  try {
    const redis = await openRedis(config.REDIS_URL, 'producer', log);
    try {
      await redisAudit(redis, { prefix: DEFAULT_PREFIX, clock, log }).tell(entry);
    } finally {
      redis.disconnect();
    }
  } catch (thrown) {
    const { toDocketError } = await import('../base/error.ts');
    auditLine(log, entry);
    log.warn('The audit log in Redis has no entry of it', { error: toDocketError(thrown).toJSON() });
  }
}
