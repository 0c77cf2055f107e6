import { constants } from 'node:os';
import { systemClock } from '../base/clock.ts';
import { readConfig } from '../base/config.ts';
import { stderrLog } from '../base/log.ts';
import type { Surroundings } from '../compose/ports.ts';

/** What a command starts from: the environment checked, the real clock, the log on stderr. */
export function readSurroundings(env: NodeJS.ProcessEnv = process.env): Surroundings {
  const config = readConfig(env);
  return { config, env, clock: systemClock, log: stderrLog(config.LOG_LEVEL) };
}

/**
 * Aborts on the first Ctrl-C or SIGTERM; a second one ends the process the hard way. What the command was about is then
 * not done: it ends as shells expect of what a signal ended, with 128 and the signal's number, unless it sets another exit code.
 */
export function abortOnSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => {
      process.exitCode = 128 + constants.signals[name];
      controller.abort(new Error(`stopped by ${name}`));
    });
  }
  return controller.signal;
}
