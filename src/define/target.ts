import { isIP } from 'node:net';
import { z } from 'zod';
import { secretRefSchema } from '../base/secret.ts';
import { sendIfSchema } from './condition.ts';
import { hostKeySchema } from './host-key.ts';
import { sizeSchema } from './size.ts';
import { csvNameSchema, deliveryTextSchema, objectKeySchema, workbookNameSchema } from './template.ts';
import { lineSchema } from './words.ts';

const csvSchema = z.strictObject({
  values: z
    .enum(['raw', 'formatted'])
    .optional()
    .describe(
      'raw, the default: numbers, ratios from 0 to 1, seconds, ISO dates. formatted: texts as a reader reads them, with their unit.',
    ),
  raw: z
    .boolean()
    .optional()
    .describe(
      'true: texts that begin like a formula stay as they are. Dangerous: a spreadsheet that opens the file runs them. Default false: they get an apostrophe in front.',
    ),
  bom: z
    .boolean()
    .optional()
    .describe(
      'false: no byte order mark at the start, for programs that stumble over it. Default true: Excel needs it.',
    ),
});

export const outputSchema = z.discriminatedUnion('format', [
  z.strictObject({
    format: z.literal('xlsx'),
    name: workbookNameSchema.optional().describe('File name, e.g. "KPIs {{ period.label }}.xlsx".'),
    password: secretRefSchema
      .optional()
      .describe(
        'Encrypts the file (AES-256); a reference, { env: NAME } or { file: PATH }, never the password itself.',
      ),
  }),
  z.strictObject({
    format: z.literal('csv'),
    name: csvNameSchema
      .optional()
      .describe('File name, one file a section, e.g. "{{ section.id }} {{ period.label }}.csv".'),
    csv: csvSchema.optional().describe('How the values are written.'),
  }),
]);
export type Output = z.infer<typeof outputSchema>;
export type CsvOptions = z.infer<typeof csvSchema>;
export type OutputFormat = Output['format'];
export const OUTPUT_FORMATS = ['xlsx', 'csv'] as const satisfies readonly OutputFormat[];

const emailSchema = z.strictObject({
  to: z.array(lineSchema(320)).min(1).max(100).describe("Recipients; each must match the organization's `recipients`."),
  subject: deliveryTextSchema.optional().describe('Defaults to the title and the period.'),
  attach: z
    .array(z.enum(OUTPUT_FORMATS))
    .max(OUTPUT_FORMATS.length)
    .default([])
    .describe('Which of the outputs to attach.'),
  together: z
    .boolean()
    .optional()
    .describe(
      'true: one message that names all recipients; each still has a delivery of its own. Default: one message each.',
    ),
  max_attachment: sizeSchema
    .optional()
    .describe(
      'Files and pictures of a message together, 10MB by default. Larger files become links to an S3 or SFTP delivery of the report or to an archive in a bucket; without one the e-mail is refused.',
    ),
});
const directorySchema = z.strictObject({
  path: deliveryTextSchema.describe('Folder, e.g. "out/{{ period.label }}"; made when it is not there.'),
  overwrite: z
    .boolean()
    .optional()
    .describe('true: replaces a file of that name that has other bytes; otherwise the delivery is refused.'),
});

/** A URL without a user and a password: those are references. */
const urlSchema = (schemes: readonly string[]) =>
  lineSchema(2000).refine(
    (text) => {
      if (!URL.canParse(text)) return false;
      const { protocol, username, password, hash } = new URL(text);
      return schemes.includes(protocol) && username === '' && password === '' && hash === '';
    },
    `a URL, ${schemes.map((scheme) => `${scheme}//…`).join(' or ')}, without user and password`,
  );

const overwriteSchema = z
  .boolean()
  .default(false)
  .describe('true: replaces a file of that name that has other bytes; otherwise the delivery is refused.');

const s3Schema = z.strictObject({
  bucket: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/, 'the name of a bucket')
    .describe('It is not made when it is not there.'),
  key: objectKeySchema
    .default('{{ org }}/{{ report }}/{{ period.from }}/{{ file.name }}')
    .describe('Key of each object, e.g. "acme/{{ period.from }}/{{ file.name }}".'),
  endpoint: urlSchema(['https:', 'http:'])
    .optional()
    .describe('Of a store other than Amazon S3, e.g. https://minio.acme.example:9000.'),
  region: lineSchema(60)
    .optional()
    .describe('Defaults to what the environment says, AWS_REGION; us-east-1 with an endpoint.'),
  path_style: z
    .boolean()
    .optional()
    .describe('true: the bucket in the path, not in the host name. Default: true with an endpoint, false without.'),
  credentials: z
    .strictObject({
      access_key_id: secretRefSchema,
      secret_access_key: secretRefSchema,
      session_token: secretRefSchema.optional(),
    })
    .optional()
    .describe('References. Absent: the default chain of the AWS SDK (environment, profile, role of the machine).'),
  encryption: z
    .union([z.literal('AES256'), z.strictObject({ kms_key: lineSchema(2048) })], {
      error: 'AES256, or { kms_key: ARN }',
    })
    .optional()
    .describe('Server-side encryption: AES256, or { kms_key: ARN }. Absent: as the bucket has it.'),
  tags: z
    .boolean()
    .default(true)
    .describe('Tags each object with the run (docket-run). false: for a store or a role that may not tag.'),
  public_url: urlSchema(['https:', 'http:'])
    .refine((text) => !URL.canParse(text) || new URL(text).search === '', 'a URL without "?"')
    .optional()
    .describe(
      'Where readers of a mail find the keys of the bucket, e.g. https://reports.acme.example: mails link there to files that are too large to attach. Absent: signed links for up to seven days.',
    ),
  overwrite: overwriteSchema,
});

const userSchema = lineSchema(200);
const sftpSchema = z.strictObject({
  host: lineSchema(253).refine(
    (text) => isIP(text) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(text),
    'a host name or address',
  ),
  port: z.int().min(1).max(65_535).default(22),
  user: userSchema,
  password: secretRefSchema.optional(),
  private_key: secretRefSchema.optional().describe('A reference to a private key in OpenSSH or PEM form.'),
  passphrase: secretRefSchema.optional().describe('Of the private key.'),
  host_key: z
    .union([hostKeySchema.transform((only) => [only]), z.array(hostKeySchema).min(1).max(10)], {
      error: 'a fingerprint (SHA256:…) or a line of known_hosts, or a list of them',
    })
    .describe(
      'The server\'s key, pinned: "SHA256:…" as `ssh-keygen -lf` prints it, or a line of known_hosts, or a list.',
    ),
  path: deliveryTextSchema.describe(
    'Folder, e.g. "in/{{ period.label }}"; relative to where the server lets the user in.',
  ),
  mkdir: z.boolean().default(false).describe('true: makes the folder with its parents when it is not there.'),
  overwrite: overwriteSchema,
});

const webhookSchema = z.strictObject({
  url: z
    .union([urlSchema(['https:', 'http:']), secretRefSchema], {
      error: 'a URL, https://…, or a reference to one that is secret, { env: NAME } or { file: PATH }',
    })
    .describe('Where it is posted to; a reference where the URL itself is a secret.'),
  secret: secretRefSchema.describe('A reference to the key of the signature, whsec_… (Standard Webhooks).'),
  idempotent: z
    .boolean()
    .default(false)
    .describe(
      'true: the receiver takes two requests of one webhook-id for one. What was lost on the way is then sent again by itself.',
    ),
});

export const TARGETS = ['email', 'directory', 's3', 'sftp', 'webhook'] as const;
export type TargetKind = (typeof TARGETS)[number];

export const deliverySchema = z
  .strictObject({
    email: emailSchema.optional(),
    directory: directorySchema.optional(),
    s3: s3Schema.optional(),
    sftp: sftpSchema
      .superRefine((sftp, context) => {
        if (context.issues.length > 0) return;
        const given = [sftp.password, sftp.private_key].filter((ref) => ref !== undefined).length;
        if (given !== 1) {
          context.addIssue({
            code: 'custom',
            message: 'either "password" or "private_key"',
            params: {
              got: given === 0 ? 'neither' : 'both',
              next: given === 0 ? 'add one of them' : 'remove one of them',
            },
          });
        } else if (sftp.passphrase !== undefined && sftp.private_key === undefined) {
          context.addIssue({
            code: 'custom',
            path: ['passphrase'],
            message: 'no "passphrase" without a "private_key"',
            params: { next: 'remove it' },
          });
        }
      })
      .optional(),
    webhook: webhookSchema.optional(),
    send_if: sendIfSchema.optional(),
  })
  .superRefine((delivery, context) => {
    // A misspelt target is one fault, not also a missing one.
    if (context.issues.length > 0) return;
    const named = TARGETS.filter((target) => delivery[target] !== undefined);
    if (named.length === 1) return;
    context.addIssue({
      code: 'custom',
      message: `exactly one target (${TARGETS.slice(0, -1).join(', ')} or ${TARGETS.at(-1)}) per entry of the list`,
      params: {
        got: named.length === 0 ? 'none' : named.join(' and '),
        next: named.length === 0 ? 'add one' : 'begin a new entry ("- ") for each',
      },
    });
  });
export type DeliverySpec = z.infer<typeof deliverySchema>;
export type S3Spec = z.infer<typeof s3Schema>;
export type SftpSpec = z.infer<typeof sftpSchema>;
export type WebhookSpec = z.infer<typeof webhookSchema>;

/** Where a webhook goes, without what of its URL may be secret: the query, or all of it when it is a reference. */
export function webhookName({ url }: Pick<WebhookSpec, 'url'>): string {
  if (typeof url === 'string') return new URL(url).origin + new URL(url).pathname;
  return 'env' in url ? `webhook of ${url.env}` : `webhook of ${url.file}`;
}

/** A delivery's address for people, its templates as they are written: an address each, a path, a URL without secrets. */
export function addressesOf({ email, directory, s3, sftp, webhook }: DeliverySpec): readonly string[] {
  if (email !== undefined) return email.to;
  if (directory !== undefined) return [directory.path];
  if (s3 !== undefined) return [`s3://${s3.bucket}/${s3.key}`];
  if (sftp !== undefined) return [`${sftpServer(sftp)}/${sftp.path.replace(/^\//, '')}`];
  return webhook === undefined ? [] : [webhookName(webhook)];
}

/** `sftp://user@host:port`, the port left out when it is 22. */
export const sftpServer = ({ user, host, port }: Pick<SftpSpec, 'user' | 'host' | 'port'>): string =>
  `sftp://${user}@${host.includes(':') ? `[${host}]` : host}${port === 22 ? '' : `:${port}`}`;
