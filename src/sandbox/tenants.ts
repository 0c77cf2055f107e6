import { memoize } from '../base/memoize.ts';
import { DAY_MS } from '../base/time.ts';
import type { Catalog } from '../contract/catalog.ts';
import { LIMITS } from '../contract/limits.ts';
import type { History } from './generator/fact-tables.ts';
import { firstDay, generateHistory } from './generator/history.ts';
import { ORGANIZATIONS, type OrganizationSpec } from './generator/organizations.ts';
import { type Timeline, timeline } from './reports/aggregate.ts';
import { zoneDays } from './reports/calendar.ts';
import { type DimensionValues, dimensionValuesFor } from './reports/dimensions.ts';
import { type MetricDefinition, toCatalogMetric } from './reports/metric-definition.ts';
import { METRICS, REPLACED } from './reports/metrics.ts';
import { type Snapshot, snapshotAt } from './reports/snapshot.ts';

/** Changes when a metric is added or replaced, or gets another meaning (specification §9). */
export const REGISTRY_VERSION = 7;

/** How far ahead events are generated, so that a sandbox can run for weeks without generating more. */
const LOOKAHEAD_MS = 30 * DAY_MS;

/** More than all zones in the IANA database. */
const MAX_CACHED_ZONES = 1_000;

/** An organization, as the endpoints see it. */
export interface Tenant {
  readonly spec: OrganizationSpec;
  /** Midnight (UTC) of the first day with data, epoch ms. */
  readonly start: number;
  readonly metrics: ReadonlyMap<string, MetricDefinition>;
  readonly dimensions: ReadonlyMap<string, DimensionValues>;
  catalog(): Catalog;
  /** The present state of the organization. */
  snapshot(): Snapshot;
  /** A column of the present history, sorted by time. */
  timeline(column: Float64Array): Timeline;
}

export type SandboxState = ReturnType<typeof createSandboxState>;

/**
 * @param now clock of the data, epoch ms; histories end at its first value
 * @param ungrouped share of profiles and invitations without a group
 * @param lateEntries share of profiles that are added to the past; it may change
 */
export function createSandboxState(
  seed: number,
  now: () => number,
  ungrouped = 0,
  lateEntries: () => number = () => 0,
) {
  const startedAt = now();
  return {
    tenants: new Map(
      ORGANIZATIONS.map((spec) => [spec.id, createTenant({ ...spec, ungrouped }, seed, startedAt, now, lateEntries)]),
    ),
    /** Epoch ms, on the clock of the data. */
    now,
    /** The share of profiles that are added to the past, see the fault `history`. */
    lateEntries,
    zone: memoize(zoneDays, MAX_CACHED_ZONES),
  };
}

function createTenant(
  spec: OrganizationSpec,
  seed: number,
  startedAt: number,
  now: () => number,
  lateEntries: () => number,
): Tenant {
  const metrics = [...METRICS, ...(spec.legacy ? REPLACED : [])].filter(
    ({ feature }) => feature === undefined || spec.features.includes(feature),
  );
  const dimensions = dimensionValuesFor(spec);
  const start = firstDay(spec, startedAt) * DAY_MS;
  let history: History | undefined;
  let late = 0;
  let view: Snapshot | undefined;
  // Weak, so that timelines are collected together with a replaced history.
  const timelines = new WeakMap<Float64Array, Timeline>();

  const historyUntil = (instant: number): History => {
    if (history !== undefined && instant < history.horizon && late === lateEntries()) return history;
    late = lateEntries();
    // With a larger mean, a day draws the same profiles and additional ones.
    const arrivals = spec.arrivals * (1 + late);
    history = generateHistory({ ...spec, arrivals }, seed, startedAt, instant + LOOKAHEAD_MS);
    return history;
  };

  return {
    spec,
    start,
    metrics: new Map(metrics.map((metric) => [metric.id, metric])),
    dimensions,
    catalog() {
      const { max_range_days, max_dimensions, max_rows } = LIMITS;
      return {
        registry_version: REGISTRY_VERSION,
        metrics: metrics.map((metric) => toCatalogMetric(metric, start)),
        dimensions: [...dimensions.values()].map(({ descriptor }) => descriptor),
        limits: { max_range_days, max_dimensions, max_rows },
      };
    },
    snapshot() {
      // All events are at whole seconds, so one snapshot per second is enough.
      const second = Math.floor(now() / 1000) * 1000;
      const current = historyUntil(second);
      if (view?.now !== second || view.history !== current) view = snapshotAt(current, second);
      return view;
    },
    timeline(column) {
      const held = timelines.get(column) ?? timeline(column);
      timelines.set(column, held);
      return held;
    },
  };
}
