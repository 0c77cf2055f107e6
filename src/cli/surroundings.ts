import { constants } from 'node:os';
import { systemClock } from '../base/clock.ts';
import { readConfig } from '../base/config.ts';
import { DocketError } from '../base/error.ts';
import { stderrLog } from '../base/log.ts';
import { wantsColor } from '../base/log-line.ts';
import { createRedactor, passwordsIn } from '../base/redactor.ts';
import type { Surroundings } from '../compose/ports.ts';

/** What a command starts from: the environment checked, the real clock, the log on stderr. */
export function readSurroundings(env: NodeJS.ProcessEnv = process.env): Surroundings {
  const config = readConfig(env);
  const { learn, redact } = createRedactor();
  for (const password of [config.REDIS_URL, config.SMTP_URL ?? ''].flatMap(passwordsIn)) learn(password);
  const terminal = process.stderr.isTTY === true;
  const asText = config.LOG_FORMAT === 'pretty' || (config.LOG_FORMAT === 'auto' && terminal);
  const pretty = asText ? { color: wantsColor(env, terminal) } : undefined;
  return { config, env, clock: systemClock, log: stderrLog(config.LOG_LEVEL, { redact, pretty }), learn, redact };
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
