import { DateTime } from 'luxon';
import { DocketError } from '../../base/error.ts';
import type { ReportResponse } from '../../contract/report.ts';
import { localDay, type ReadingWindow } from '../../definitions/schedules/reading-window.ts';
import type { Reading, ReadingQuestion } from '../../plan/reading.ts';

export interface ReadingAnswer {
  readonly body: ReportResponse;
  readonly correlationId: string | null;
  /** Epoch ms, by our own clock. */
  readonly receivedAt: number;
}

export interface ReadingOf {
  readonly org: string;
  readonly timezone: string;
  readonly window: ReadingWindow;
  readonly question: ReadingQuestion;
}

/**
 * The reading of a day from the service's answer. Throws where it belongs to another day or time, or lacks counts:
 * `reading.wrong_day`, `reading.too_old`, `reading.late`, `reading.incomplete`.
 */
export function readingOf({ body, correlationId, receivedAt }: ReadingAnswer, of: ReadingOf): Reading {
  const { org, timezone, window, question } = of;
  const { meta } = body;
  const where = `the reading ${question.id} of ${org} on ${window.day}`;
  const refuse = (
    code: 'reading.wrong_day' | 'reading.too_old' | 'reading.late' | 'reading.incomplete',
    message: string,
    detail: { readonly expected: string; readonly got: string; readonly next: string },
  ): never => {
    throw new DocketError(code, message, {
      where,
      ...detail,
      ...(correlationId === null ? {} : { correlationId }),
    });
  };
  const asOf = meta.as_of === null ? Number.NaN : Date.parse(meta.as_of);
  if (meta.as_of === null || Number.isNaN(asOf)) {
    return refuse('reading.incomplete', 'The answer does not say when its counts were computed.', {
      expected: 'a timestamp in meta.as_of',
      got: 'none that can be read',
      next: 'Report it to the service.',
    });
  }
  const local = (at: number): string => DateTime.fromMillis(at, { zone: timezone }).toFormat('yyyy-MM-dd HH:mm');
  if (localDay(asOf, timezone) !== window.day) {
    return refuse('reading.wrong_day', 'The counts were computed on another day.', {
      expected: `${window.day} in ${timezone}`,
      got: local(asOf),
      next: 'Compare the clocks of this machine and of the service.',
    });
  }
  if (asOf < window.notBefore) {
    return refuse('reading.too_old', 'The counts were computed too long before the time of the reading.', {
      expected: `${local(window.notBefore)} or later, in ${timezone}`,
      got: local(asOf),
      next: 'Compare the clocks of this machine and of the service.',
    });
  }
  if (receivedAt >= window.until) {
    return refuse('reading.late', 'The answer arrived after the hour of the reading.', {
      expected: `an answer before ${local(window.until)}, in ${timezone}`,
      got: local(receivedAt),
      next: 'The day stays without this reading.',
    });
  }
  if (meta.truncated) {
    return refuse('reading.incomplete', 'The answer lacks rows.', {
      expected: 'all groups',
      got: `${body.rows.length} rows, truncated`,
      next: `Remove "${question.dimension}" from "readings: by" of org.yaml.`,
    });
  }
  return Object.freeze({
    version: 1,
    org,
    day: window.day,
    timezone,
    question: question.id,
    metrics: [...question.metrics],
    dimension: question.dimension,
    as_of: meta.as_of,
    received_at: new Date(receivedAt).toISOString(),
    registry_version: meta.registry_version,
    correlation_id: correlationId,
    rows: rowsOf(body, question, refuse),
  });
}

function rowsOf(
  { rows }: ReportResponse,
  { metrics, dimension }: ReadingQuestion,
  refuse: (
    code: 'reading.incomplete',
    message: string,
    detail: { expected: string; got: string; next: string },
  ) => never,
): Reading['rows'] {
  const next = 'Docket asks again within the hour. If it stays so, report it to the service.';
  if (dimension === null && rows.length !== 1) {
    return refuse('reading.incomplete', 'The answer is not one row.', {
      expected: '1 row',
      got: `${rows.length}`,
      next,
    });
  }
  const groups = new Set<string | null>();
  return rows.map((row) => {
    const group = dimension === null ? null : row[dimension];
    if ((typeof group !== 'string' && group !== null) || groups.has(group)) {
      return refuse('reading.incomplete', 'A row of the answer has no group of its own.', {
        expected: `each value of "${dimension}" once`,
        got: JSON.stringify(group ?? null),
        next,
      });
    }
    groups.add(group);
    const values = metrics.map((id): [string, number | null] => {
      const value = row[id];
      if (value === null || (typeof value === 'number' && Number.isFinite(value) && value >= 0)) return [id, value];
      return refuse('reading.incomplete', `The answer has no count for "${id}".`, {
        expected: 'a number of 0 or more, or null',
        got: JSON.stringify(value) ?? 'nothing',
        next,
      });
    });
    return { group, values: Object.fromEntries(values) };
  });
}
