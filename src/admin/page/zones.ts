import type { OrganizationEntry } from '../access.ts';

/** In which zone an instant is shown. */
export interface Zones {
  /** The organization's own; UTC where that is not known. */
  of(org: string): string;
  /** The zone that all organizations have; UTC when they have several. */
  readonly shared: string;
}

export function zonesOf(organizations: readonly Pick<OrganizationEntry, 'org' | 'timezone'>[]): Zones {
  const zones = new Map(organizations.flatMap(({ org, timezone }) => (timezone === null ? [] : [[org, timezone]])));
  const [first, ...others] = new Set(zones.values());
  return { of: (org) => zones.get(org) ?? 'UTC', shared: first !== undefined && others.length === 0 ? first : 'UTC' };
}
