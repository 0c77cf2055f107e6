import { setImmediate } from 'node:timers/promises';
import { DocketError } from '../base/error.ts';
import { fillPath } from '../base/path.ts';
import { canonicalHost, isMetadataHost, isPrivateHost } from '../base/private-address.ts';
import type { Definition } from './definition.ts';
import {
  bucketRefusal,
  folderRefusal,
  hostRefusal,
  type Listing,
  type OwnFolder,
  type Refusal,
} from './destinations.ts';
import { byPosition, type Fault } from './fault.ts';
import type { Jobs } from './load.ts';
import type { OrgSettings } from './org.ts';
import { faultAt } from './parse.ts';
import { type SecretPolicy, secretRefsIn, secretScope } from './secret-scope.ts';
import type { Path } from './source.ts';
import type { DeliverySpec } from './target.ts';
import { sampleVariables } from './target-faults.ts';

/** What the deployment says of what reports may refer to and where they may be delivered to. */
export interface ScopePolicy {
  readonly secrets: SecretPolicy;
  readonly destinations: Listing & { readonly ownFolders: readonly OwnFolder[] };
  /** What relative folders are resolved against. */
  readonly workingDirectory: string;
}

export interface ScopeFaults {
  /** A run of the report is refused its secret, or its delivery. */
  readonly faults: readonly Fault[];
  /** What a later version refuses, and this one with DOCKET_REPORT_SCOPE=enforce. */
  readonly warnings: readonly Fault[];
}

const BATCH_SIZE = 100;

interface Found extends Refusal {
  readonly path: Path;
  readonly enforced: boolean;
}

/** What of the reports that are loaded goes beyond their organization. What only a look-up tells is found by the delivery. */
export async function scopeFaults(
  jobs: Pick<Jobs, 'orgs' | 'reports' | 'sources'>,
  policy: ScopePolicy,
): Promise<ScopeFaults> {
  const faults: Fault[] = [];
  const warnings: Fault[] = [];
  const refusalOf = secretScope([...jobs.orgs.values()], policy.secrets);
  let looked = 0;
  for (const [name, definition] of jobs.reports) {
    looked += 1;
    // A process with ten thousand reports answers others in between.
    if (looked % BATCH_SIZE === 0) await setImmediate();
    const settings = jobs.orgs.get(definition.org);
    const source = jobs.sources.get(name);
    if (settings === undefined || source === undefined) continue;
    for (const { path, enforced, ...refusal } of await refusalsOf(definition, settings, policy, refusalOf)) {
      (enforced ? faults : warnings).push(faultAt(source, path, refusal));
    }
  }
  return { faults: faults.sort(byPosition), warnings: warnings.sort(byPosition) };
}

async function refusalsOf(
  definition: Definition,
  settings: OrgSettings,
  policy: ScopePolicy,
  refusalOf: ReturnType<typeof secretScope>,
): Promise<Found[]> {
  const found: Found[] = [];
  const { outputs, deliveries } = definition;
  for (const { path, ref } of secretRefsIn({ outputs, deliveries })) {
    const refusal = await refusalOf(ref, settings);
    if (refusal !== undefined) found.push({ path, ...refusal });
  }
  for (const [index, delivery] of deliveries.entries()) {
    for (const { path, ...refusal } of await placeRefusals(delivery, definition, settings, policy)) {
      found.push({ path: ['deliveries', index, ...path], ...refusal });
    }
  }
  return found;
}

async function placeRefusals(
  { directory, s3, sftp, webhook }: DeliverySpec,
  definition: Definition,
  settings: OrgSettings,
  { destinations, secrets: { enforce }, workingDirectory }: ScopePolicy,
): Promise<Found[]> {
  const at = (path: Path, refusal: Refusal | undefined): Found[] =>
    refusal === undefined ? [] : [{ path, enforced: true, ...refusal }];
  // That a webhook's address is private was found with the file itself.
  const hostAt = (path: Path, host: string, privateIsKnown = false): Found[] => [
    ...at(path, hostRefusal(host, settings, destinations)),
    ...addressRefusals(path, host, privateIsKnown || settings.allow_private === true, enforce),
  ];
  if (directory !== undefined) {
    const folder = sampleFolder(directory.path, definition, settings);
    const path = ['directory', 'path'];
    return folder === undefined ? [] : at(path, await folderRefusal(folder, settings, destinations, workingDirectory));
  }
  if (s3 !== undefined) {
    const { bucket, endpoint } = s3;
    return [
      ...at(['s3', 'bucket'], bucketRefusal(bucket, settings, destinations)),
      ...(endpoint === undefined ? [] : hostAt(['s3', 'endpoint'], new URL(endpoint).hostname)),
    ];
  }
  if (sftp !== undefined) return hostAt(['sftp', 'host'], sftp.host);
  // Where a URL that is a secret leads to is not for anybody who checks.
  return typeof webhook?.url === 'string' ? hostAt(['webhook', 'url'], new URL(webhook.url).hostname, true) : [];
}

function addressRefusals(path: Path, name: string, allowPrivate: boolean, enforce: boolean): Found[] {
  const host = canonicalHost(name);
  if (isMetadataHost(host)) {
    return [
      {
        path,
        message: 'a delivery to a metadata service',
        expected: 'a host that reports may be sent to',
        got: name,
        next: 'correct the host',
        enforced: true,
      },
    ];
  }
  if (allowPrivate || !isPrivateHost(host)) return [];
  return [
    {
      path,
      message: 'a delivery to a private address',
      expected: 'an address on the public internet',
      got: name,
      next: 'if it is right, write "allow_private: true" into org.yaml',
      enforced: enforce,
    },
  ];
}

/** The folder as a run would name it; undefined for a template that cannot be filled, which is a fault of its own. */
function sampleFolder(template: string, definition: Definition, settings: OrgSettings): string | undefined {
  const timezone = definition.timezone ?? settings.timezone;
  const { org, report, title } = definition;
  try {
    return fillPath(template, sampleVariables(org, report, title, timezone, ''), 'deliveries[].directory.path');
  } catch (error) {
    if (error instanceof DocketError) return undefined;
    throw error;
  }
}
