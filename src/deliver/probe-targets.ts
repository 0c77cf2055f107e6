import { randomBytes } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DocketError, wordsOf } from '../base/error.ts';
import { fillPath } from '../base/path.ts';
import type { SecretSource } from '../base/secret.ts';
import type { TemplateVariables } from '../base/template.ts';
import {
  type DeliverySpec,
  type S3Spec,
  type SftpSpec,
  sftpServer,
  type WebhookSpec,
  webhookName,
} from '../define/target.ts';
import type { DestinationGuard } from './destination-guard.ts';
import { targetFolder } from './directory-target.ts';
import { writeSynced } from './durable-file.ts';
import { guardedS3, guardedSftp } from './guarded-targets.ts';
import { signingKey } from './webhook-message.ts';
import { reach } from './webhook-request.ts';
import { requireListed, requireOpen, webhookUrl } from './webhook-target.ts';

/** A place that reports are delivered to, and how to try it. */
export interface TargetProbe {
  /** For people, e.g. `S3 s3://reports/acme/`. */
  readonly name: string;
  /**
   * Does what a delivery would need, and leaves nothing behind. Resolves with what was found, in words.
   * Throws `deliver.target_failed`, `deliver.target_refused`, `config.*`, `template.invalid`.
   */
  readonly probe: () => Promise<string>;
}

export interface ProbeContext {
  /** What paths are filled with: those of a run of today. */
  readonly variables: TemplateVariables;
  readonly secrets: SecretSource;
  readonly allowPrivate: boolean;
  readonly guard: DestinationGuard;
  readonly workingDirectory: string;
}

/** Undefined for e-mail, which has a probe of its own. */
export function targetProbe(
  { directory, s3, sftp, webhook }: DeliverySpec,
  context: ProbeContext,
): TargetProbe | undefined {
  if (directory !== undefined) return probeDirectory(directory.path, context);
  if (s3 !== undefined) return probeS3(s3, context);
  if (sftp !== undefined) return probeSftp(sftp, context);
  return webhook === undefined ? undefined : probeWebhook(webhook, context);
}

const probeName = (): string => `.docket-probe-${randomBytes(8).toString('hex')}.tmp`;

const failed = (what: string, said: string, next: string): DocketError =>
  new DocketError('deliver.target_failed', `${what} cannot be used.`, { got: said, next });

/** Tries a folder: what does not exist yet would be made in the nearest one that does. */
/** Of a trial, bytes: a full disk still takes a file without any. */
const PROBE_BYTES = 64 * 1024;

function probeDirectory(template: string, { variables, guard, workingDirectory }: ProbeContext): TargetProbe {
  return {
    name: `Directory ${template}`,
    probe: async () => {
      const filled = fillPath(template, variables, 'deliveries[].directory.path');
      let folder = targetFolder(filled, workingDirectory);
      await guard.requireFolder(folder, workingDirectory);
      while (folder !== dirname(folder) && (await stat(folder).catch(() => undefined)) === undefined)
        folder = dirname(folder);
      const path = join(folder, probeName());
      try {
        await writeSynced(path, new Uint8Array(PROBE_BYTES));
      } catch (error) {
        throw failed(`The directory ${folder}`, wordsOf(error), 'Correct the path, or let Docket write there.');
      } finally {
        await rm(path, { force: true }).catch(() => {});
      }
      return `${folder} can be written`;
    },
  };
}

function probeS3(spec: S3Spec, { variables, secrets, guard }: ProbeContext): TargetProbe {
  return {
    name: `S3 s3://${spec.bucket}/${spec.key}${spec.endpoint === undefined ? '' : ` at ${spec.endpoint}`}`,
    probe: async () => {
      const key = fillPath(spec.key, { ...variables, file: { name: probeName() } }, 'deliveries[].s3.key');
      const store = await guardedS3(spec, guard)(spec, 'doctor', secrets);
      try {
        await store.probe(key);
        return `${spec.bucket} lets us write`;
      } catch (error) {
        const next =
          'Correct the bucket, its region or the credentials; s3:PutObject and s3:AbortMultipartUpload are needed, and s3:PutObjectTagging unless "tags: false".';
        throw failed(`The bucket ${spec.bucket}`, store.failure(error).said, next);
      } finally {
        store.close();
      }
    },
  };
}

function probeSftp(spec: SftpSpec, { variables, secrets, guard }: ProbeContext): TargetProbe {
  const server = sftpServer(spec);
  return {
    name: `SFTP ${server}/${spec.path.replace(/^\//, '')}`,
    probe: async () => {
      const next = 'Correct host, user, host_key and path, or the password or key that the references name.';
      const filled = fillPath(spec.path, variables, 'deliveries[].sftp.path');
      const session = await guardedSftp(spec, guard)(spec, secrets).catch((error: unknown) => {
        throw error instanceof DocketError ? error : failed(`The SFTP server ${server}`, wordsOf(error), next);
      });
      try {
        let folder = filled;
        // What `mkdir` would make is left to the delivery; what is above it must be writable now.
        while (spec.mkdir && (await session.size(folder)) === undefined) {
          const above = folder.replace(/\/?[^/]+\/?$/, '');
          folder = above === '' ? (filled.startsWith('/') ? '/' : '.') : above;
          if (folder === '/' || folder === '.') break;
        }
        const path = `${folder.replace(/\/$/, '')}/${probeName()}`;
        await session.touch(path);
        await session.remove(path);
        return `${server} lets ${spec.user} in and write to ${folder}`;
      } catch (error) {
        throw failed(`The SFTP server ${server}`, `${filled}: ${wordsOf(error)}`, next);
      } finally {
        session.close();
      }
    },
  };
}

/** A webhook is not sent to try it: the connection, its certificate, the address and the form of the key are. */
function probeWebhook(spec: WebhookSpec, { secrets, allowPrivate, guard }: ProbeContext): TargetProbe {
  const name = webhookName(spec);
  return {
    name: `Webhook ${name}`,
    probe: async () => {
      const url = await webhookUrl(spec, secrets);
      signingKey(await secrets(spec.secret));
      requireOpen(url, allowPrivate);
      requireListed(url, spec, guard);
      try {
        await reach(url, { allowPrivate, redact: secrets.redactor.redact });
      } catch (error) {
        throw failed(`The ${name}`, wordsOf(error), 'Correct the URL, or ask whoever runs the receiver.');
      }
      return `${typeof spec.url === 'string' ? url.host : name} can be reached; nothing was posted`;
    },
  };
}
