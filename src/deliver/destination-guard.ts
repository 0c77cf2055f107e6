import { DocketError } from '../base/error.ts';
import { canonicalHost } from '../base/private-address.ts';
import { bucketRefusal, folderRefusal, hostRefusal, type OwnFolder, type Refusal } from '../define/destinations.ts';
import type { OrgSettings } from '../define/org.ts';
import type { S3Spec } from '../define/target.ts';
import type { AddressPolicy } from './guarded-lookup.ts';

/** What the deployment says of where reports may be delivered to. */
export interface DestinationPolicy {
  /** An organization without `destinations` may deliver nowhere. */
  readonly required: boolean;
  readonly ownFolders: readonly OwnFolder[];
  /** false: an SFTP server or S3 endpoint at a private address that is not allowed is only warned of. */
  readonly enforcePrivate: boolean;
  readonly warn: (warning: string) => void;
}

export const OPEN_POLICY: DestinationPolicy = {
  required: false,
  ownFolders: [],
  enforcePrivate: false,
  warn: () => {},
};

/** Where one organization's reports may be delivered to. Each `require…` throws `deliver.target_refused`. */
export interface DestinationGuard {
  /** @param shown what the refusal names */
  requireHost(host: string, shown?: string): void;
  requireS3(spec: Pick<S3Spec, 'bucket' | 'endpoint'>): void;
  requireFolder(folder: string, workingDirectory: string): Promise<void>;
  /** Of connections to this host. */
  addresses(host: string): AddressPolicy;
}

export function destinationGuard(
  settings: Pick<OrgSettings, 'id' | 'destinations' | 'allow_private'>,
  policy: DestinationPolicy = OPEN_POLICY,
): DestinationGuard {
  const requireHost = (host: string, shown = host): void => {
    const refusal = hostRefusal(host, settings, policy);
    if (refusal !== undefined) refuse({ ...refusal, got: shown });
  };
  return {
    requireHost,
    requireS3: ({ bucket, endpoint }) => {
      refuse(bucketRefusal(bucket, settings, policy));
      if (endpoint !== undefined) requireHost(new URL(endpoint).hostname);
    },
    requireFolder: async (folder, workingDirectory) =>
      refuse(await folderRefusal(folder, settings, policy, workingDirectory)),
    addresses: (host) => ({
      allowPrivate: settings.allow_private === true,
      // The SDK asks other hosts for credentials, which are the deployment's.
      concerns: (asked) => canonicalHost(asked) === canonicalHost(host) || asked.endsWith(`.${canonicalHost(host)}`),
      ...(policy.enforcePrivate
        ? {}
        : {
            onPrivate: (asked: string, address: string) =>
              policy.warn(
                `A report of ${settings.id} is delivered to ${asked === address ? asked : `${asked} (${address})`}, a private address; write "allow_private: true" into its org.yaml`,
              ),
          }),
    }),
  };
}

function refuse(refusal: Refusal | undefined): void {
  if (refusal === undefined) return;
  const { message, expected, got, next } = refusal;
  throw new DocketError('deliver.target_refused', `The destination is refused: ${message}.`, {
    expected,
    got,
    next: `${next.charAt(0).toUpperCase()}${next.slice(1)}.`,
  });
}
