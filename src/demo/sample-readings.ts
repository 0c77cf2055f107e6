import { DocketError } from '../base/error.ts';
import { catalogSchema } from '../contract/catalog.ts';
import { PATHS } from '../contract/organization.ts';
import { reportResponseSchema } from '../contract/report.ts';
import { readingWindow } from '../definitions/schedules/reading-window.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import { type FindReadings, questionId, type Reading, readingQuestions, readingRequest } from '../plan/reading.ts';
import { buildSandbox } from '../sandbox/sandbox.ts';
import { buildReading } from '../services/readings/check-answer.ts';

export interface SampleReadingsInput {
  readonly settings: Pick<OrgSettings, 'id' | 'org' | 'timezone' | 'readings'>;
  /** The label of a sandbox key that is for one organization. */
  readonly key: string;
  /** The current time. Later readings are not due. */
  readonly now: number;
}

/**
 * Takes the readings that Docket would have taken on those evenings from a sandbox, whose history is the same at every
 * request. Calls no other sandbox.
 *
 * @returns a function for readings by day and question, for days in any order; empty if the settings have no `readings`
 */
export function sampleReadings({ settings, key, now }: SampleReadingsInput) {
  const { id: org, org: serviceOrg, timezone, readings } = settings;
  const history = { end: now };
  let opened: ReturnType<typeof openSandbox> | undefined;
  const request = async <T>(path: string, schema: { parse(body: unknown): T }, body?: unknown): Promise<T> => {
    opened ??= openSandbox(history, key);
    const response = await opened.app.request(path, {
      headers: { Authorization: `Api-Key ${opened.text}`, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    if (response.ok) return schema.parse(answer);
    throw new DocketError('internal.defect', `The sandbox answers ${response.status}.`, { where: path });
  };

  return async (days: readonly string[]): Promise<Reading[]> => {
    if (readings === undefined) return [];
    history.end = now;
    const catalog = await request(PATHS.catalog('current'), catalogSchema);
    const windows = [...new Set(days)]
      .sort()
      .flatMap((day) => readingWindow(day, readings.at, timezone) ?? [])
      .filter(({ until }) => until <= now);
    const taken: Reading[] = [];
    for (const window of windows) {
      history.end = window.at;
      for (const question of readingQuestions(readings, catalog)) {
        const body = await request(PATHS.report('current'), reportResponseSchema, readingRequest(question, timezone));
        taken.push(
          buildReading(
            { body, correlationId: null, receivedAt: window.at },
            { org, serviceOrg, timezone, window, question, catalog },
          ),
        );
      }
    }
    return taken;
  };
}

/** A sandbox whose history ends at `history.end` at the time of each call. Its limits follow the real clock. */
function openSandbox(history: { readonly end: number }, label: string) {
  const { app, keys } = buildSandbox({
    get now() {
      return history.end;
    },
    windowMs: 1,
    cacheSeconds: 0,
  });
  const key = keys.find(({ stored }) => stored.label === label);
  if (key === undefined) throw new DocketError('internal.defect', 'The sandbox has no key for one organization.');
  return { app, text: key.text };
}

/** Provides the same readings to a run without an archive. */
export function findSampleReadings(input: SampleReadingsInput): FindReadings {
  const take = sampleReadings(input);
  return async (_, dimension, days) => {
    const all = await take(days);
    return new Map(
      all.filter(({ question }) => question === questionId(dimension)).map((reading) => [reading.day, reading]),
    );
  };
}
