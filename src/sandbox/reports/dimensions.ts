import { type Dimension, REVIEW_STATUSES } from '../../contract/catalog.ts';
import { CODES } from '../generator/fact-tables.ts';
import type { OrganizationSpec } from '../generator/organizations.ts';
import type { DimensionId } from './snapshot.ts';

interface DimensionDefinition {
  readonly id: DimensionId;
  readonly label: string;
  readonly description: string;
  /** In the order of their codes. */
  readonly values: (spec: OrganizationSpec) => readonly { readonly value: string; readonly label: string }[];
}

const toLabel = (value: string) => {
  const words = value.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};
const enumValues =
  (values: readonly string[], labels: Readonly<Record<string, string>> = {}): DimensionDefinition['values'] =>
  () =>
    values.map((value) => ({ value, label: labels[value] ?? toLabel(value) }));
/** Removes values that an organization without adverse media does not have (specification §2.4). */
const withoutAdverseMedia =
  (values: DimensionDefinition['values']): DimensionDefinition['values'] =>
  (spec) =>
    values(spec).filter(({ value }) => value !== 'adverse_media' || spec.features.includes('adverse_media'));

/** The dimensions of specification §2.5, with values where it leaves them open. */
const DIMENSIONS: readonly DimensionDefinition[] = [
  {
    id: 'profile.type',
    label: 'Profile type',
    description: 'Whether the profile is a person (KYC) or a company (KYB).',
    values: enumValues(CODES.type),
  },
  {
    id: 'profile.group',
    label: 'Profile group',
    description: "The profile's group, by its name in the organization.",
    values: (spec) => spec.groups.map((group) => ({ value: group, label: group })),
  },
  {
    id: 'profile.review_status',
    label: 'Review status',
    description: "The profile's review status at the time of computation.",
    values: enumValues(CODES.status, REVIEW_STATUSES),
  },
  {
    id: 'profile.relationship_status',
    label: 'Relationship status',
    description:
      'Prospect until the first approval, then active; under review while a later review goes on; rejected after a decline; ended once archived.',
    values: enumValues(CODES.relationship),
  },
  {
    id: 'profile.risk',
    label: 'Risk',
    description: "The profile's risk rating.",
    values: enumValues(CODES.risk),
  },
  {
    id: 'profile.creation_source',
    label: 'Creation source',
    description: 'How the profile came to be: by hand, through the API, by a bulk import or from an intake form.',
    values: enumValues(CODES.source, { api: 'API' }),
  },
  {
    id: 'review.age',
    label: 'Review age',
    description: 'Whole days in the current review status at the time of computation.',
    values: enumValues(CODES.age, { '0_2': '0-2 Days', '3_7': '3-7 Days', '8_14': '8-14 Days', '15_plus': '15+ Days' }),
  },
  {
    id: 'alert.type',
    label: 'Alert type',
    description: 'What raised the alert.',
    values: withoutAdverseMedia(enumValues(CODES.alertType)),
  },
  {
    id: 'alert.status',
    label: 'Alert status',
    description: 'Open until somebody takes it, in progress until it is closed or dismissed.',
    values: enumValues(CODES.alertStatus),
  },
  {
    id: 'hit.kind',
    label: 'Hit kind',
    description: 'The kind of list that the hit came from.',
    values: withoutAdverseMedia(enumValues(CODES.hitKind, { pep: 'PEP' })),
  },
  {
    id: 'hit.resolution',
    label: 'Hit resolution',
    description: 'What the hit was found to be; unresolved until then.',
    values: enumValues(CODES.resolution),
  },
];

/** The values of an organization's dimensions by id, and their codes in the history's columns. */
export interface DimensionValues {
  readonly descriptor: Dimension;
  /** Codes in the order of `descriptor.values`. */
  readonly codes: readonly number[];
  /** The code of rows without a value; undefined if every row has one. */
  readonly none: number | undefined;
  /** One more than the largest code. */
  readonly size: number;
}

export function dimensionValuesFor(spec: OrganizationSpec): ReadonlyMap<string, DimensionValues> {
  const everything: OrganizationSpec = { ...spec, features: ['adverse_media'] };
  return new Map(
    DIMENSIONS.map(({ id, label, description, values }) => {
      const all = values(everything).map(({ value }) => value);
      const shown = values(spec);
      const none = id === 'profile.group' && (spec.ungrouped ?? 0) > 0 ? all.length : undefined;
      return [
        id,
        {
          descriptor: { id, label, description, type: 'enum', values: [...shown] },
          codes: shown.map(({ value }) => all.indexOf(value)),
          none,
          size: all.length + (none === undefined ? 0 : 1),
        },
      ];
    }),
  );
}
