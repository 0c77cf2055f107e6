import { systemClock } from '../base/clock.ts';
import { type Config, type ConfigPart, readConfig } from '../base/config/config.ts';
import { type LogOptions, stderrLog } from '../base/log.ts';
import { createRedactor, passwordsIn } from '../base/secrets/redactor.ts';
import { supportsColor } from '../base/text/log-pretty.ts';
import type { DocketContext } from '../compose/feature.ts';
import { type CommandIo, logsAsText, resolvePath } from './io.ts';

/** Creates the context of a command: the validated environment, the system clock, a log on stderr. */
export async function createContext(io: CommandIo): Promise<DocketContext> {
  const { env, cwd, stderr, writeLog } = io;
  const features = await Promise.all(io.features.map(({ load }) => load()));
  const parts = features.flatMap(({ config }) => config ?? []);
  const config = withResolvedPaths(readConfig(env, parts), parts, io);
  const { registerSecret, redact } = createRedactor();
  for (const password of [config.REDIS_URL, config.SMTP_URL ?? ''].flatMap(passwordsIn)) registerSecret(password);
  if (config.DOCKET_TOKEN !== undefined) registerSecret(config.DOCKET_TOKEN);
  const options: LogOptions = {
    redact,
    pretty: logsAsText(io) ? { color: supportsColor(env, stderr.isTTY === true) } : undefined,
    ...(writeLog === undefined ? {} : { write: writeLog }),
  };
  return {
    config,
    env,
    features,
    accessFiles: parts.flatMap(({ accessFile }) => pathIn(config, accessFile) ?? []),
    clock: systemClock,
    log: stderrLog(config.LOG_LEVEL, options),
    registerSecret,
    redact,
    ...(cwd === undefined ? {} : { workingDirectory: cwd }),
  };
}

function withResolvedPaths(config: Config, parts: readonly ConfigPart[], io: CommandIo): Config {
  if (io.cwd === undefined) return config;
  const names = [
    'DOCKET_JOBS',
    'DOCKET_TEMPLATES',
    'DOCKET_ADMIN_TOKENS',
    ...parts.map(({ accessFile }) => accessFile),
  ];
  const paths = names.flatMap((name) => {
    const path = pathIn(config, name);
    return path === undefined ? [] : [[name, resolvePath(path, io)]];
  });
  const { DOCKET_ARCHIVE = { kind: 'directory', folder: resolvePath('archive', io) } } = config;
  return { ...config, DOCKET_ARCHIVE, ...Object.fromEntries(paths) };
}

/** The value of a variable that contains a path. */
function pathIn(config: Readonly<Record<string, unknown>>, name: string | undefined): string | undefined {
  const path = name === undefined ? undefined : config[name];
  return typeof path === 'string' ? path : undefined;
}
