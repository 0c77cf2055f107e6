import { join } from 'node:path';
import { DocketError } from '../../base/error.ts';
import { outputFiles } from '../../definitions/schema/outputs.ts';
import type { FrozenDefinition } from '../../queue/definitions/definition-store.ts';
import type { DescribedTemplate } from '../../render/workbook-template/describe-template.ts';
import { findTemplate } from '../../render/workbook-template/find-template.ts';
import type { TemplateProblem } from '../../render/workbook-template/template-problem.ts';
import { BUILT_IN_KINDS } from './built-in-kinds.ts';
import type { GetCachedCatalog } from './definition-threads.ts';
import type { TemplateView } from './template-view.ts';

/** Null: the report has no output with a template. Throws `redis.unreachable`. */
export type ViewTemplate = (version: FrozenDefinition) => Promise<TemplateView | null>;

export interface TemplateViewPorts {
  /** The folder of definitions. */
  readonly folder: () => string;
  readonly catalogOf: GetCachedCatalog;
}

/** Versions whose view is remembered: reading a large template takes seconds. */
const MAX_VIEWS = 50;

/** Shows templates as `docket check` sees them. A template that cannot be read is shown with its error. */
export function createTemplateViewer({ folder, catalogOf }: TemplateViewPorts): ViewTemplate {
  const views = new Map<string, Promise<TemplateView>>();
  return async (version) => {
    const { definition, settings } = version;
    const [template] = definition.outputs.flatMap((output) => outputFiles(output, BUILT_IN_KINDS.formats));
    if (template === undefined) return null;
    const found = await catalogOf(settings);
    const catalog = typeof found === 'string' ? undefined : found;
    // Its hash is part of the digest.
    const key = JSON.stringify([definition.digest, catalog?.registry_version ?? null]);
    const known = views.get(key);
    if (known !== undefined) return known;
    const view = describeAt(join(folder(), definition.org), template.file, async (path, file) => {
      // Few processes show a template.
      const { describeWorkbookTemplate } = await import('../../render/workbook-template/describe-template.ts');
      const { outlineOfDefinition } = await import('../../render/workbook-template/binding/outline.ts');
      return describeWorkbookTemplate(path, outlineOfDefinition(definition, catalog, settings), file);
    });
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

type Describe = (path: string, file: string) => Promise<DescribedTemplate>;

async function describeAt(orgFolder: string, template: string, read: Describe): Promise<TemplateView> {
  try {
    const { path } = await findTemplate(orgFolder, template);
    const { tables, names, problems } = await read(path, template);
    return { template, tables, names, problems: problems.map(problemView) };
  } catch (error) {
    if (!(error instanceof DocketError) || error.code !== 'template.invalid') throw error;
    const { message, expected = '', got = '' } = error;
    // That of the error names a path of this machine, which viewers must not see.
    const next = 'Put the file beside org.yaml, or correct the path of the template.';
    const problem = { severity: 'error', code: error.code, at: null, message, expected, got, next } as const;
    return { template, tables: [], names: [], problems: [problem] };
  }
}

const problemView = ({ severity, code, at, message, expected, got, next }: TemplateProblem) => ({
  ...{ severity, code, expected, got },
  at: at === undefined ? null : `${at.sheet}${at.cell === undefined ? '' : `!${at.cell}`}`,
  message: message ?? null,
  next: `${next.charAt(0).toUpperCase()}${next.slice(1)}.`,
});
