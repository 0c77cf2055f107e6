import type { z } from 'zod';
import { LIMITS } from '../contract/limits.ts';
import type { PROBLEM_CODES } from '../contract/problem.ts';
import { type Granularity, type Order, type ReportRequest, reportRequestSchema } from '../contract/report.ts';
import { type DayRange, isZone, OLDEST, previousPeriod, toDate, toDay } from './calendar.ts';
import type { MetricDeclaration } from './declare.ts';
import type { DimensionValues } from './dimensions.ts';
import { type Fault422, Refusal } from './refusal.ts';
import type { DimensionId } from './view.ts';
import type { Tenant, World } from './world.ts';

type Code422 = Extract<keyof typeof PROBLEM_CODES, `analytics.${string}` | 'validation.failed'>;

/** A report request that obeys every rule of specification §2.7, with its words looked up. */
export interface Question {
  readonly metrics: readonly MetricDeclaration[];
  readonly dimensions: readonly { readonly id: DimensionId; readonly values: DimensionValues }[];
  /** A row passes when each dimension's code is allowed. One without a value passes `not_in`, and no other filter. */
  readonly filters: readonly { readonly dimension: DimensionId; readonly allowed: Uint8Array }[];
  readonly range: DayRange;
  readonly compareRange: DayRange | undefined;
  readonly granularity: Granularity | undefined;
  readonly timezone: string;
  readonly order: readonly Order[];
  readonly limit: number;
  readonly totals: boolean;
}

/** The body → a question. Throws a 422 `Refusal` that names every fault it found, with its pointer. */
export function ask(body: unknown, tenant: Tenant, world: World): Question {
  const parsed = reportRequestSchema.safeParse(body);
  if (!parsed.success) throw refuse(parsed.error.issues.flatMap(shapeFault));
  const request = parsed.data;
  const found: Found[] = [];
  const metrics = askedMetrics(request, tenant, found);
  const time = askedTime(request, metrics, world, found);
  const dimensions = askedDimensions(request, metrics, tenant, found);
  const filters = askedFilters(request, metrics, tenant, found);
  checkOrder(request, found);
  if (found.length > 0) throw refuse(found);
  return {
    metrics,
    dimensions,
    filters,
    ...time,
    granularity: request.time?.granularity,
    order: request.order ?? [],
    limit: request.limit ?? LIMITS.max_rows,
    totals: request.include?.includes('totals') ?? false,
  };
}

/** The same for two questions that mean the same, however they were written. */
export const nameOf = (question: Question): string =>
  JSON.stringify({
    ...question,
    metrics: question.metrics.map(({ id }) => id),
    dimensions: question.dimensions.map(({ id }) => id),
    filters: question.filters.map(({ dimension, allowed }) => [dimension, ...allowed]),
  });

interface Found extends Fault422 {
  /** The problem's own code when this fault comes first. */
  readonly problem: Code422;
}

function refuse(found: readonly Found[]): Refusal {
  const [first] = found;
  const errors = found.map(({ pointer, code, detail, metadata }) => ({ pointer, code, detail, metadata }));
  return new Refusal(422, first?.problem ?? 'validation.failed', first?.detail ?? 'The body is invalid.', { errors });
}

const pointerTo = (path: readonly PropertyKey[]) =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** What zod found against the contract's schema → faults with the code of specification §7. */
function shapeFault(issue: z.core.$ZodIssue): Found[] {
  const pointer = pointerTo(issue.path);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      problem: 'validation.failed' as const,
      pointer: pointer + pointerTo([key]),
      code: 'unknown' as const,
      detail: 'There is no such field.',
      metadata: {},
    }));
  }
  const tooMuch = issue.code === 'too_big';
  const cardinality = tooMuch && (pointer === '/dimensions' || pointer === '/limit');
  const missing = issue.code === 'invalid_type' && issue.input === undefined && issue.message.endsWith('undefined');
  return [
    {
      problem: cardinality ? 'analytics.cardinality_exceeded' : 'validation.failed',
      pointer,
      code: missing ? 'required' : tooMuch ? 'too_many' : 'invalid',
      detail: missing ? 'This field is required.' : issue.message,
      metadata: tooMuch ? { maximum: issue.maximum } : {},
    },
  ];
}

function askedMetrics({ metrics: ids }: ReportRequest, tenant: Tenant, found: Found[]): MetricDeclaration[] {
  return ids.flatMap((id, index) => {
    const pointer = `/metrics/${index}`;
    const metric = tenant.metrics.get(id);
    if (metric === undefined) {
      found.push({
        problem: 'analytics.unknown_metric',
        pointer,
        code: 'unknown',
        detail: `The organization has no metric "${id}".`,
        metadata: { metric: id },
      });
      return [];
    }
    if (ids.indexOf(id) !== index) found.push(duplicate(pointer, id));
    return [metric];
  });
}

const duplicate = (pointer: string, value: string): Found => ({
  problem: 'validation.failed',
  pointer,
  code: 'duplicate',
  detail: `"${value}" is asked for twice.`,
  metadata: {},
});

const invalid = (pointer: string, detail: string, metadata: Record<string, unknown> = {}): Found => ({
  problem: 'validation.failed',
  pointer,
  code: 'invalid',
  detail,
  metadata,
});

/** Dimensions that every one of the metrics accepts. */
const accepted = (metrics: readonly MetricDeclaration[]): DimensionId[] => {
  const [first, ...rest] = metrics;
  return (first?.dimensions ?? []).filter((id) => rest.every((metric) => metric.dimensions.includes(id)));
};

function askedTime(
  request: ReportRequest,
  metrics: readonly MetricDeclaration[],
  world: World,
  found: Found[],
): Pick<Question, 'range' | 'compareRange' | 'timezone'> {
  const time = request.time ?? {};
  const named = time.timezone ?? LIMITS.default_timezone;
  const known = isZone(named);
  if (!known) found.push(invalid('/time/timezone', `"${named}" is not an IANA timezone.`));
  const timezone = known ? named : LIMITS.default_timezone;

  const current = metrics.filter((metric) => metric.time_field === 'now').map(({ id }) => id);
  if (time.granularity !== undefined && current.length > 0) {
    found.push({
      problem: 'analytics.incompatible_dimension',
      pointer: '/time/granularity',
      code: 'invalid',
      detail: `A current count takes no granularity: ${current.join(', ')}.`,
      metadata: { dimension: 'bucket', metrics: current, allowed: accepted(metrics) },
    });
  }

  if ((time.from === undefined) !== (time.to === undefined)) {
    const missing = time.from === undefined ? '/time/from' : '/time/to';
    found.push({ ...invalid(missing, 'Send both "from" and "to", or neither.'), code: 'required' });
  }
  const today = world.zone(timezone).of(world.now());
  const range: DayRange =
    time.from === undefined || time.to === undefined
      ? { from: today - LIMITS.default_range_days + 1, to: today }
      : { from: toDay(time.from), to: toDay(time.to) };
  const days = range.to - range.from + 1;
  const compareRange = time.compare === undefined ? undefined : previousPeriod(range);
  if (days < 1) found.push(invalid('/time/to', '"to" is before "from".'));
  else if (days > LIMITS.max_range_days) {
    found.push({
      problem: 'analytics.range_too_large',
      pointer: '/time',
      code: 'invalid',
      detail: `The range has ${days} days; at most ${LIMITS.max_range_days} are allowed.`,
      metadata: { days, maximum: LIMITS.max_range_days },
    });
  } else if ((compareRange?.from ?? range.from) < OLDEST) {
    found.push(invalid('/time/from', `Dates before ${toDate(OLDEST)} cannot be asked for.`));
  }
  return { range, compareRange, timezone };
}

function askedDimensions(
  request: ReportRequest,
  metrics: readonly MetricDeclaration[],
  tenant: Tenant,
  found: Found[],
): Question['dimensions'] {
  const ids = request.dimensions ?? [];
  return ids.flatMap((id, index) => {
    const pointer = `/dimensions/${index}`;
    const refusing = metrics.filter((metric) => !metric.dimensions.some((known) => known === id));
    const values = tenant.dimensions.get(id);
    const dimension = accepted(metrics).find((known) => known === id);
    if (refusing.length > 0 || values === undefined || dimension === undefined) {
      found.push({
        problem: 'analytics.incompatible_dimension',
        pointer,
        code: 'invalid',
        detail: `"${id}" does not apply to ${refusing.map((metric) => metric.id).join(', ') || 'the requested metrics'}.`,
        metadata: { dimension: id, metrics: refusing.map((metric) => metric.id), allowed: accepted(metrics) },
      });
      return [];
    }
    if (ids.indexOf(id) !== index) found.push(duplicate(pointer, id));
    return [{ id: dimension, values }];
  });
}

function askedFilters(
  request: ReportRequest,
  metrics: readonly MetricDeclaration[],
  tenant: Tenant,
  found: Found[],
): Question['filters'] {
  return (request.filters ?? []).flatMap((filter, index) => {
    const pointer = `/filters/${index}`;
    const values = tenant.dimensions.get(filter.dimension);
    const dimension = accepted(metrics).find((known) => known === filter.dimension);
    if (values === undefined || dimension === undefined) {
      const refusing = metrics.filter((metric) => !metric.dimensions.some((known) => known === filter.dimension));
      found.push({
        problem: 'analytics.invalid_filter',
        pointer: `${pointer}/dimension`,
        code: 'invalid',
        detail: `"${filter.dimension}" cannot filter ${refusing.map(({ id }) => id).join(', ') || 'the requested metrics'}.`,
        metadata: {
          dimension: filter.dimension,
          metrics: refusing.map(({ id }) => id),
          allowed: accepted(metrics),
        },
      });
      return [];
    }
    if (filter.op === 'eq' && filter.values.length !== 1) {
      found.push(invalid(`${pointer}/values`, '"eq" takes exactly one value.'));
    }
    const known = values.descriptor.values.map(({ value }) => value);
    const allowed = new Uint8Array(values.size).fill(filter.op === 'not_in' ? 1 : 0);
    for (const [place, value] of filter.values.entries()) {
      const code = values.codes[known.indexOf(value)];
      if (code === undefined) {
        found.push({
          problem: 'analytics.invalid_filter',
          pointer: `${pointer}/values/${place}`,
          code: 'invalid',
          detail: `"${filter.dimension}" does not take the value "${value}".`,
          metadata: { dimension: filter.dimension, value, allowed: known },
        });
      } else {
        allowed[code] = filter.op === 'not_in' ? 0 : 1;
      }
    }
    return [{ dimension, allowed }];
  });
}

function checkOrder(request: ReportRequest, found: Found[]): void {
  const columns = new Set([...request.metrics, ...(request.dimensions ?? [])]);
  if (request.time?.granularity !== undefined) columns.add('bucket');
  for (const [index, { by }] of (request.order ?? []).entries()) {
    if (columns.has(by)) continue;
    found.push(invalid(`/order/${index}/by`, `"${by}" is not a column of this report.`, { allowed: [...columns] }));
  }
}
