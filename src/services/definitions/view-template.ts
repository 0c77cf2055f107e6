import { join } from 'node:path';
import { outputFiles } from '../../definitions/schema/outputs.ts';
import type { TemplateView } from '../../definitions/schema/template-view.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import { type Format, resolveFormat } from '../../render/formats/format.ts';
import type { GetCachedCatalog } from './definition-threads.ts';

/** Shows a version's template. Null if the report has no output with a template. Throws `redis.unreachable`. */
export type ViewTemplate = (version: FrozenDefinition) => Promise<TemplateView | null>;

/** How many versions' views to keep: reading a large template takes seconds. */
const MAX_VIEWS = 50;

/**
 * Shows templates as `docket check` does. An unreadable template is shown with its error.
 *
 * @param folder the folder with the definitions
 */
export function createTemplateViewer(
  folder: () => string,
  catalogOf: GetCachedCatalog,
  formats: readonly Format[],
): ViewTemplate {
  const views = new Map<string, Promise<TemplateView>>();
  return async (version) => {
    const { definition, settings } = version;
    const output = definition.outputs.find((each) => outputFiles(each, formats).length > 0);
    const tools = output === undefined ? undefined : resolveFormat(output, formats).format.fileTools;
    if (output === undefined || tools === undefined) return null;
    const found = await catalogOf(settings);
    const catalog = typeof found === 'string' ? undefined : found;
    // The template's hash is part of the digest.
    const key = JSON.stringify([definition.digest, catalog?.registry_version ?? null]);
    const known = views.get(key);
    if (known !== undefined) return known;
    // Loaded late, because few processes show a template.
    const view = tools().then(({ view: read }) =>
      read(output, { ...version, folder: join(folder(), definition.org), catalog }),
    );
    views.set(key, view);
    const [oldest] = views.size > MAX_VIEWS ? views.keys() : [];
    if (oldest !== undefined) views.delete(oldest);
    // A failure is not kept: the template may be readable the next time.
    view.then(
      ({ tables, names }) => tables.length + names.length === 0 && views.delete(key),
      () => views.delete(key),
    );
    return view;
  };
}
