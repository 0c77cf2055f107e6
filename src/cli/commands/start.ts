import { DocketError } from '../../base/error.ts';
import { ROLES, type Role } from '../../compose/docket.ts';
import { startDocket } from '../../compose/start.ts';
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
}

export async function start(flags: StartFlags, io: CommandIo): Promise<void> {
  const context = createContext(io);
  const options = {
    concurrency: parseNumber('--concurrency', flags.concurrency, { min: 1, max: 100 }),
    graceMs: parseDurationOption('--grace', flags.grace, { maxMs: 3_600_000 }),
    roles: parseRoles(flags.role),
    requireDurable: flags.requireDurable ?? false,
    ...(flags.adopt ? { adopt: { who: readActorName() } } : {}),
  };
  await startDocket(context, options, {
    logFatalErrors: (log) =>
      io.onFatalError(({ error, origin, stack = '' }) =>
        log.error('Uncaught error: the process exits', { error: error.toJSON(), why: `${origin}: ${stack}` }),
      ),
    logWarnings: (log) => io.onWarning(({ name, message }) => log.warn(message, { why: name })),
    stop: io.signals.stop,
    onReload: io.signals.onReload,
  });
  // It runs until it is stopped: a signal is the normal end.
  io.exitCode = 0;
}

/** `worker,admin` or `all`. Throws `usage.invalid`. */
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
