import type { S3Spec, SftpSpec } from '../define/target.ts';
import type { DestinationGuard } from './destination-guard.ts';
import { openS3 } from './s3-store.ts';
import type { OpenS3 } from './s3-target.ts';
import { openSftp } from './sftp-session.ts';
import type { OpenSftp } from './sftp-target.ts';

/** Opens a bucket that the organization may deliver to, at no address that is refused. Throws `deliver.target_refused`. */
export const guardedS3 =
  (spec: S3Spec, guard: DestinationGuard): OpenS3 =>
  async (...asked) => {
    guard.requireS3(spec);
    const host = spec.endpoint === undefined ? undefined : new URL(spec.endpoint).hostname;
    return openS3(...asked, host === undefined ? undefined : guard.addresses(host));
  };

/** Opens an SFTP server that the organization may deliver to, at no address that is refused. Throws `deliver.target_refused`. */
export const guardedSftp =
  (spec: SftpSpec, guard: DestinationGuard): OpenSftp =>
  async (...asked) => {
    guard.requireHost(spec.host);
    return openSftp(...asked, guard.addresses(spec.host));
  };
