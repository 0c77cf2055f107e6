import { DateTime } from 'luxon';
import { DocketError, type ErrorDetail } from '../../base/error.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { OrgRef } from '../../contract/organization.ts';
import type { ReportResponse } from '../../contract/report.ts';
import { localDay, type ReadingWindow } from '../../definitions/schedules/reading-window.ts';
import { checkAnswers } from '../../fetch/answer-checks/check-answers.ts';
import { freshnessFindings } from '../../fetch/answer-checks/freshness.ts';
import { incompleteNotes } from '../../fetch/notes.ts';
import { type Reading, type ReadingQuestion, readingRequest } from '../../plan/reading.ts';

export interface ReadingAnswer {
  readonly body: ReportResponse;
  readonly correlationId: string | null;
  /** Epoch ms, by our own clock. */
  readonly receivedAt: number;
}

export interface ReadingContext {
  readonly org: string;
  /** The organization as in org.yaml. */
  readonly serviceOrg: OrgRef;
  readonly timezone: string;
  readonly window: ReadingWindow;
  readonly question: ReadingQuestion;
  readonly catalog: Catalog;
}

const RETRY_NOTICE = 'Docket repeats the request within the hour. If the problem stays, report it to the service.';

type Where = Pick<ErrorDetail, 'where' | 'correlationId'>;

/**
 * Makes the reading of a day from the service's response. Throws if the response belongs to another day or time, lacks
 * counts, or fails the checks of responses: `reading.wrong_day`, `reading.too_old`, `reading.late`,
 * `reading.incomplete`.
 */
export function buildReading(answer: ReadingAnswer, of: ReadingContext): Reading {
  const { body, correlationId, receivedAt } = answer;
  const { org, serviceOrg, timezone, window, question } = of;
  const { meta } = body;
  const where: Where = {
    where: `the reading ${question.id} of ${org} on ${window.day}`,
    ...(correlationId === null ? {} : { correlationId }),
  };
  if (meta.as_of === null) {
    throw new DocketError('reading.incomplete', 'The response does not say when its counts were computed.', {
      ...where,
      expected: 'a timestamp in meta.as_of',
      got: 'none that can be read',
      next: 'Report it to the service.',
    });
  }
  assertTime(Date.parse(meta.as_of), receivedAt, of, where);
  const counted = [meta.row_count, meta.rows_count].find(
    (count) => typeof count === 'number' && count !== body.rows.length,
  );
  // A group without a row would be read as 0.
  if (counted !== undefined && !meta.truncated) {
    throw new DocketError('reading.incomplete', 'The response does not have the number of rows that it announces.', {
      ...where,
      expected: `${counted} rows`,
      got: `${body.rows.length}`,
      next: RETRY_NOTICE,
    });
  }
  if (meta.truncated) {
    throw new DocketError('reading.incomplete', 'The response lacks rows.', {
      ...where,
      expected: 'all groups',
      got: `${body.rows.length} rows, truncated`,
      next: `Remove "${question.dimension}" from "readings: by" of org.yaml.`,
    });
  }
  const rows = buildRows(body, question, where);
  assertNoFindings(answer, of, where);
  return Object.freeze({
    version: 1,
    org,
    service_org: String(serviceOrg),
    day: window.day,
    timezone,
    question: question.id,
    metrics: [...question.metrics],
    dimension: question.dimension,
    as_of: meta.as_of,
    received_at: new Date(receivedAt).toISOString(),
    registry_version: meta.registry_version,
    correlation_id: correlationId,
    rows,
  });
}

/** Checks a table's responses, and puts all findings into one message, which becomes the reason for the gap. */
function assertNoFindings(
  { body: response, receivedAt: at }: ReadingAnswer,
  { timezone, window, question, catalog }: ReadingContext,
  where: Where,
): void {
  const request = readingRequest(question, timezone);
  const answers = [{ request, response, at }];
  const metrics = catalog.metrics.filter(({ id }) => question.metrics.includes(id));
  const period = { from: window.day, to: window.day, timezone, label: window.day };
  const notes = [
    ...checkAnswers(answers, { catalog, published: catalog, metrics, request, response, running: false }).notes,
    ...freshnessFindings(answers, { period, periodEnd: window.until, current: true }),
  ];
  const found = incompleteNotes({ tables: [{ id: question.id, notes }] });
  if (found.length === 0) return;
  const reasons = found.map(({ text }) => text).join(' ');
  throw new DocketError('reading.incomplete', `The response cannot be right. ${reasons}`, {
    ...where,
    expected: 'counts as the catalog describes them',
    got: found.map(({ code }) => code).join(', '),
    next: RETRY_NOTICE,
  });
}

/** Checks that the counts belong to the reading's day and time, and that they arrived within its hour. */
function assertTime(asOf: number, receivedAt: number, { timezone, window }: ReadingContext, where: Where): void {
  const local = (at: number): string => DateTime.fromMillis(at, { zone: timezone }).toFormat('yyyy-MM-dd HH:mm');
  if (localDay(asOf, timezone) !== window.day) {
    throw new DocketError('reading.wrong_day', 'The counts were computed on another day.', {
      ...where,
      expected: `${window.day} in ${timezone}`,
      got: local(asOf),
      next: 'Compare the clocks of this machine and of the service.',
    });
  }
  if (asOf < window.notBefore) {
    throw new DocketError('reading.too_old', 'The counts were computed too long before the time of the reading.', {
      ...where,
      expected: `${local(window.notBefore)} or later, in ${timezone}`,
      got: local(asOf),
      next: 'Compare the clocks of this machine and of the service.',
    });
  }
  if (receivedAt >= window.until) {
    throw new DocketError('reading.late', 'The response arrived after the hour of the reading.', {
      ...where,
      expected: `a response before ${local(window.until)}, in ${timezone}`,
      got: local(receivedAt),
      next: 'The day stays without this reading.',
    });
  }
}

/** Each group once, with a count for each metric. */
function buildRows({ rows }: ReportResponse, { metrics, dimension }: ReadingQuestion, where: Where): Reading['rows'] {
  if (dimension === null && rows.length !== 1) {
    throw new DocketError('reading.incomplete', 'The response does not have exactly one row.', {
      ...where,
      expected: '1 row',
      got: `${rows.length}`,
      next: RETRY_NOTICE,
    });
  }
  const groups = new Set<string | null>();
  return rows.map((row) => {
    const group = dimension === null ? null : row[dimension];
    if ((typeof group !== 'string' && group !== null) || groups.has(group)) {
      throw new DocketError('reading.incomplete', 'The response has two rows for one group, or a row without one.', {
        ...where,
        expected: `each value of "${dimension}" once`,
        got: JSON.stringify(group ?? null),
        next: RETRY_NOTICE,
      });
    }
    groups.add(group);
    const values = metrics.map((id): [string, number | null] => {
      const value = row[id];
      if (value === null || (typeof value === 'number' && Number.isFinite(value) && value >= 0)) return [id, value];
      throw new DocketError('reading.incomplete', `The response has no count for "${id}".`, {
        ...where,
        expected: 'a number of 0 or more, or null',
        got: JSON.stringify(value) ?? 'nothing',
        next: RETRY_NOTICE,
      });
    });
    return { group, values: Object.fromEntries(values) };
  });
}
