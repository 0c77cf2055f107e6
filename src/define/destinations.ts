import { resolve } from 'node:path';
import { z } from 'zod';
import { isSameFolder, isWithin } from '../base/canonical-path.ts';
import { canonicalHost } from '../base/private-address.ts';
import type { OrgSettings } from './org.ts';
import { lineSchema } from './words.ts';

const hostSchema = lineSchema(253).refine(
  (text) => /^(\*\.)?[^*/@\s]+$/.test(text) && canonicalHost(text.replace(/^\*\./, '')) !== '',
  'a host name or address, or *.domain.example for all names below a domain',
);

/** The only places that an organization's reports may be delivered to, beside e-mail, which has `recipients`. */
export const destinationsSchema = z
  .strictObject({
    hosts: z
      .array(hostSchema)
      .default([])
      .describe('Hosts of SFTP servers, webhooks and S3 endpoints; *.acme.example for all names below acme.example.'),
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
    'The only places that reports may be delivered to, beside e-mail. Absent: any, unless DOCKET_REQUIRE_DESTINATIONS=on.',
  );
export type Destinations = z.infer<typeof destinationsSchema>;

/** A folder of the deployment that no report is delivered into. `within`: nor into the folders below it. */
export interface OwnFolder {
  readonly path: string;
  readonly within: boolean;
}

/** Why a report may not be delivered to a place. */
export interface Refusal {
  readonly message: string;
  readonly expected: string;
  readonly got: string;
  readonly next: string;
}

type Of = Pick<OrgSettings, 'destinations'>;

/** `required`: an organization without `destinations` may deliver nowhere. */
export interface Listing {
  readonly required: boolean;
}

function unlisted(
  kind: keyof Destinations,
  got: string,
  { destinations }: Of,
  { required }: Listing,
  has: (listed: readonly string[]) => boolean,
): Refusal | undefined {
  if (destinations === undefined ? !required : has(destinations[kind])) return undefined;
  return {
    message: 'a destination outside the allow-list',
    expected: `one of destinations.${kind} of the organization`,
    got,
    next: `correct it, or have it added to destinations.${kind} in the organization's org.yaml`,
  };
}

function matches(host: string, pattern: string): boolean {
  const name = canonicalHost(host);
  if (!pattern.startsWith('*.')) return name === canonicalHost(pattern);
  return name.endsWith(`.${canonicalHost(pattern.slice(2))}`);
}

export const hostRefusal = (host: string, of: Of, listing: Listing): Refusal | undefined =>
  unlisted('hosts', host, of, listing, (listed) => listed.some((pattern) => matches(host, pattern)));

export const bucketRefusal = (bucket: string, of: Of, listing: Listing): Refusal | undefined =>
  unlisted('buckets', bucket, of, listing, (listed) => listed.includes(bucket));

/** @param folder filled; @param workingDirectory what relative folders are resolved against */
export async function folderRefusal(
  folder: string,
  of: Of,
  { ownFolders, ...listing }: Listing & { readonly ownFolders: readonly OwnFolder[] },
  workingDirectory: string,
): Promise<Refusal | undefined> {
  const path = resolve(workingDirectory, folder);
  for (const own of ownFolders) {
    if (!(await (own.within ? isWithin(path, own.path) : isSameFolder(path, own.path)))) continue;
    return {
      message: "a delivery into a folder of Docket's own",
      expected: 'a folder that holds no definitions, archive, secrets or state of Docket',
      got: folder,
      next: 'name another folder',
    };
  }
  const folders = of.destinations?.folders ?? [];
  const inside = await Promise.all(folders.map((listed) => isWithin(path, resolve(workingDirectory, listed))));
  return unlisted('folders', folder, of, listing, () => inside.includes(true));
}
