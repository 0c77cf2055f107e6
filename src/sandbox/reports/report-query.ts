import type { z } from 'zod';
import { LIMITS } from '../../contract/limits.ts';
import type { PROBLEM_CODES } from '../../contract/problem.ts';
import { type Granularity, type Order, type ReportRequest, reportRequestSchema } from '../../contract/report.ts';
import { ProblemError, type ValidationProblem } from '../problem.ts';
import type { SandboxState, Tenant } from '../tenants.ts';
import { type DayRange, isZone, MIN_DAY, previousPeriod, toDate, toDay } from './calendar.ts';
import type { DimensionValues } from './dimensions.ts';
import type { MetricDefinition } from './metric-definition.ts';
import type { DimensionId } from './snapshot.ts';

type ValidationCode = Extract<keyof typeof PROBLEM_CODES, `analytics.${string}` | 'validation.failed'>;

/** A valid report request (specification §2.7) with resolved ids. */
export interface ReportQuery {
  readonly metrics: readonly MetricDefinition[];
  readonly dimensions: readonly { readonly id: DimensionId; readonly values: DimensionValues }[];
  /** A row passes if each dimension's code is allowed. A row without a value passes only `not_in`. */
  readonly filters: readonly { readonly dimension: DimensionId; readonly allowed: Uint8Array }[];
  readonly range: DayRange;
  readonly compareRange: DayRange | undefined;
  readonly granularity: Granularity | undefined;
  readonly timezone: string;
  readonly order: readonly Order[];
  readonly limit: number;
  readonly totals: boolean;
}

/** Parses the body. Throws a 422 `ProblemError` with all errors and their pointers. */
export function parseReportQuery(body: unknown, tenant: Tenant, world: SandboxState): ReportQuery {
  const parsed = reportRequestSchema.safeParse(body);
  if (!parsed.success) throw validationError(parsed.error.issues.flatMap(schemaProblems));
  const request = parsed.data;
  const found: QueryProblem[] = [];
  const metrics = resolveMetrics(request, tenant, found);
  const time = resolveTime(request, metrics, world, found);
  const dimensions = resolveDimensions(request, metrics, tenant, found);
  const filters = resolveFilters(request, metrics, tenant, found);
  checkOrder(request, found);
  if (found.length > 0) throw validationError(found);
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

/** The same text for equivalent queries, however they are written. */
export const queryKey = (question: ReportQuery): string =>
  JSON.stringify({
    ...question,
    metrics: question.metrics.map(({ id }) => id),
    dimensions: question.dimensions.map(({ id }) => id),
    filters: question.filters.map(({ dimension, allowed }) => [dimension, ...allowed]),
  });

interface QueryProblem extends ValidationProblem {
  /** The problem's code if this is the first error. */
  readonly problem: ValidationCode;
}

function validationError(found: readonly QueryProblem[]): ProblemError {
  const [first] = found;
  const errors = found.map(({ problem: _, ...error }) => error);
  return new ProblemError(422, first?.problem ?? 'validation.failed', first?.detail ?? 'The body is invalid.', {
    errors,
  });
}

const invalid = (pointer: string, detail: string, metadata: QueryProblem['metadata'] = {}): QueryProblem => ({
  problem: 'validation.failed',
  pointer,
  code: 'invalid',
  detail,
  metadata,
});

const duplicate = (pointer: string, value: string): QueryProblem => ({
  ...invalid(pointer, `"${value}" is requested twice.`),
  code: 'duplicate',
});

const jsonPointer = (path: readonly PropertyKey[]) =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** Converts zod issues to errors with the codes of specification §7. */
function schemaProblems(issue: z.core.$ZodIssue): QueryProblem[] {
  const pointer = jsonPointer(issue.path);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      ...invalid(pointer + jsonPointer([key]), 'There is no such field.'),
      code: 'unknown',
    }));
  }
  if (issue.code === 'too_big') {
    const cardinality = pointer === '/dimensions' || pointer === '/limit';
    const problem = cardinality ? 'analytics.cardinality_exceeded' : 'validation.failed';
    return [{ ...invalid(pointer, issue.message, { maximum: issue.maximum }), problem, code: 'too_many' }];
  }
  const missing = issue.code === 'invalid_type' && issue.input === undefined && issue.message.endsWith('undefined');
  return [
    missing ? { ...invalid(pointer, 'This field is required.'), code: 'required' } : invalid(pointer, issue.message),
  ];
}

function resolveMetrics({ metrics: ids }: ReportRequest, tenant: Tenant, found: QueryProblem[]): MetricDefinition[] {
  return ids.flatMap((id, index) => {
    const pointer = `/metrics/${index}`;
    const metric = tenant.metrics.get(id);
    if (metric === undefined) {
      const missing = invalid(pointer, `The organization has no metric "${id}".`, { metric: id });
      found.push({ ...missing, problem: 'analytics.unknown_metric', code: 'unknown' });
      return [];
    }
    if (ids.indexOf(id) !== index) found.push(duplicate(pointer, id));
    return [metric];
  });
}

/** Dimensions that all metrics accept. */
const commonDimensions = (metrics: readonly MetricDefinition[]): DimensionId[] => {
  const [first, ...rest] = metrics;
  return (first?.dimensions ?? []).filter((id) => rest.every((metric) => metric.dimensions.includes(id)));
};

function resolveTime(
  request: ReportRequest,
  metrics: readonly MetricDefinition[],
  world: SandboxState,
  found: QueryProblem[],
): Pick<ReportQuery, 'range' | 'compareRange' | 'timezone'> {
  const time = request.time ?? {};
  const named = time.timezone ?? LIMITS.default_timezone;
  const known = isZone(named);
  if (!known) found.push(invalid('/time/timezone', `"${named}" is not an IANA timezone.`));
  const timezone = known ? named : LIMITS.default_timezone;

  const current = metrics.filter((metric) => metric.time_field === 'now').map(({ id }) => id);
  if (time.granularity !== undefined && current.length > 0) {
    const metadata = { dimension: 'bucket', metrics: current, allowed: commonDimensions(metrics) };
    const detail = `A current count takes no granularity: ${current.join(', ')}.`;
    found.push({ ...invalid('/time/granularity', detail, metadata), problem: 'analytics.incompatible_dimension' });
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
    const maximum = LIMITS.max_range_days;
    const detail = `The range has ${days} days; at most ${maximum} are allowed.`;
    found.push({ ...invalid('/time', detail, { days, maximum }), problem: 'analytics.range_too_large' });
  } else if ((compareRange?.from ?? range.from) < MIN_DAY) {
    found.push(invalid('/time/from', `Dates before ${toDate(MIN_DAY)} cannot be asked for.`));
  }
  return { range, compareRange, timezone };
}

/**
 * A dimension that all metrics accept. Otherwise undefined, and an error whose metadata lists the metrics that do not
 * accept it.
 */
function resolveDimension(id: string, metrics: readonly MetricDefinition[], tenant: Tenant) {
  const allowed = commonDimensions(metrics);
  const refusing = metrics.filter(({ dimensions }) => !dimensions.some((known) => known === id)).map((each) => each.id);
  const values = tenant.dimensions.get(id);
  const known = allowed.find((each) => each === id);
  return {
    dimension: values === undefined || known === undefined ? undefined : { id: known, values },
    refusing: refusing.join(', ') || 'the requested metrics',
    metadata: { dimension: id, metrics: refusing, allowed },
  };
}

function resolveDimensions(
  request: ReportRequest,
  metrics: readonly MetricDefinition[],
  tenant: Tenant,
  found: QueryProblem[],
): ReportQuery['dimensions'] {
  const ids = request.dimensions ?? [];
  return ids.flatMap((id, index) => {
    const pointer = `/dimensions/${index}`;
    const { dimension, refusing, metadata } = resolveDimension(id, metrics, tenant);
    if (dimension === undefined) {
      const refusal = invalid(pointer, `"${id}" does not apply to ${refusing}.`, metadata);
      found.push({ ...refusal, problem: 'analytics.incompatible_dimension' });
      return [];
    }
    if (ids.indexOf(id) !== index) found.push(duplicate(pointer, id));
    return [dimension];
  });
}

function resolveFilters(
  request: ReportRequest,
  metrics: readonly MetricDefinition[],
  tenant: Tenant,
  found: QueryProblem[],
): ReportQuery['filters'] {
  return (request.filters ?? []).flatMap((filter, index) => {
    const pointer = `/filters/${index}`;
    const { dimension, refusing, metadata } = resolveDimension(filter.dimension, metrics, tenant);
    if (dimension === undefined) {
      const refusal = invalid(`${pointer}/dimension`, `"${filter.dimension}" cannot filter ${refusing}.`, metadata);
      found.push({ ...refusal, problem: 'analytics.invalid_filter' });
      return [];
    }
    const { id, values } = dimension;
    if (filter.op === 'eq' && filter.values.length !== 1) {
      found.push(invalid(`${pointer}/values`, '"eq" takes exactly one value.'));
    }
    const known = values.descriptor.values.map(({ value }) => value);
    const allowed = new Uint8Array(values.size).fill(filter.op === 'not_in' ? 1 : 0);
    for (const [place, value] of filter.values.entries()) {
      const code = values.codes[known.indexOf(value)];
      if (code === undefined) {
        const detail = `"${id}" does not take the value "${value}".`;
        const refusal = invalid(`${pointer}/values/${place}`, detail, { dimension: id, value, allowed: known });
        found.push({ ...refusal, problem: 'analytics.invalid_filter' });
      } else {
        allowed[code] = filter.op === 'not_in' ? 0 : 1;
      }
    }
    return [{ dimension: id, allowed }];
  });
}

function checkOrder(request: ReportRequest, found: QueryProblem[]): void {
  const columns = new Set([...request.metrics, ...(request.dimensions ?? [])]);
  if (request.time?.granularity !== undefined) columns.add('bucket');
  for (const [index, { by }] of (request.order ?? []).entries()) {
    if (columns.has(by)) continue;
    found.push(invalid(`/order/${index}/by`, `"${by}" is not a column of this report.`, { allowed: [...columns] }));
  }
}
