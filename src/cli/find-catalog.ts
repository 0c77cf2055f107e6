import type { AppContext } from '../base/context.ts';
import { toDocketError } from '../base/error.ts';
import { composeCatalogs } from '../compose/run-ports.ts';
import type { Catalog } from '../contract/catalog.ts';
import type { Definitions } from '../definitions/load/load-definitions.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';

/** The catalog from the cache or the service, or the reason why there is none. */
export async function findCatalog(
  context: AppContext,
  { orgs }: Pick<Definitions, 'orgs'>,
  settings: OrgSettings,
): Promise<Catalog | string> {
  try {
    const { catalogOf, scope } = await composeCatalogs(context, { orgs });
    return await catalogOf(settings).finally(() => scope.close());
  } catch (thrown) {
    return toDocketError(thrown).message;
  }
}
