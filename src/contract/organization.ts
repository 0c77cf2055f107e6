import { z } from 'zod';

/**
 * An organization (specification §2.1). Only fields that Docket reads are required. The `*_url` links and the
 * timestamps are kept unchanged.
 */
export const organizationSchema = z.looseObject({
  id: z.int(),
  name: z.string(),
  url: z.string().optional(),
  image: z.string().nullish(),
  profiles_url: z.string().optional(),
  blockchain_addresses_url: z.string().optional(),
  alerts_url: z.string().optional(),
  members_url: z.string().optional(),
  api_keys_url: z.string().optional(),
  created_at: z.string().optional(),
  updated_at: z.string().optional(),
});
export type Organization = z.infer<typeof organizationSchema>;

/**
 * A record of a list. It has at least an id, and a profile also has a name (specification §2.2). All other fields are
 * kept.
 */
export const recordSchema = z.looseObject({ id: z.union([z.int(), z.string()]) });
export type ListRecord = z.infer<typeof recordSchema>;

/** One page of a list of an organization (specification §2.3). */
export const pageSchema = z.looseObject({
  count: z.int().min(0),
  next: z.string().nullable(),
  previous: z.string().nullish(),
  results: z.array(recordSchema),
});

/** A list response: an envelope or a plain array (specification §2.3). */
export const listBodySchema = z.union([z.array(recordSchema), pageSchema]);

/** `{org_id}` in paths, or the literal `current`, which is the organization of the API key (specification §4). */
export type OrgRef = number | 'current';

export const PATHS = {
  organizations: '/api/orgs/',
  list: (org: number, list: string) => `/api/orgs/${org}/${list}/`,
  catalog: (org: OrgRef) => `/api/orgs/${org}/analytics/metrics/`,
  report: (org: OrgRef) => `/api/orgs/${org}/analytics/report/`,
} as const;
