import { DocketError } from '../../base/error.ts';
import { withScope } from '../../base/scope.ts';
import { ROLES, type Role } from '../../compose/docket.ts';
import { withPrivateRedis } from '../../compose/redis.ts';
import { type StartEvents, startDocket } from '../../compose/start.ts';
import { createContext } from '../context.ts';
import type { CommandIo } from '../io.ts';
import { readActorName } from '../options/actor.ts';
import { parseDurationOption, parseNumber } from '../options/option-parsers.ts';

interface StartFlags {
  readonly role: string;
  readonly concurrency: string;
  readonly grace: string;
  readonly requireDurable?: boolean;
  readonly adopt?: boolean;
  readonly local?: boolean;
}

export async function start(flags: StartFlags, io: CommandIo): Promise<void> {
  const context = await createContext(io);
  if (flags.local) assertLocal(flags, io);
  const options = {
    concurrency: parseNumber('--concurrency', flags.concurrency, { min: 1, max: 100 }),
    graceMs: parseDurationOption('--grace', flags.grace, { maxMs: 3_600_000 }),
    roles: parseRoles(flags.role),
    requireDurable: flags.requireDurable ?? false,
    ...(flags.adopt ? { adopt: { who: readActorName() } } : {}),
  };
  const events: StartEvents = {
    logFatalErrors: (log) =>
      io.onFatalError(({ error, origin, stack = '' }) =>
        log.error('Uncaught error: the process exits', { error: error.toJSON(), why: `${origin}: ${stack}` }),
      ),
    logWarnings: (log) => io.onWarning(({ name, message }) => log.warn(message, { why: name })),
    stop: io.signals.stop,
    onReload: io.signals.onReload,
  };
  await withScope(async (scope) =>
    startDocket(flags.local ? await withPrivateRedis(context, scope, 'start') : context, options, events),
  );
  // It runs until it is stopped, so a signal is the normal end.
  io.exitCode = 0;
}

/** Rejects `adopt` for a private Redis, which belongs to no deployment. Throws `usage.invalid`. */
function assertLocal({ adopt }: StartFlags, { env }: CommandIo): void {
  const other = env.REDIS_URL?.trim() ? 'REDIS_URL' : adopt ? '--adopt' : undefined;
  if (other === undefined) return;
  throw new DocketError('usage.invalid', `--local starts its own Redis and excludes ${other}.`, {
    where: '--local',
    next: `Leave --local out, or ${other === 'REDIS_URL' ? 'unset' : 'leave out'} ${other}.`,
  });
}

/** Parses `worker,admin` or `all`. Throws `usage.invalid`. */
function parseRoles(flag: string): ReadonlySet<Role> {
  const names = flag.split(',').map((name) => name.trim());
  const roles = names.flatMap((name) => (name === 'all' ? ROLES : ROLES.filter((role) => role === name)));
  const unknown = names.filter((name) => name !== 'all' && !ROLES.some((role) => role === name));
  if (unknown.length === 0) return new Set(roles);
  throw new DocketError('usage.invalid', `Unknown role: ${unknown.join(', ')}.`, {
    where: '--role',
    expected: `${ROLES.join(', ')} or all; several separated by commas`,
    got: flag,
    next: 'See docket start --help.',
  });
}
