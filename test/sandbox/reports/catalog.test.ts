import { describe, expect, it } from 'vitest';
import { catalogSchema, DIMENSION_IDS, REVIEW_STATUSES } from '../../../src/contract/catalog.ts';
import { LIMITS } from '../../../src/contract/limits.ts';
import { inProcessSandbox } from '../../support/in-process-sandbox.ts';
import { METRIC_IDS } from '../../support/metric-ids.ts';

const sandbox = inProcessSandbox({ now: Date.parse('2026-04-08T08:30:00Z') });
const catalogOf = async (org: number) =>
  catalogSchema.parse((await sandbox.get(`/api/orgs/${org}/analytics/metrics/`)).body);
const values = (catalog: Awaited<ReturnType<typeof catalogOf>>, id: string) =>
  catalog.dimensions.find((dimension) => dimension.id === id)?.values.map(({ value }) => value);

describe('the metric catalog (§2.4 to §2.6)', () => {
  it('has the 41 metrics and 11 dimensions of the specification', async () => {
    const catalog = await catalogOf(101);
    expect(catalog.metrics.map(({ id }) => id)).toEqual(Object.values(METRIC_IDS).flat());
    expect(catalog.metrics).toHaveLength(41);
    expect(catalog.dimensions.map(({ id }) => id)).toEqual([...DIMENSION_IDS]);
  });

  it('describes each metric with the values that the specification allows', async () => {
    const { metrics } = await catalogOf(101);
    for (const metric of metrics) {
      expect(metric.label).not.toBe('');
      expect(metric.description).toMatch(/\.$/);
      expect(['count', 'ratio', 'seconds']).toContain(metric.unit);
      expect(['created', 'first decision', 'closed', 'now']).toContain(metric.time_field);
      expect(metric.granularities).toEqual(metric.time_field === 'now' ? [] : ['day', 'week', 'month']);
      for (const dimension of metric.dimensions) expect(DIMENSION_IDS).toContain(dimension);
      expect(metric.additive_over_time).toBe(metric.aggregation === 'count' && metric.time_field !== 'now');
    }
    const current = metrics.filter((metric) => metric.time_field === 'now').map(({ id }) => id);
    expect(current.sort()).toEqual([
      'alerts.open',
      'alerts.unassigned',
      'profiles.pending_review',
      'reviews.overdue',
      'rfis.open',
      'rfis.overdue',
    ]);
    expect(metrics.find(({ id }) => id === 'profiles.time_to_decision_p50')).toMatchObject({
      type: 'duration',
      unit: 'seconds',
      aggregation: 'p50',
      time_field: 'first decision',
    });
  });

  it('lists every value that a dimension takes in the organization', async () => {
    const catalog = await catalogOf(101);
    const labels = (id: string) =>
      Object.fromEntries(
        catalog.dimensions.find((dimension) => dimension.id === id)?.values.map(({ value, label }) => [value, label]) ??
          [],
      );
    expect(labels('profile.review_status')).toEqual(REVIEW_STATUSES);
    expect(labels('review.age')).toEqual({
      '0_2': '0-2 Days',
      '3_7': '3-7 Days',
      '8_14': '8-14 Days',
      '15_plus': '15+ Days',
    });
    expect(values(catalog, 'profile.type')).toEqual(['individual', 'entity']);
    expect(values(catalog, 'profile.risk')).toEqual(expect.arrayContaining(['high', 'severe']));
    expect(values(catalog, 'profile.group')).toEqual(['Retail', 'Merchants', 'Marketplace', 'Partners']);
    expect(values(await catalogOf(104), 'profile.group')).toEqual([]);
  });

  it('leaves out metrics and values of features that the organization does not use', async () => {
    const [everything, withoutAdverse, few] = await Promise.all([catalogOf(101), catalogOf(102), catalogOf(103)]);
    expect(values(everything, 'hit.kind')).toEqual(['sanctions', 'pep', 'adverse_media']);
    expect(values(withoutAdverse, 'hit.kind')).toEqual(['sanctions', 'pep']);
    expect(values(withoutAdverse, 'alert.type')).not.toContain('adverse_media');
    const ids = few.metrics.map(({ id }) => id);
    expect(ids.filter((id) => /^(blockchain_addresses|intake|transaction_alerts)\.|address/.test(id))).toEqual([]);
    expect(ids).toContain('screening.hits');
  });

  it('keeps a replaced metric with its date and its successor (§9)', async () => {
    const { metrics } = await catalogOf(102);
    const old = metrics.find(({ id }) => id === 'screening.matches');
    expect(old).toMatchObject({ replaced_by: 'screening.hits', deprecated_at: expect.stringMatching(/^20..-..-..T/) });
    expect(metrics.filter((metric) => metric.deprecated_at !== null)).toEqual([old]);
    const answer = await sandbox.answered({ metrics: ['screening.matches', 'screening.hits'] }, { org: 102 });
    const [row] = answer.rows;
    expect(row?.['screening.matches']).toBeGreaterThan(0);
    expect(row?.['screening.matches']).toBeLessThan(Number(row?.['screening.hits']));
  });

  it('carries the limits and the registry version', async () => {
    const catalog = await catalogOf(103);
    expect(catalog.limits).toEqual({
      max_range_days: LIMITS.max_range_days,
      max_dimensions: LIMITS.max_dimensions,
      max_rows: LIMITS.max_rows,
    });
    const { meta } = await sandbox.answered({ metrics: ['rfis.sent'] }, { org: 103 });
    expect(meta.registry_version).toBe(catalog.registry_version);
  });
});
