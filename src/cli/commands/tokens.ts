import { addToken, readTokens, revokeToken } from '../../admin/auth/token-file.ts';
import { hasExpired } from '../../admin/auth/tokens.ts';
import { requireVariable } from '../../base/config/config.ts';
import type { AppContext } from '../../base/context.ts';
import { toDocketError } from '../../base/error.ts';
import { DAY_MS } from '../../base/time.ts';
import { DEFAULT_KEY_PREFIX } from '../../redis/keys.ts';
import { OWN_NAME } from '../../run/run-record.ts';
import { type AuditEntry, logAuditEntry, redisAuditLog } from '../../services/audit-log.ts';
import { createContext } from '../context.ts';
import type { CommandIo } from '../io.ts';
import { readActorName } from '../options/actor.ts';
import { invalidOption } from '../options/option-parsers.ts';
import { withOptionalRedis } from '../redis.ts';
import { quoteWord } from '../terminal/next-commands.ts';
import { type Column, createPrinter } from '../terminal/print.ts';

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

export async function create({ name, role, org, expires, by, json }: CreateFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const file = requireTokenFile(context);
  const who = readActorName(by);
  if (name.trim() === OWN_NAME) throw invalidOption('--name', name, 'another name: Docket itself uses this one');
  const lastDay = expires === undefined ? undefined : parseExpiryDay(expires, context.clock.now());
  const token = await addToken(file, { name, role, orgs: org ?? '*', expires: lastDay });
  const scope = org === undefined ? 'all organizations' : org.join(', ');
  const why = `${name}: ${role} of ${scope}${lastDay === undefined ? '' : `, until ${lastDay}`}`;
  await recordOrLog({ event: 'token.created', who, why }, context);
  print.printStatus(`Added to ${file}. The token is shown only once; the file contains its hash:`);
  if (json) print.printJson({ name, role, organizations: org ?? '*', expires: lastDay ?? null, token });
  else print.printLine(token);
}

export async function list(
  { wide, json }: { readonly wide?: boolean; readonly json?: boolean },
  io: CommandIo,
): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const entries = await readTokens(requireTokenFile(context));
  const now = context.clock.now();
  const tokens = entries.map((entry) => ({
    name: entry.name,
    role: entry.role,
    organizations: entry.orgs,
    expires: entry.expires ?? null,
    expired: hasExpired(entry, now),
  }));
  if (json) return print.printJson({ tokens });
  if (tokens.length === 0) return print.printLine('No tokens exist.');
  const row = ({ name, role, organizations, expires, expired }: (typeof tokens)[number]) => [
    name,
    role,
    organizations === '*' ? 'all' : organizations.join(', '),
    expires === null ? 'never' : expired ? `${expires} (expired)` : expires,
  ];
  print.printTable(COLUMNS, tokens.map(row), { wide });
  const expired = tokens.find((token) => token.expired);
  if (expired === undefined) return;
  print.printNext([{ command: `docket tokens revoke ${quoteWord(expired.name)}`, why: 'it has expired' }]);
}

const COLUMNS: readonly Column[] = [
  { name: 'NAME', cut: 'middle' },
  { name: 'ROLE', whenNarrow: 'keep' },
  { name: 'ORGANIZATIONS' },
  { name: 'LAST DAY', whenNarrow: 'keep' },
];

export async function revoke(name: string, { by, json }: RevokeFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const file = requireTokenFile(context);
  const who = readActorName(by);
  const { role } = await revokeToken(file, name);
  await recordOrLog({ event: 'token.revoked', who, why: `${name}: ${role}` }, context);
  if (json) return print.printJson({ name, role, revoked: true });
  print.printLine(`Revoked "${name}": running processes reject it within seconds.`);
}

function requireTokenFile({ config }: AppContext): string {
  return requireVariable(
    config,
    'DOCKET_ADMIN_TOKENS',
    'it names the file with the hashes of the tokens',
    'Set the same file for `docket start` and this command. The first token creates it, e.g. `DOCKET_ADMIN_TOKENS=tokens.yaml docket tokens create --name admin --role operator`.',
  );
}

/** Parses a day that is not in the past: `YYYY-MM-DD`, or a number of days from today. Throws `usage.invalid`. */
function parseExpiryDay(text: string, now: number): string {
  const days = /^([1-9]\d{0,4})d$/.exec(text.trim())?.[1];
  const formatDay = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const day = days === undefined ? text.trim() : formatDay(now + Number(days) * DAY_MS);
  const isDay = /^\d{4}-\d\d-\d\d$/.test(day) && !Number.isNaN(Date.parse(day)) && formatDay(Date.parse(day)) === day;
  if (isDay && day >= formatDay(now)) return day;
  throw invalidOption('--expires', text, 'today or a later day as YYYY-MM-DD, or days from today such as 90d');
}

/**
 * Writes to the audit log in `REDIS_URL`. If Redis is not reachable, writes only to the log. Never throws an error
 * about Redis.
 */
async function recordOrLog(entry: AuditEntry, context: AppContext): Promise<void> {
  const { clock, log } = context;
  const recorded = await withOptionalRedis(context, async (redis) => {
    await redisAuditLog(redis, { prefix: DEFAULT_KEY_PREFIX, clock, log }).record(entry);
    return true;
  }).catch((thrown: unknown) => {
    log.warn('The audit log in Redis could not be written', { error: toDocketError(thrown).toJSON() });
    return undefined;
  });
  if (!recorded) logAuditEntry(log, entry);
}
