import { isIP } from 'node:net';
import { z } from 'zod';
import { secretRefSchema } from '../../../base/secrets/secret.ts';
import { deliveryTextSchema } from '../../../definitions/schema/template-fields.ts';
import { lineSchema } from '../../../definitions/schema/values/primitives.ts';
import { filesSchema, OVERWRITE_DESCRIPTION } from '../file-target.ts';
import { hostKeySchema } from './host-key.ts';

export const sftpSchema = (formats: readonly string[]) =>
  z
    .strictObject({
      host: lineSchema(253).refine(
        (text) => isIP(text) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(text),
        'a host name or address',
      ),
      port: z.int().min(1).max(65_535).default(22),
      user: lineSchema(200),
      password: secretRefSchema.optional(),
      private_key: secretRefSchema.optional().describe('A reference to a private key in OpenSSH or PEM form.'),
      passphrase: secretRefSchema.optional().describe('Passphrase of the private key.'),
      host_key: z
        .union([hostKeySchema.transform((only) => [only]), z.array(hostKeySchema).min(1).max(10)], {
          error: 'a fingerprint (SHA256:…) or a line of known_hosts, or a list of them',
        })
        .describe(
          'The server\'s key, pinned: "SHA256:…" as `ssh-keygen -lf` prints it, or a line of known_hosts, or a list.',
        ),
      path: deliveryTextSchema.describe(
        'Folder, e.g. "in/{{ period.label }}"; relative to the folder in which the session starts.',
      ),
      mkdir: z.boolean().default(false).describe('true: creates the folder and its parents if they do not exist.'),
      files: filesSchema(formats),
      overwrite: z.boolean().default(false).describe(OVERWRITE_DESCRIPTION),
    })
    .superRefine(({ password, private_key, passphrase }, context) => {
      if (context.issues.length > 0) return;
      const given = [password, private_key].filter((ref) => ref !== undefined).length;
      if (given !== 1) {
        context.addIssue({
          code: 'custom',
          message: 'either "password" or "private_key"',
          params: {
            got: given === 0 ? 'neither' : 'both',
            next: given === 0 ? 'add one of them' : 'remove one of them',
          },
        });
      } else if (passphrase !== undefined && private_key === undefined) {
        context.addIssue({
          code: 'custom',
          path: ['passphrase'],
          message: 'no "passphrase" without a "private_key"',
          params: { next: 'remove it' },
        });
      }
    });
export type SftpSpec = z.infer<ReturnType<typeof sftpSchema>>;

/** `sftp://user@host:port`, without port 22. */
export const sftpServerUrl = ({ user, host, port }: Pick<SftpSpec, 'user' | 'host' | 'port'>): string =>
  `sftp://${user}@${host.includes(':') ? `[${host}]` : host}${port === 22 ? '' : `:${port}`}`;

/** The URL of a folder, whether its path is absolute or relative to the login directory. */
export const sftpFolderUrl = (spec: SftpSpec, folder: string): string =>
  `${sftpServerUrl(spec)}/${folder.replace(/^\//, '')}`;
