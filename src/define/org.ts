import { z } from 'zod';
import { secretRefSchema } from '../base/secret.ts';

/** `jobs/<org>/org.yaml`: who the organization is at the API, its key by reference, and who may receive its reports. */
export const orgFileSchema = z.strictObject({
  version: z.literal(1).default(1),
  name: z.string().min(1).max(200).optional().describe('How reports name it; defaults to the folder.'),
  org: z
    .union([z.int().positive(), z.literal('current')])
    .describe("The organization's id at the API, or `current`: the organization of the API key."),
  api_key: secretRefSchema,
  timezone: z.string().describe('IANA zone of periods and schedules.'),
  recipients: z
    .strictObject({
      domains: z.array(z.string()).default([]),
      addresses: z.array(z.string()).default([]),
    })
    .describe("The only recipients that may get this organization's reports."),
  smtp: z
    .strictObject({ url: secretRefSchema, from: z.string().optional() })
    .optional()
    .describe('A mail server of its own; defaults to SMTP_URL and MAIL_FROM.'),
  calendar: z.unknown().optional(),
  budget: z
    .strictObject({
      calls: z.int().min(1).optional().describe('Calls a window; 30 by default.'),
      window: z.number().positive().optional().describe('Seconds; 60 by default.'),
    })
    .optional(),
});
export type OrgFile = z.infer<typeof orgFileSchema>;

export interface OrgSettings extends OrgFile {
  /** The folder under `jobs/`: the organization's name in Docket. */
  readonly id: string;
}
