import { z } from 'zod';
import { secretRefSchema } from '../base/secret.ts';
import { addressKey, canonicalDomain } from './recipients.ts';
import { lineSchema, notYet } from './words.ts';
import { zoneSchema } from './zone.ts';

const addressSchema = z
  .string()
  .refine((text) => addressKey(text) !== undefined, 'a plain e-mail address, name@domain.example');
const domainSchema = z
  .string()
  .refine((text) => canonicalDomain(text) !== undefined, 'a domain such as acme.example (no "@", no wildcard)');

/** Who may read what is printed, e.g. `Confidential`. */
export const classificationSchema = lineSchema(40).describe(
  'Printed on the cover and in the footer of each page of a workbook, e.g. Confidential.',
);

/** `jobs/<org>/org.yaml`: who the organization is at the API, its key by reference, and who may receive its reports. */
export const orgFileSchema = z.strictObject({
  version: z.literal(1).default(1),
  name: lineSchema(200).optional().describe('How reports name it; defaults to the folder.'),
  logo: lineSchema(1000)
    .optional()
    .describe('A PNG or JPEG beside this file, for the cover of workbooks; up to 512 KB.'),
  classification: classificationSchema.optional(),
  org: z
    .union([z.int().positive(), z.literal('current')], { error: "the organization's number at the API, or current" })
    .describe("The organization's id at the API, or `current`: the organization of the API key."),
  api_key: secretRefSchema,
  timezone: zoneSchema.describe('IANA zone of periods and schedules.'),
  recipients: z
    .strictObject({
      domains: z
        .array(domainSchema)
        .default([])
        .describe('Every address of exactly these domains, not of their subdomains.'),
      addresses: z.array(addressSchema).default([]),
    })
    .describe("The only recipients that may get this organization's reports."),
  smtp: z
    .strictObject({ url: secretRefSchema, from: addressSchema.optional() })
    .optional()
    .describe('A mail server of its own; defaults to SMTP_URL and MAIL_FROM.'),
  allow_private: z
    .boolean()
    .optional()
    .describe(
      'true: webhooks may go to private addresses (this machine, 10.0.0.0/8, …) and over http. Default: refused.',
    ),
  calendar: notYet('a business calendar is'),
  budget: z
    .strictObject({
      calls: z.int().min(1).max(10_000).optional().describe('Calls a window; 30 by default.'),
      window: z.number().positive('more than 0 seconds').max(3600).optional().describe('Seconds; 60 by default.'),
    })
    .optional()
    .describe("The API key's rate, where the service grants another than 30 metrics calls a minute."),
});
export type OrgFile = z.infer<typeof orgFileSchema>;

/**
 * A validated `org.yaml`. It holds references to secrets, never values. Its `logo` is a path from where Docket was
 * started, no longer from the file.
 */
export interface OrgSettings extends OrgFile {
  /** The folder under `jobs/`: the organization's name in Docket. */
  readonly id: string;
}
