import { join } from 'node:path';
import { outputFiles } from '../../definitions/schema/outputs.ts';
import type { TemplateView } from '../../definitions/schema/template-view.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import { type Format, formatOf } from '../../render/formats/format.ts';
import type { GetCachedCatalog } from './definition-threads.ts';

/** Null: the report has no output with a template. Throws `redis.unreachable`. */
export type ViewTemplate = (version: FrozenDefinition) => Promise<TemplateView | null>;

export interface TemplateViewPorts {
  /** The folder of definitions. */
  readonly folder: () => string;
  readonly catalogOf: GetCachedCatalog;
  readonly formats: readonly Format[];
}

/** Versions whose view is remembered: reading a large template takes seconds. */
const MAX_VIEWS = 50;

/** Shows templates as `docket check` sees them. A template that cannot be read is shown with its error. */
export function createTemplateViewer({ folder, catalogOf, formats }: TemplateViewPorts): ViewTemplate {
  const views = new Map<string, Promise<TemplateView>>();
  return async (version) => {
    const { definition, settings } = version;
    const output = definition.outputs.find((each) => outputFiles(each, formats).length > 0);
    const tools = output === undefined ? undefined : formatOf(output, formats).format.fileTools;
    if (output === undefined || tools === undefined) return null;
    const found = await catalogOf(settings);
    const catalog = typeof found === 'string' ? undefined : found;
    // Its hash is part of the digest.
    const key = JSON.stringify([definition.digest, catalog?.registry_version ?? null]);
    const known = views.get(key);
    if (known !== undefined) return known;
    // Few processes show a template.
    const view = tools().then(({ view: read }) =>
      read(output, { ...version, folder: join(folder(), definition.org), catalog }),
    );
    views.set(key, view);
    const [oldest] = views.size > MAX_VIEWS ? views.keys() : [];
    if (oldest !== undefined) views.delete(oldest);
    // What cannot be read now may be there the next time.
    view.then(
      ({ tables, names }) => tables.length + names.length === 0 && views.delete(key),
      () => views.delete(key),
    );
    return view;
  };
}
