/** Optional features of the service (specification §2.4). */
export type Feature = 'adverse_media' | 'blockchain' | 'transactions' | 'intake';

/** Parameters of an organization's history. */
export interface OrganizationSpec {
  readonly id: number;
  readonly name: string;
  readonly features: readonly Feature[];
  readonly groups: readonly string[];
  /** The share of profiles and invitations without a group. Default: none. */
  readonly ungrouped?: number;
  /** Whole months of history before the present one. 0: a new organization without records. */
  readonly months: number;
  /** Profiles and invitations on an average weekday in the first month. */
  readonly arrivals: number;
  /** Growth per month, e.g. 0.03. */
  readonly growth: number;
  /** It still has a metric that was replaced (specification §9). */
  readonly legacy: boolean;
}

/** The sandbox's organizations: one with all features, one without an optional feature, a small one, and a new one. */
export const ORGANIZATIONS: readonly OrganizationSpec[] = [
  {
    id: 101,
    name: 'Acme Payments',
    features: ['adverse_media', 'blockchain', 'transactions', 'intake'],
    groups: ['Retail', 'Merchants', 'Marketplace', 'Partners'],
    months: 30,
    arrivals: 13,
    growth: 0.02,
    legacy: false,
  },
  {
    id: 102,
    name: 'Northwind Exchange',
    features: ['blockchain', 'transactions', 'intake'],
    groups: ['Traders', 'Institutions', 'OTC Desk'],
    months: 26,
    arrivals: 6,
    growth: 0.03,
    legacy: true,
  },
  {
    id: 103,
    name: 'Lakeside Trust',
    features: ['adverse_media'],
    groups: ['Private Clients', 'Foundations'],
    months: 24,
    arrivals: 2,
    growth: 0.01,
    legacy: false,
  },
  {
    id: 104,
    name: 'Blank Slate Bank',
    features: ['adverse_media', 'blockchain', 'transactions', 'intake'],
    groups: [],
    months: 0,
    arrivals: 0,
    growth: 0,
    legacy: false,
  },
];
