import { DocketError } from '../base/error.ts';
import { normalizeHost } from '../base/net/private-address.ts';
import { type FindProxy, NO_PROXIES } from '../base/net/proxies.ts';
import {
  bucketRefusal,
  type DestinationRefusal,
  folderRefusal,
  hostRefusal,
  type ReservedFolder,
} from '../definitions/allow-lists/destinations.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import type { AddressPolicy } from './internal/address-guard.ts';

/** The deployment's rules for destinations. */
export interface DestinationPolicy {
  /** Whether an organization needs `destinations` before it can deliver at all. */
  readonly required: boolean;
  readonly reservedFolders: readonly ReservedFolder[];
  /** false: an SFTP server or S3 endpoint at a private address that is not allowed only causes a warning. */
  readonly enforcePrivate: boolean;
  readonly warn: (warning: string) => void;
  /** The HTTP proxies of the deployment; absent: none. */
  readonly findProxy?: FindProxy;
}

const UNRESTRICTED_POLICY: DestinationPolicy = {
  required: false,
  reservedFolders: [],
  enforcePrivate: false,
  warn: () => {},
};

/** Checks the destinations of one organization. Each `assert…` throws `deliver.target_refused`. */
export function destinationGuard(
  settings: Pick<OrgSettings, 'id' | 'destinations' | 'allow_private'>,
  policy: DestinationPolicy = UNRESTRICTED_POLICY,
) {
  /** @param displayName the host's name in the error */
  const assertHost = (host: string, displayName = host): void => {
    const refusal = hostRefusal(host, settings, policy);
    if (refusal !== undefined) throwIfRefused({ ...refusal, got: displayName });
  };
  return {
    findProxy: policy.findProxy ?? NO_PROXIES,
    assertHost,
    assertBucket: ({ bucket, endpoint }: { readonly bucket: string; readonly endpoint?: string | undefined }): void => {
      throwIfRefused(bucketRefusal(bucket, settings, policy));
      if (endpoint !== undefined) assertHost(new URL(endpoint).hostname);
    },
    assertFolder: async (folder: string, workingDirectory: string): Promise<void> =>
      throwIfRefused(await folderRefusal(folder, settings, policy, workingDirectory)),
    /** For connections to this host. */
    addressPolicy: (host: string): AddressPolicy => ({
      allowPrivate: settings.allow_private === true,
      // The SDK gets the deployment's credentials from other hosts.
      appliesTo: (other) => normalizeHost(other) === normalizeHost(host) || other.endsWith(`.${normalizeHost(host)}`),
      ...(policy.enforcePrivate
        ? {}
        : {
            onPrivate: (connected: string, address: string) =>
              policy.warn(
                `A report of ${settings.id} is delivered to ${connected === address ? connected : `${connected} (${address})`}, a private address; set "allow_private: true" in its org.yaml`,
              ),
          }),
    }),
  };
}

export type DestinationGuard = ReturnType<typeof destinationGuard>;

function throwIfRefused(refusal: DestinationRefusal | undefined): void {
  if (refusal === undefined) return;
  const { message, expected, got, next } = refusal;
  throw new DocketError('deliver.target_refused', `The destination is refused: ${message}.`, {
    expected,
    got,
    next: `${next.charAt(0).toUpperCase()}${next.slice(1)}.`,
  });
}
