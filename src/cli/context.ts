import { constants } from 'node:os';
import { systemClock } from '../base/clock.ts';
import { readConfig } from '../base/config/config.ts';
import type { AppContext } from '../base/context.ts';
import { DocketError } from '../base/error.ts';
import { stderrLog } from '../base/log.ts';
import { supportsColor } from '../base/log-pretty.ts';
import { createRedactor, passwordsIn } from '../base/secrets/redactor.ts';
import type { RedisClient } from '../redis/client.ts';
import type { AuditLog } from '../services/audit-log.ts';

/** What a command starts from: the environment checked, the real clock, the log on stderr. */
export function createContext(env: NodeJS.ProcessEnv = process.env): AppContext {
  const config = readConfig(env);
  const { registerSecret, redact } = createRedactor();
  for (const password of [config.REDIS_URL, config.SMTP_URL ?? ''].flatMap(passwordsIn)) registerSecret(password);
  const terminal = process.stderr.isTTY === true;
  const asText = config.LOG_FORMAT === 'pretty' || (config.LOG_FORMAT === 'auto' && terminal);
  const pretty = asText ? { color: supportsColor(env, terminal) } : undefined;
  return {
    config,
    env,
    clock: systemClock,
    log: stderrLog(config.LOG_LEVEL, { redact, pretty }),
    registerSecret,
    redact,
  };
}

/**
 * Aborts on the first Ctrl-C or SIGTERM; a second one ends the process the hard way. What the command was about is then
 * not done: it ends as shells expect of what a signal ended, with 128 and the signal's number, unless it sets another exit code.
 * The reason is `run.cancelled`, so that a command which does not catch it ends with a sentence, not with a defect.
 */
export function abortOnSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => {
      process.exitCode = 128 + constants.signals[name];
      controller.abort(new DocketError('run.cancelled', `Stopped by ${name}.`));
    });
  }
  return controller.signal;
}

/**
 * The audit log for what a command has done: the same entries as the admin route's, without an address. The command says
 * itself what it did; only an entry that Redis refuses makes a line in the log, as an error.
 */
export async function openAuditLog(
  redis: RedisClient,
  { clock, log }: Pick<AppContext, 'clock' | 'log'>,
): Promise<Pick<AuditLog, 'record'>> {
  const [{ redisAuditLog }, { silentLog }, { DEFAULT_KEY_PREFIX }] = await Promise.all([
    import('../services/audit-log.ts'),
    import('../base/log.ts'),
    import('../redis/keys.ts'),
  ]);
  return redisAuditLog(redis, { prefix: DEFAULT_KEY_PREFIX, clock, log: { ...silentLog, error: log.error } });
}
