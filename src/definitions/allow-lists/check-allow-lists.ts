import { setImmediate } from 'node:timers/promises';
import { DocketError } from '../../base/error.ts';
import { renderPath } from '../../base/files/safe-path.ts';
import { isMetadataHost, isPrivateHost, normalizeHost } from '../../base/net/private-address.ts';
import { sampleVariables } from '../diagnostics/delivery-diagnostics.ts';
import { comparePositions, type Diagnostic } from '../diagnostics/diagnostic.ts';
import type { Definitions } from '../load/load-definitions.ts';
import type { DeliverySpec } from '../schema/deliveries.ts';
import type { OrgSettings } from '../schema/org-settings.ts';
import type { Definition } from '../schema/report-definition.ts';
import { diagnosticAt } from '../yaml/parse-yaml.ts';
import type { ValuePath } from '../yaml/source-file.ts';
import {
  type AllowListRequirement,
  bucketRefusal,
  type DestinationRefusal,
  folderRefusal,
  hostRefusal,
  type ReservedFolder,
} from './destinations.ts';
import { type SecretPolicy, secretAuthorizer, secretRefsIn } from './secrets.ts';

/** What the deployment says of what reports may refer to and where they may be delivered to. */
export interface AllowListPolicy {
  readonly secrets: SecretPolicy;
  readonly destinations: AllowListRequirement & { readonly ownFolders: readonly ReservedFolder[] };
  /** What relative folders are resolved against. */
  readonly workingDirectory: string;
}

export interface AllowListDiagnostics {
  /** A run of the report is refused its secret, or its delivery. */
  readonly errors: readonly Diagnostic[];
  /** What a later version refuses, and this one with DOCKET_REPORT_SCOPE=enforce. */
  readonly warnings: readonly Diagnostic[];
}

const BATCH_SIZE = 100;

interface LocatedRefusal extends DestinationRefusal {
  readonly path: ValuePath;
  readonly enforced: boolean;
}

/** What of the reports that are loaded goes beyond their organization. What only a look-up tells is found by the delivery. */
export async function checkAllowLists(
  jobs: Pick<Definitions, 'orgs' | 'reports' | 'sources'>,
  policy: AllowListPolicy,
): Promise<AllowListDiagnostics> {
  const faults: Diagnostic[] = [];
  const warnings: Diagnostic[] = [];
  const refusalOf = secretAuthorizer([...jobs.orgs.values()], policy.secrets);
  let looked = 0;
  for (const [name, definition] of jobs.reports) {
    looked += 1;
    // A process with ten thousand reports answers others in between.
    if (looked % BATCH_SIZE === 0) await setImmediate();
    const settings = jobs.orgs.get(definition.org);
    const source = jobs.sources.get(name);
    if (settings === undefined || source === undefined) continue;
    for (const { path, enforced, ...refusal } of await refusalsOf(definition, settings, policy, refusalOf)) {
      (enforced ? faults : warnings).push(diagnosticAt(source, path, refusal));
    }
  }
  return { errors: faults.sort(comparePositions), warnings: warnings.sort(comparePositions) };
}

async function refusalsOf(
  definition: Definition,
  settings: OrgSettings,
  policy: AllowListPolicy,
  refusalOf: ReturnType<typeof secretAuthorizer>,
): Promise<LocatedRefusal[]> {
  const found: LocatedRefusal[] = [];
  const { outputs, deliveries } = definition;
  for (const { path, ref } of secretRefsIn({ outputs, deliveries })) {
    const refusal = await refusalOf(ref, settings);
    if (refusal !== undefined) found.push({ path, ...refusal });
  }
  for (const [index, delivery] of deliveries.entries()) {
    for (const { path, ...refusal } of await destinationRefusals(delivery, definition, settings, policy)) {
      found.push({ path: ['deliveries', index, ...path], ...refusal });
    }
  }
  return found;
}

async function destinationRefusals(
  { directory, s3, sftp, webhook }: DeliverySpec,
  definition: Definition,
  settings: OrgSettings,
  { destinations, secrets: { enforce }, workingDirectory }: AllowListPolicy,
): Promise<LocatedRefusal[]> {
  const at = (path: ValuePath, refusal: DestinationRefusal | undefined): LocatedRefusal[] =>
    refusal === undefined ? [] : [{ path, enforced: true, ...refusal }];
  // That a webhook's address is private was found with the file itself.
  const hostAt = (path: ValuePath, host: string, privateIsKnown = false): LocatedRefusal[] => [
    ...at(path, hostRefusal(host, settings, destinations)),
    ...addressRefusals(path, host, privateIsKnown || settings.allow_private === true, enforce),
  ];
  if (directory !== undefined) {
    const folder = fillSampleFolder(directory.path, definition, settings);
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

function addressRefusals(path: ValuePath, name: string, allowPrivate: boolean, enforce: boolean): LocatedRefusal[] {
  const host = normalizeHost(name);
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
function fillSampleFolder(template: string, definition: Definition, settings: OrgSettings): string | undefined {
  const timezone = definition.timezone ?? settings.timezone;
  const { org, report, title } = definition;
  try {
    return renderPath(template, sampleVariables(org, report, title, timezone, ''), 'deliveries[].directory.path');
  } catch (error) {
    if (error instanceof DocketError) return undefined;
    throw error;
  }
}
