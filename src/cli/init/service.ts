import { DocketError, toDocketError } from '../../base/error.ts';
import type { SecretRef } from '../../base/secret.ts';
import { organizationsOf } from '../../compose/organizations.ts';
import { composeCatalogs, type Surroundings } from '../../compose/ports.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { Organization } from '../../contract/organization.ts';
import type { OrgSettings } from '../../define/org.ts';

/** What the key is good for. */
export interface Seen {
  /** Absent: the key is limited to a permission, or nothing could be asked. */
  readonly organizations?: readonly Pick<Organization, 'id' | 'name'>[];
  /** Absent: it may read no metrics, or nothing could be asked. */
  readonly catalog?: Catalog;
  /** Why something of it is not known, for people. */
  readonly faults: readonly DocketError[];
}

/**
 * Asks the service with the key: which organizations it reaches, and its metric catalog, which costs one metrics call.
 * Never throws: what cannot be known is said.
 */
export async function askService(
  { url, key, serviceOrg }: { readonly url: string; readonly key: SecretRef; readonly serviceOrg: number | 'current' },
  around: Surroundings,
  signal: AbortSignal,
): Promise<Seen> {
  const faults: DocketError[] = [];
  const opened = await composeCatalogs({ ...around, config: { ...around.config, COMPLIANCE_API_URL: url } }).catch(
    toDocketError,
  );
  if (opened instanceof DocketError) return { faults: [opened] };
  const { portsOf, catalogOf, scope } = opened;
  const settings: OrgSettings = {
    version: 1,
    // Stands in the line of the key for as long as it is asked.
    id: 'init',
    org: serviceOrg,
    api_key: key,
    timezone: 'UTC',
    recipients: { domains: [], addresses: [] },
  };
  try {
    const organizations = await portsOf(settings)
      .then((ports) => organizationsOf(ports, settings, signal))
      .catch((thrown: unknown) => {
        const error = toDocketError(thrown);
        // Accepted, but limited to a permission: the catalog says the rest.
        if (error.code !== 'api.forbidden') faults.push(error);
      });
    // A key that is refused would be refused again, and a service that is away stays so for this moment.
    if (faults.length > 0) return { faults };
    const catalog = await catalogOf(settings).catch((thrown: unknown) => {
      faults.push(toDocketError(thrown));
    });
    return { ...(organizations ? { organizations } : {}), ...(catalog ? { catalog } : {}), faults };
  } finally {
    await scope.close();
  }
}
