import { z } from 'zod';
import { secretRefSchema } from '../../base/secrets/secret.ts';
import { destinationsSchema } from '../allow-lists/destinations.ts';
import { addressKey, canonicalDomain } from '../allow-lists/recipients.ts';
import { secretsSchema } from '../allow-lists/secrets.ts';
import { fiscalYearSchema, weekStartSchema } from '../periods/fiscal-calendar.ts';
import { calendarSchema } from '../schedules/calendar.ts';
import { readingsSchema } from './readings.ts';
import { peopleSchema } from './review.ts';
import { targetListSchema } from './targets.ts';
import { durationSchema } from './values/durations.ts';
import { lineSchema, localeSchema, printedLineSchema, zoneSchema } from './values/primitives.ts';
import { labelsSchema, unitsSchema } from './values/units.ts';

const addressSchema = z
  .string()
  .refine((text) => addressKey(text) !== undefined, 'a plain e-mail address, name@domain.example');
const domainSchema = z
  .string()
  .refine((text) => canonicalDomain(text) !== undefined, 'a domain such as acme.example (no "@", no wildcard)');

export const classificationSchema = printedLineSchema(40).describe(
  'Shown on the first page, on each printed page and in e-mails, e.g. Confidential.',
);

const tokenUrlSchema = lineSchema(2000).refine((text) => {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return protocol === 'https:' && username === '' && password === '';
}, 'a URL, https://…, without user and password');

/** SMTP settings that override SMTP_URL and MAIL_FROM. */
const smtpSchema = z
  .strictObject({
    url: secretRefSchema.optional().describe('Mail server, smtp://… or smtps://…; defaults to SMTP_URL.'),
    from: addressSchema.optional().describe('Sender; defaults to MAIL_FROM.'),
    oauth2: z
      .strictObject({
        user: lineSchema(320).describe('The mailbox to authenticate as.'),
        token_url: tokenUrlSchema.describe('Token endpoint, e.g. https://oauth2.googleapis.com/token.'),
        client_id: secretRefSchema,
        client_secret: secretRefSchema.optional(),
        refresh_token: secretRefSchema
          .optional()
          .describe('Default: the client_credentials grant, which needs client_secret.'),
        scope: lineSchema(500).optional().describe('Scope of the token request.'),
      })
      .refine(({ client_secret, refresh_token }) => client_secret !== undefined || refresh_token !== undefined, {
        message: '"refresh_token" or "client_secret"',
        params: { next: 'add one of them' },
      })
      .optional()
      .describe('Authenticates with an access token (XOAUTH2) instead of a password in the URL.'),
    dkim: z
      .strictObject({
        domain: z
          .string()
          .refine((text) => canonicalDomain(text) === text, 'a domain such as acme.example, in lower case'),
        selector: z
          .string()
          .regex(
            /^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/,
            'the selector of the key',
          ),
        key: secretRefSchema.describe('A reference to an RSA private key in PEM form.'),
      })
      .optional()
      .describe('Signs every message (DKIM). The public key is published at <selector>._domainkey.<domain>.'),
  })
  .superRefine(({ url, oauth2 }, context) => {
    if (url !== undefined || oauth2 === undefined) return;
    context.addIssue({
      code: 'custom',
      path: ['oauth2'],
      message: 'no "oauth2" without a "url": a token is for one mail server',
      params: { next: 'add url' },
    });
  })
  .describe('SMTP settings that override SMTP_URL and MAIL_FROM.');

/** In seconds. */
const MAX_DATA_READY_S = 24 * 3600;
const DEFAULT_DATA_READY = '70m';

/** How long after the end of a day its figures are complete, in ms. */
export const dataReadyMs = ({ data_ready = 70 * 60 }: Pick<OrgSettings, 'data_ready'>): number => data_ready * 1000;

/** Below this number of cases a figure has "few cases", unless org.yaml sets another number. */
export const DEFAULT_SMALL = 10;

/** `jobs/<org>/org.yaml`: the organization at the API, a reference to its key, and the allowed recipients. */
export const orgFileSchema = z.strictObject({
  version: z.literal(1).default(1),
  name: printedLineSchema(200).optional().describe('Display name in reports; defaults to the folder.'),
  logo: lineSchema(1000)
    .optional()
    .describe('A PNG or JPEG beside this file, for the first page of packs and for e-mails; up to 512 KB.'),
  classification: classificationSchema.optional(),
  org: z
    .union([z.int().positive(), z.literal('current')], { error: "the organization's number at the API, or current" })
    .describe("The organization's id at the API, or `current`: the organization of the API key."),
  api_key: secretRefSchema,
  timezone: zoneSchema.describe('IANA zone of periods and schedules.'),
  locale: localeSchema.optional(),
  recipients: z
    .strictObject({
      domains: z
        .array(domainSchema)
        .default([])
        .describe('Every address of exactly these domains, not of their subdomains.'),
      addresses: z.array(addressSchema).default([]),
    })
    .describe("The only recipients that may get this organization's reports."),
  smtp: smtpSchema.optional(),
  allow_private: z
    .boolean()
    .optional()
    .describe(
      'true: SFTP, S3 endpoints, webhooks, Slack and Teams may go to private addresses (this machine, 10.0.0.0/8, …), HTTP also without TLS. Default: refused.',
    ),
  secrets: secretsSchema.optional(),
  destinations: destinationsSchema.optional(),
  on_unknown: z
    .enum(['hold', 'resend'])
    .optional()
    .describe(
      'Uncertain deliveries: hold (default) waits for a decision (`docket deliveries`); resend sends once more, with the same Message-ID.',
    ),
  retention_days: z
    .int()
    .min(7, '7 days or more: until then a missed slot may still be caught up')
    .max(36_500)
    .optional()
    .describe('Days after which runs are deleted from the archive; DOCKET_ARCHIVE_DAYS by default, else never.'),
  calendar: calendarSchema.optional().describe('Business days, for `on` and `shift` of schedules.'),
  fiscal_year_start: fiscalYearSchema.optional(),
  week_start: weekStartSchema.optional(),
  readings: readingsSchema.optional(),
  data_ready: durationSchema('seconds, or a number with its unit such as 70m or 3h; at most 24h', 0, MAX_DATA_READY_S)
    .optional()
    .describe(
      `How long after a day ends its figures are complete at the service. Calls with \`prepare\` are not made before. ${DEFAULT_DATA_READY} by default: the service may return a cached response for an hour.`,
    ),
  units: unitsSchema.optional(),
  labels: labelsSchema.optional(),
  small: z
    .int()
    .min(2, 'a whole number from 2 to 50')
    .max(50, 'a whole number from 2 to 50')
    .optional()
    .describe(
      `Ratios and durations with fewer cases are grey and show the number of cases; changes with fewer cases are not judged. ${DEFAULT_SMALL} by default.`,
    ),
  bases: z
    .record(lineSchema(200), lineSchema(200))
    .optional()
    .describe(
      'The count of the cases behind a ratio or a duration, by metric: another metric, or none. Adds to what Docket knows and corrects it.',
    ),
  people: peopleSchema.optional(),
  budget: z
    .strictObject({
      calls: z.int().min(1).max(10_000).optional().describe('Calls per window; 30 by default.'),
      window: z.number().positive('more than 0 seconds').max(3600).optional().describe('Seconds; 60 by default.'),
    })
    .optional()
    .describe('Rate limit of the API key, if it differs from 30 metrics calls a minute.'),
});
export type OrgFile = z.infer<typeof orgFileSchema>;

/** Settings as they are stored: `org.yaml`, and what other files in its folder add. */
export const storedOrgSchema = orgFileSchema.extend({ targets: targetListSchema.optional() });

/**
 * A validated `org.yaml` with the targets from `targets.yaml`. It contains references to secrets, never their values.
 * Its `logo` is relative to the working directory, not to the file.
 */
export interface OrgSettings extends z.infer<typeof storedOrgSchema> {
  /** The name of the folder in `jobs/`, which is the organization's id in Docket. */
  readonly id: string;
}
