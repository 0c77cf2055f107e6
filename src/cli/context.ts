import { systemClock } from '../base/clock.ts';
import { type Config, readConfig } from '../base/config/config.ts';
import type { AppContext } from '../base/context.ts';
import { type LogOptions, stderrLog } from '../base/log.ts';
import { createRedactor, passwordsIn } from '../base/secrets/redactor.ts';
import { supportsColor } from '../base/text/log-pretty.ts';
import { type CommandIo, logsAsText, resolvePath } from './io.ts';

/** What a command works with: the validated environment, the system clock, a log on stderr. */
export function createContext(io: CommandIo): AppContext {
  const { env, cwd, stderr, writeLog } = io;
  const config = readConfig(env);
  const { registerSecret, redact } = createRedactor();
  for (const password of [config.REDIS_URL, config.SMTP_URL ?? ''].flatMap(passwordsIn)) registerSecret(password);
  if (config.DOCKET_TOKEN !== undefined) registerSecret(config.DOCKET_TOKEN);
  const options: LogOptions = {
    redact,
    pretty: logsAsText(io) ? { color: supportsColor(env, stderr.isTTY === true) } : undefined,
    ...(writeLog === undefined ? {} : { write: writeLog }),
  };
  return {
    config: cwd === undefined ? config : withResolvedPaths(config, io),
    env,
    clock: systemClock,
    log: stderrLog(config.LOG_LEVEL, options),
    registerSecret,
    redact,
    ...(cwd === undefined ? {} : { workingDirectory: cwd }),
  };
}

function withResolvedPaths(config: Config, io: CommandIo): Config {
  const { DOCKET_ARCHIVE, DOCKET_JOBS, DOCKET_TEMPLATES, DOCKET_ADMIN_TOKENS, DOCKET_OIDC_ACCOUNTS } = config;
  return {
    ...config,
    DOCKET_ARCHIVE: DOCKET_ARCHIVE ?? { kind: 'directory', folder: resolvePath('archive', io) },
    DOCKET_JOBS: resolvePath(DOCKET_JOBS, io),
    ...(DOCKET_TEMPLATES === undefined ? {} : { DOCKET_TEMPLATES: resolvePath(DOCKET_TEMPLATES, io) }),
    ...(DOCKET_ADMIN_TOKENS === undefined ? {} : { DOCKET_ADMIN_TOKENS: resolvePath(DOCKET_ADMIN_TOKENS, io) }),
    ...(DOCKET_OIDC_ACCOUNTS === undefined ? {} : { DOCKET_OIDC_ACCOUNTS: resolvePath(DOCKET_OIDC_ACCOUNTS, io) }),
  };
}
