import type { z } from 'zod';
import { reportFileSchema } from '../../src/compose/built-in-kinds.ts';
import type { Catalog } from '../../src/contract/catalog.ts';
import type { Period } from '../../src/definitions/periods/period.ts';
import type { ComparisonKind } from '../../src/definitions/schema/comparison.ts';
import { type OrgSettings, orgFileSchema } from '../../src/definitions/schema/org-settings.ts';
import type { Definition, Section } from '../../src/definitions/schema/report-definition.ts';

export type SectionInput = NonNullable<z.input<typeof reportFileSchema>['sections']>[number];

export type DefinitionInput = Omit<Partial<Definition>, 'compare'> & {
  readonly compare?: ComparisonKind | readonly ComparisonKind[] | undefined;
};

/** A definition with these sections. Everything else has defaults. */
export function definitionOf(
  sections: readonly SectionInput[],
  { compare, ...more }: DefinitionInput = {},
): Definition {
  const file = reportFileSchema.parse({
    version: 1,
    title: 'Weekly',
    owner: 'ops@acme.example',
    period: 'previous_week',
    ...(compare === undefined ? {} : { compare }),
    sections,
    outputs: [{ format: 'csv' }],
  });
  return { ...file, org: 'acme', report: 'weekly', digest: 'd'.repeat(64), ...more };
}

export const settingsOf = (more: Partial<OrgSettings> = {}): OrgSettings => ({
  ...orgFileSchema.parse({
    org: 'current',
    name: 'Acme Payments',
    api_key: { env: 'ACME_KEY' },
    timezone: 'Europe/Zurich',
    recipients: {},
  }),
  id: 'acme',
  ...more,
});

export const WEEK: Period = { from: '2026-11-09', to: '2026-11-15', timezone: 'Europe/Zurich', label: '2026-W46' };

/** A metric of a catalog. */
export const metricOf = (id: string, more: Partial<Catalog['metrics'][number]> = {}): Catalog['metrics'][number] => ({
  id,
  label: id,
  description: '',
  type: 'integer',
  unit: 'count',
  aggregation: 'count',
  time_field: 'created',
  granularities: ['day', 'week', 'month'],
  dimensions: ['profile.type', 'profile.risk'],
  additive_over_time: true,
  data_available: { from: '2024-01-01' },
  deprecated_at: null,
  replaced_by: null,
  ...more,
});

/** A small catalog with one of each kind of metric. */
export const CATALOG: Catalog = {
  registry_version: 7,
  metrics: [
    metricOf('profiles.created'),
    metricOf('profiles.decided', { time_field: 'first decision' }),
    metricOf('profiles.approval_rate', {
      unit: 'ratio',
      aggregation: 'share',
      type: 'number',
      additive_over_time: false,
    }),
    metricOf('screening.hits', { dimensions: ['hit.kind'] }),
    metricOf('cohort.completion_rate', { granularities: ['week', 'month'], unit: 'ratio', additive_over_time: false }),
    metricOf('alerts.open', { time_field: 'now', granularities: [], dimensions: ['profile.type'] }),
    metricOf('rfis.open', { time_field: 'now', granularities: [], dimensions: ['profile.type'] }),
    metricOf('profiles.opened', { deprecated_at: '2026-01-01T00:00:00Z', replaced_by: 'profiles.created' }),
  ],
  dimensions: [
    {
      id: 'profile.type',
      label: 'Profile type',
      description: '',
      type: 'enum',
      values: [
        { value: 'individual', label: 'Individual (KYC)' },
        { value: 'entity', label: 'Entity (KYB)' },
      ],
    },
    {
      id: 'profile.risk',
      label: 'Risk',
      description: '',
      type: 'enum',
      values: ['low', 'medium', 'high', 'severe'].map((value) => ({ value, label: value.toUpperCase() })),
    },
    { id: 'hit.kind', label: 'Hit kind', description: '', type: 'enum', values: [{ value: 'pep', label: 'PEP' }] },
  ],
  limits: { max_range_days: 366, max_dimensions: 2, max_rows: 5000 },
};

export const sectionOf = (section: SectionInput): Section => {
  const [only] = definitionOf([section]).sections;
  if (only === undefined) throw new Error('no section');
  return only;
};
