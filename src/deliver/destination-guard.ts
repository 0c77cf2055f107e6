import { DocketError } from '../base/error.ts';
import { normalizeHost } from '../base/net/private-address.ts';
import {
  bucketRefusal,
  type DestinationRefusal,
  folderRefusal,
  hostRefusal,
  type ReservedFolder,
} from '../definitions/allow-lists/destinations.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import type { AddressPolicy } from './address-guard.ts';

/** What the deployment says of where reports may be delivered to. */
export interface DestinationPolicy {
  /** An organization without `destinations` may deliver nowhere. */
  readonly required: boolean;
  readonly reservedFolders: readonly ReservedFolder[];
  /** false: an SFTP server or S3 endpoint at a private address that is not allowed is only warned of. */
  readonly enforcePrivate: boolean;
  readonly warn: (warning: string) => void;
}

export const UNRESTRICTED_POLICY: DestinationPolicy = {
  required: false,
  reservedFolders: [],
  enforcePrivate: false,
  warn: () => {},
};

/** Where one organization's reports may be delivered to. Each `require…` throws `deliver.target_refused`. */
export interface DestinationGuard {
  /** @param shown what the refusal names */
  assertHost(host: string, shown?: string): void;
  assertBucket(spec: { readonly bucket: string; readonly endpoint?: string | undefined }): void;
  assertFolder(folder: string, workingDirectory: string): Promise<void>;
  /** Of connections to this host. */
  addressPolicy(host: string): AddressPolicy;
}

export function destinationGuard(
  settings: Pick<OrgSettings, 'id' | 'destinations' | 'allow_private'>,
  policy: DestinationPolicy = UNRESTRICTED_POLICY,
): DestinationGuard {
  const assertHost = (host: string, shown = host): void => {
    const refusal = hostRefusal(host, settings, policy);
    if (refusal !== undefined) throwIfRefused({ ...refusal, got: shown });
  };
  return {
    assertHost,
    assertBucket: ({ bucket, endpoint }) => {
      throwIfRefused(bucketRefusal(bucket, settings, policy));
      if (endpoint !== undefined) assertHost(new URL(endpoint).hostname);
    },
    assertFolder: async (folder, workingDirectory) =>
      throwIfRefused(await folderRefusal(folder, settings, policy, workingDirectory)),
    addressPolicy: (host) => ({
      allowPrivate: settings.allow_private === true,
      // The SDK asks other hosts for credentials, which are the deployment's.
      appliesTo: (asked) => normalizeHost(asked) === normalizeHost(host) || asked.endsWith(`.${normalizeHost(host)}`),
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

function throwIfRefused(refusal: DestinationRefusal | undefined): void {
  if (refusal === undefined) return;
  const { message, expected, got, next } = refusal;
  throw new DocketError('deliver.target_refused', `The destination is refused: ${message}.`, {
    expected,
    got,
    next: `${next.charAt(0).toUpperCase()}${next.slice(1)}.`,
  });
}
