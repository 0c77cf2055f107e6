import type { Catalog } from '../contract/catalog.ts';
import { LIMITS } from '../contract/limits.ts';
import { type ZoneDays, zoneDays } from './calendar.ts';
import { type Timeline, timeline } from './compute.ts';
import { describe, type MetricDeclaration } from './declare.ts';
import { type DimensionValues, dimensionsOf } from './dimensions.ts';
import type { History } from './facts.ts';
import { generate } from './history.ts';
import { METRICS, REPLACED } from './metrics.ts';
import { ORGANIZATIONS, type OrganizationSpec } from './organizations.ts';
import { type View, viewAt } from './view.ts';

/** Changes when a metric is added, replaced or means something else (specification §9). */
export const REGISTRY_VERSION = 7;

const DAY = 86_400_000;
/** How far ahead of now the future is prepared, so that a sandbox can run for weeks before it has to look again. */
const AHEAD = 30 * DAY;

/** One organization as the endpoints see it. */
export interface Tenant {
  readonly spec: OrganizationSpec;
  readonly metrics: ReadonlyMap<string, MetricDeclaration>;
  readonly dimensions: ReadonlyMap<string, DimensionValues>;
  catalog(): Catalog;
  /** The organization as it stands now. */
  view(): View;
  /** A column of the present history in order of time. */
  timeline(column: Float64Array): Timeline;
}

export interface World {
  readonly tenants: ReadonlyMap<number, Tenant>;
  /** Epoch ms in the world of the data. */
  now(): number;
  zone(name: string): ZoneDays;
}

/**
 * @param now the world's clock, epoch ms; the histories are counted back from its first answer
 * @param ungrouped share of the profiles and invitations that have no group
 */
export function createWorld(seed: number, now: () => number, ungrouped = 0): World {
  const startedAt = now();
  const zones = new Map<string, ZoneDays>();
  return {
    tenants: new Map(ORGANIZATIONS.map((spec) => [spec.id, tenant({ ...spec, ungrouped }, seed, startedAt, now)])),
    now,
    zone(name) {
      const held = zones.get(name) ?? zoneDays(name);
      zones.set(name, held);
      return held;
    },
  };
}

function tenant(spec: OrganizationSpec, seed: number, startedAt: number, now: () => number): Tenant {
  const metrics = [...METRICS, ...(spec.legacy ? REPLACED : [])].filter(
    ({ feature }) => feature === undefined || spec.features.includes(feature),
  );
  const dimensions = dimensionsOf(spec);
  let history: History | undefined;
  let view: View | undefined;
  // Weak: a history that was replaced takes its timelines along.
  const timelines = new WeakMap<Float64Array, Timeline>();

  const historyUntil = (instant: number): History => {
    if (history !== undefined && instant < history.horizon) return history;
    history = generate(spec, seed, startedAt, instant + AHEAD);
    return history;
  };

  return {
    spec,
    metrics: new Map(metrics.map((metric) => [metric.id, metric])),
    dimensions,
    catalog() {
      const { start } = historyUntil(now());
      return {
        registry_version: REGISTRY_VERSION,
        metrics: metrics.map((metric) => describe(metric, start)),
        dimensions: [...dimensions.values()].map(({ descriptor }) => descriptor),
        limits: {
          max_range_days: LIMITS.max_range_days,
          max_dimensions: LIMITS.max_dimensions,
          max_rows: LIMITS.max_rows,
        },
      };
    },
    view() {
      // Everything happens on whole seconds, so the view of a second is the view of each of its moments.
      const second = Math.floor(now() / 1000) * 1000;
      if (view?.now !== second) view = viewAt(historyUntil(second), second);
      return view;
    },
    timeline(column) {
      const held = timelines.get(column) ?? timeline(column);
      timelines.set(column, held);
      return held;
    },
  };
}
