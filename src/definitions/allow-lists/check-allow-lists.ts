import { setImmediate } from 'node:timers/promises';
import { DocketError } from '../../base/error.ts';
import { renderPath } from '../../base/files/safe-path.ts';
import { isMetadataHost, isPrivateHost, normalizeHost } from '../../base/net/private-address.ts';
import { sampleVariables } from '../diagnostics/delivery-diagnostics.ts';
import { comparePositions, type Diagnostic } from '../diagnostics/diagnostic.ts';
import type { Definitions } from '../load/load-definitions.ts';
import { type DefinitionKinds, type Destination, describeDelivery } from '../schema/kinds.ts';
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

/** Deployment-wide rules for secrets and destinations of reports. */
export interface AllowListPolicy {
  readonly secrets: SecretPolicy;
  readonly destinations: AllowListRequirement & { readonly reservedFolders: readonly ReservedFolder[] };
  /** Relative folders are resolved against it. */
  readonly workingDirectory: string;
}

export interface AllowListDiagnostics {
  /** Reasons to refuse a run its secret, or its delivery. */
  readonly errors: readonly Diagnostic[];
  /** Allowed only because of DOCKET_REPORT_SCOPE=warn. */
  readonly warnings: readonly Diagnostic[];
}

const BATCH_SIZE = 100;

interface LocatedRefusal extends DestinationRefusal {
  readonly path: ValuePath;
  readonly enforced: boolean;
}

/**
 * Finds secrets and destinations of the loaded reports that their organization may not use. DNS is checked at delivery
 * time.
 */
export async function checkAllowLists(
  jobs: Pick<Definitions, 'orgs' | 'reports' | 'sources'>,
  policy: AllowListPolicy,
  kinds: Pick<DefinitionKinds, 'targets'>,
): Promise<AllowListDiagnostics> {
  const errors: Diagnostic[] = [];
  const warnings: Diagnostic[] = [];
  const refusalOf = secretAuthorizer([...jobs.orgs.values()], policy.secrets);
  let checked = 0;
  for (const [name, definition] of jobs.reports) {
    checked += 1;
    // Without a pause, ten thousand reports would block the event loop.
    if (checked % BATCH_SIZE === 0) await setImmediate();
    const settings = jobs.orgs.get(definition.org);
    const source = jobs.sources.get(name);
    if (settings === undefined || source === undefined) continue;
    for (const { path, enforced, ...refusal } of await collectRefusals(
      definition,
      settings,
      policy,
      refusalOf,
      kinds,
    )) {
      (enforced ? errors : warnings).push(diagnosticAt(source, path, { code: 'scope.not_allowed', ...refusal }));
    }
  }
  return { errors: errors.sort(comparePositions), warnings: warnings.sort(comparePositions) };
}

async function collectRefusals(
  definition: Definition,
  settings: OrgSettings,
  policy: AllowListPolicy,
  refusalOf: ReturnType<typeof secretAuthorizer>,
  { targets }: Pick<DefinitionKinds, 'targets'>,
): Promise<LocatedRefusal[]> {
  const found: LocatedRefusal[] = [];
  const { outputs, deliveries } = definition;
  for (const { path, ref } of secretRefsIn({ outputs, deliveries })) {
    const refusal = await refusalOf(ref, settings);
    if (refusal !== undefined) found.push({ path, ...refusal });
  }
  for (const [index, delivery] of deliveries.entries()) {
    const { kind, destinations = [] } = describeDelivery(delivery, targets);
    for (const destination of destinations) {
      for (const { path, ...refusal } of await destinationRefusals(destination, definition, settings, policy)) {
        found.push({ path: ['deliveries', index, kind, ...path], ...refusal });
      }
    }
  }
  return found;
}

async function destinationRefusals(
  destination: Destination,
  definition: Definition,
  settings: OrgSettings,
  { destinations, secrets: { enforce }, workingDirectory }: AllowListPolicy,
): Promise<LocatedRefusal[]> {
  const { path } = destination;
  const located = (refusal: DestinationRefusal | undefined): LocatedRefusal[] =>
    refusal === undefined ? [] : [{ path, enforced: true, ...refusal }];
  if ('bucket' in destination) return located(bucketRefusal(destination.bucket, settings, destinations));
  if ('folder' in destination) {
    const folder = fillSampleFolder(destination.folder, definition, settings);
    return folder === undefined ? [] : located(await folderRefusal(folder, settings, destinations, workingDirectory));
  }
  const { host, privateReported = false } = destination;
  return [
    ...located(hostRefusal(host, settings, destinations)),
    ...addressRefusals(path, host, privateReported || settings.allow_private === true, enforce),
  ];
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

/** The folder that a run would use; undefined for a template that cannot be filled, which is reported elsewhere. */
function fillSampleFolder(template: string, definition: Definition, settings: OrgSettings): string | undefined {
  const timezone = definition.timezone ?? settings.timezone;
  const { org, report, title } = definition;
  try {
    return renderPath(template, sampleVariables(org, report, title, timezone, ''), 'the path');
  } catch (error) {
    if (error instanceof DocketError) return undefined;
    throw error;
  }
}
