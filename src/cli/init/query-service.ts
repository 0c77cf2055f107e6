import type { AppContext } from '../../base/context.ts';
import { DocketError, toDocketError } from '../../base/error.ts';
import type { SecretRef } from '../../base/secrets/secret.ts';
import { composeCatalogs } from '../../compose/run-ports.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { Organization } from '../../contract/organization.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import { listOrganizations } from '../../services/budgets/list-organizations.ts';

/** What the service says about a key. */
export interface ServiceInfo {
  /** Absent if the key is restricted, or the service could not be queried. */
  readonly organizations?: readonly Pick<Organization, 'id' | 'name'>[];
  /** Absent if the key cannot read metrics, or the service could not be queried. */
  readonly catalog?: Catalog;
  /** The errors that explain why parts are absent. */
  readonly errors: readonly DocketError[];
}

/**
 * Lists the organizations that the key can access, and fetches its metric catalog, which costs one metrics call.
 * Returns errors of the service instead of throwing them.
 */
export async function queryService(
  { url, key, serviceOrg }: { readonly url: string; readonly key: SecretRef; readonly serviceOrg: number | 'current' },
  context: AppContext,
  signal: AbortSignal,
): Promise<ServiceInfo> {
  const errors: DocketError[] = [];
  const opened = await composeCatalogs({ ...context, config: { ...context.config, COMPLIANCE_API_URL: url } }).catch(
    toDocketError,
  );
  if (opened instanceof DocketError) return { errors: [opened] };
  const { buildRunPorts, catalogOf, scope } = opened;
  const settings: OrgSettings = {
    version: 1,
    // This name appears in the key's queue of the rate limiter meanwhile.
    id: 'init',
    org: serviceOrg,
    api_key: key,
    timezone: 'UTC',
    recipients: { domains: [], addresses: [] },
  };
  try {
    const organizations = await buildRunPorts(settings)
      .then((ports) => listOrganizations(ports, settings, signal))
      .catch((thrown: unknown) => {
        const error = toDocketError(thrown);
        // The key is valid but restricted: only the catalog can be read.
        if (error.code !== 'api.forbidden') errors.push(error);
      });
    // The call for the catalog would fail in the same way.
    if (errors.length > 0) return { errors };
    const catalog = await catalogOf(settings).catch((thrown: unknown) => {
      errors.push(toDocketError(thrown));
    });
    return { ...(organizations ? { organizations } : {}), ...(catalog ? { catalog } : {}), errors };
  } finally {
    await scope.close();
  }
}
