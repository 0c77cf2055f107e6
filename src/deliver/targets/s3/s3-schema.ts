import { z } from 'zod';
import { renderPath } from '../../../base/files/safe-path.ts';
import { secretRefSchema } from '../../../base/secrets/secret.ts';
import { pathDiagnostics, SAMPLE_FILE_NAMES } from '../../../definitions/diagnostics/delivery-diagnostics.ts';
import { describeValue } from '../../../definitions/diagnostics/diagnostic.ts';
import type { DiagnosticContext, LocatedDiagnostic } from '../../../definitions/schema/kinds.ts';
import { objectKeySchema } from '../../../definitions/schema/template-fields.ts';
import { lineSchema, urlSchema } from '../../../definitions/schema/values/primitives.ts';
import { filesSchema, OVERWRITE_DESCRIPTION } from '../file-target.ts';

export const s3Schema = (formats: readonly string[]) =>
  z.strictObject({
    bucket: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/, 'the name of a bucket')
      .describe('The bucket; it must exist.'),
    key: objectKeySchema
      .default('{{ org }}/{{ report }}/{{ period.from }}/{{ file.name }}')
      .describe('Key of each object, e.g. "acme/{{ period.from }}/{{ file.name }}".'),
    endpoint: urlSchema(['https:', 'http:'])
      .optional()
      .describe('Endpoint of a store other than Amazon S3, e.g. https://minio.acme.example:9000.'),
    region: lineSchema(60)
      .optional()
      .describe('Defaults to AWS_REGION in the environment; us-east-1 with an endpoint.'),
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
      .describe('References. Default: the default chain of the AWS SDK (environment, profile, role of the machine).'),
    encryption: z
      .union([z.literal('AES256'), z.strictObject({ kms_key: lineSchema(2048) })], {
        error: 'AES256, or { kms_key: ARN }',
      })
      .optional()
      .describe('Server-side encryption: AES256, or { kms_key: ARN }. Default: the default of the bucket.'),
    tags: z
      .boolean()
      .default(true)
      .describe('Tags each object with the run (docket-run). false: for a store or a role that may not tag.'),
    public_url: urlSchema(['https:', 'http:'])
      .refine((text) => !URL.canParse(text) || new URL(text).search === '', 'a URL without "?"')
      .optional()
      .describe(
        'Public URL of the bucket, e.g. https://reports.acme.example: e-mails link to files there that are too large to attach. Default: signed links for up to seven days.',
      ),
    files: filesSchema(formats),
    complete_marker: z
      .boolean()
      .optional()
      .describe('true: an empty object _SUCCESS is put last, for programs that wait until all files are there.'),
    overwrite: z.boolean().default(false).describe(OVERWRITE_DESCRIPTION),
  });
export type S3Spec = z.infer<ReturnType<typeof s3Schema>>;

/** Errors in a key template: it cannot be filled, begins with "/", or is the same for several files of a run. */
export function keyDiagnostics(
  { key: template, files }: Pick<S3Spec, 'key' | 'files'>,
  context: DiagnosticContext,
): readonly LocatedDiagnostic[] {
  const path = ['key'];
  const invalid = pathDiagnostics(path, template, context);
  if (invalid.length > 0) return invalid;
  const [key = '', other] = SAMPLE_FILE_NAMES.map((name) => renderPath(template, context.variables(name), 'the path'));
  if (key.startsWith('/')) {
    const expected = 'a key that does not begin with "/"';
    return [{ path, expected, got: describeValue(template), next: 'remove the "/" in front' }];
  }
  if (!context.severalFiles(files) || key !== other) return [];
  return [
    {
      path,
      expected: 'a key of its own for each file of the report',
      got: `${describeValue(template)}, the same for all of them`,
      next: 'put {{ file.name }} into the key',
    },
  ];
}
