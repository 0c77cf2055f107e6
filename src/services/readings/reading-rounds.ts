import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { forEachWithConcurrency } from '../../base/concurrency.ts';
import { toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { openReadingWindow, type ReadingWindow } from '../../definitions/schedules/reading-window.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { ReadingArchive } from '../../deliver/archive/readings/reading-archive.ts';
import { readingQuestions } from '../../plan/reading.ts';
import { catalogForReadings, createReadingRequester, type RequestPorts } from './ask-service.ts';
import { takeReading } from './take-reading.ts';

/** Organizations whose readings are taken at the same time. */
const CONCURRENCY = 8;

export interface ReadingRoundPorts {
  readonly archive: ReadingArchive;
  readonly orgs: () => ReadonlyMap<string, OrgSettings>;
  /** An organization's API key, client and budget. */
  readonly buildRequestPorts: (settings: OrgSettings) => Promise<RequestPorts>;
  /** Called when an organization's readings of a day are complete, or their hour is over. */
  readonly onWindowEnd?: (settings: OrgSettings) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * Creates the round: for all organizations, it takes the readings whose hour it is, unless they are stored. Call it
 * every minute, in any number of processes. A failing organization is logged, and does not stop the others.
 */
export function createReadingRounds(ports: ReadingRoundPorts): () => Promise<void> {
  const { clock, signal } = ports;
  const roundsId = randomUUID();
  /** By organization: the current window, and whether it is complete. Only saves requests to the archive. */
  const windows = new Map<string, { readonly name: string; readonly complete: boolean }>();
  return async () => {
    const orgs = [...ports.orgs().values()];
    await forEachWithConcurrency(orgs, CONCURRENCY, async (settings) => {
      if (signal.aborted) return;
      const { id, readings, timezone } = settings;
      const window = readings && openReadingWindow(clock.now(), readings.at, timezone);
      const known = windows.get(id);
      if (window === undefined) {
        if (known === undefined) return;
        windows.delete(id);
        if (!known.complete) await guarded(id, ports, async () => ports.onWindowEnd?.(settings));
        return;
      }
      const name = JSON.stringify([window.day, readings]);
      if (known?.name === name && known.complete) return;
      windows.set(id, { name, complete: false });
      await guarded(id, ports, async () => {
        const complete = await takeReadings(settings, window, { ...ports, roundsId });
        windows.set(id, { name, complete });
        if (complete) await ports.onWindowEnd?.(settings);
      });
    });
  };
}

async function guarded(
  org: string,
  { log, signal }: Pick<ReadingRoundPorts, 'log' | 'signal'>,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    if (signal.aborted) return;
    log.error('Readings failed; they are tried again within their hour', {
      org,
      error: toDocketError(thrown).toJSON(),
    });
  }
}

/** @returns whether all questions of the day are stored */
async function takeReadings(
  settings: OrgSettings,
  window: ReadingWindow,
  { archive, buildRequestPorts, clock, log, signal, roundsId }: ReadingRoundPorts & { readonly roundsId: string },
): Promise<boolean> {
  const { id: org, org: serviceOrg, timezone, readings } = settings;
  if (readings === undefined) return true;
  const requestPorts = { ...(await buildRequestPorts(settings)), roundsId };
  const catalog = await catalogForReadings(settings, requestPorts, signal);
  if (catalog.kind === 'fail') throw catalog.error;
  if (catalog.kind !== 'done') return false;
  const questions = readingQuestions(readings, catalog.value);
  const requestReading = createReadingRequester(settings, requestPorts);
  for (const question of questions) {
    const of = { org, serviceOrg, timezone, window, question, catalog: catalog.value };
    await takeReading(of, { archive, ask: requestReading, clock, log, signal });
  }
  // Another process may have stored what this one waited for.
  const states = await archive.list(org, window.day);
  return questions.every(({ id }) => states.some(({ question, stored }) => question === id && stored));
}
