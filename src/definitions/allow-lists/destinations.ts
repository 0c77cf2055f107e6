import { resolve } from 'node:path';
import { z } from 'zod';
import { resolvePath } from '../../base/files/canonical-path.ts';
import { normalizeHost } from '../../base/net/private-address.ts';
import { lineSchema } from '../schema/values/primitives.ts';

const hostSchema = lineSchema(253).refine(
  (text) => /^(\*\.)?[^*/@\s]+$/.test(text) && normalizeHost(text.replace(/^\*\./, '')) !== '',
  'a host name or address, or *.domain.example for all names below a domain',
);

/** The allow-list of destinations, except e-mail, which has `recipients`. */
export const destinationsSchema = z
  .strictObject({
    hosts: z
      .array(hostSchema)
      .default([])
      .describe(
        'Hosts of SFTP servers, webhooks, S3 endpoints, Slack and Teams; *.acme.example for all names below acme.example.',
      ),
    buckets: z
      .array(lineSchema(63))
      .default([])
      .describe('S3 buckets. One at an `endpoint` needs its host in `hosts` too.'),
    folders: z
      .array(lineSchema(1000))
      .default([])
      .describe('Folders of this machine, with all folders below them; from where Docket was started.'),
  })
  .describe(
    'The only places that reports may be delivered to, besides e-mail. Default: any, unless DOCKET_REQUIRE_DESTINATIONS=on.',
  );
export type Destinations = z.infer<typeof destinationsSchema>;

/** A folder that belongs to the deployment, so no report may be delivered into it. */
export interface ReservedFolder {
  readonly path: string;
  readonly includesSubfolders: boolean;
}

/** Why a destination is refused. */
export interface DestinationRefusal {
  readonly message: string;
  readonly expected: string;
  readonly got: string;
  readonly next: string;
}

interface DestinationOwner {
  readonly destinations?: Destinations | undefined;
}

export interface AllowListRequirement {
  /** An organization without `destinations` may not deliver anywhere. */
  readonly required: boolean;
}

function unlistedRefusal(
  kind: keyof Destinations,
  got: string,
  { destinations }: DestinationOwner,
  { required }: AllowListRequirement,
  has: (listed: readonly string[]) => boolean,
): DestinationRefusal | undefined {
  if (destinations === undefined ? !required : has(destinations[kind])) return undefined;
  return {
    message: 'a destination outside the allow-list',
    expected: `one of destinations.${kind} of the organization`,
    got,
    next: `correct it, or ask for it to be added to destinations.${kind} in the organization's org.yaml`,
  };
}

function matchesHost(host: string, pattern: string): boolean {
  const name = normalizeHost(host);
  if (!pattern.startsWith('*.')) return name === normalizeHost(pattern);
  return name.endsWith(`.${normalizeHost(pattern.slice(2))}`);
}

export const hostRefusal = (
  host: string,
  org: DestinationOwner,
  requirement: AllowListRequirement,
): DestinationRefusal | undefined =>
  unlistedRefusal('hosts', host, org, requirement, (listed) => listed.some((pattern) => matchesHost(host, pattern)));

export const bucketRefusal = (
  bucket: string,
  org: DestinationOwner,
  requirement: AllowListRequirement,
): DestinationRefusal | undefined =>
  unlistedRefusal('buckets', bucket, org, requirement, (listed) => listed.includes(bucket));

/**
 * @param folder with its template filled
 * @param workingDirectory relative folders are resolved against it
 */
export async function folderRefusal(
  folder: string,
  org: DestinationOwner,
  { reservedFolders, ...requirement }: AllowListRequirement & { readonly reservedFolders: readonly ReservedFolder[] },
  workingDirectory: string,
): Promise<DestinationRefusal | undefined> {
  const resolved = await resolvePath(resolve(workingDirectory, folder));
  for (const reserved of reservedFolders) {
    const isReserved = reserved.includesSubfolders ? resolved.isInside(reserved.path) : resolved.isSame(reserved.path);
    if (!(await isReserved)) continue;
    return {
      message: 'a delivery into a reserved folder',
      expected: 'a folder that holds no definitions, archive, secrets or state of Docket',
      got: folder,
      next: 'name another folder',
    };
  }
  const folders = org.destinations?.folders ?? [];
  const matches = await Promise.all(folders.map((listed) => resolved.isInside(resolve(workingDirectory, listed))));
  return unlistedRefusal('folders', folder, org, requirement, () => matches.includes(true));
}
