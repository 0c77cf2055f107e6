import { type Behaviour, json } from './hostile-server.ts';
import { metricOf } from './reports.ts';

/** Fields that replace those of a part of a response. */
type Change = Readonly<Record<string, unknown>>;

export interface Variations {
  readonly metric?: Change;
  readonly dimension?: Change;
  readonly row?: Change;
  readonly compare?: Change;
  readonly totals?: Change;
  readonly meta?: Change;
}

const METRIC = metricOf('profiles.created', { dimensions: ['profile.type'] });
const DIMENSION = { id: 'profile.type', label: 'Type', description: '', type: 'enum', values: [] as object[] };
const LIMITS = { max_range_days: 366, max_dimensions: 2, max_rows: 5000 };

interface Asked {
  readonly time: { readonly from?: string; readonly to?: string; readonly timezone: string; readonly compare?: string };
}

/**
 * A Compliance Service with differences: it has `profiles.created` and a second metric, two dimensions, and one row per
 * report. The changes apply to the second metric, the second dimension and every report.
 */
export function variantService({ metric, dimension, row, compare, totals, meta }: Variations): Behaviour {
  const catalog = {
    registry_version: 7,
    metrics: [METRIC, { ...METRIC, id: 'rfis.sent', ...metric }],
    dimensions: [DIMENSION, { ...DIMENSION, id: 'x.other', ...dimension }],
    limits: LIMITS,
  };
  return (request, response, body) => {
    if (request.method === 'GET') return json(catalog)(request, response, body);
    const { time }: Asked = JSON.parse(body);
    const compared = time.compare === undefined ? {} : { compare: { 'profiles.created': 2, ...compare } };
    return json({
      meta: {
        as_of: new Date().toISOString(),
        cached: false,
        refresh_retry_after: null,
        timezone: time.timezone,
        range: { from: time.from ?? '2026-10-18', to: time.to ?? '2026-11-16' },
        ...(time.compare === undefined ? {} : { compare_range: { from: '2026-11-02', to: '2026-11-08' } }),
        granularity: null,
        row_count: 1,
        truncated: false,
        registry_version: 7,
        ...meta,
      },
      columns: [
        { name: 'profiles.created', label: 'Profiles created', kind: 'metric', type: 'integer', unit: 'count' },
      ],
      rows: [{ 'profiles.created': 4, ...compared, ...row }],
      totals: { 'profiles.created': 4, ...compared, ...totals },
    })(request, response, body);
  };
}
