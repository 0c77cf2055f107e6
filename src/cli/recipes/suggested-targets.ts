import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { type Catalog, isCurrentCount } from '../../contract/catalog.ts';
import { readRecipe } from './recipe.ts';

/**
 * A single-line YAML scalar, quoted only if needed. It may end with a space that YAML does not trim, such as U+00A0.
 */
export const scalar = (text: string, defaultStringType: 'PLAIN' | 'QUOTE_DOUBLE' = 'PLAIN'): string =>
  stringify(text, { lineWidth: 0, blockQuote: false, defaultStringType }).replace(/\n$/, '');

const suggestionSchema = z.tuple([
  // The metric must have this unit, because the suggested amounts are in it.
  z.object({ metric: z.string(), unit: z.string(), current: z.boolean().default(false) }),
]);

/** The suggestions that fit the catalog: the metric, and the lines of its target. */
const fittingSuggestions = (catalog: Catalog | undefined) =>
  readRecipe('suggested-targets.yaml')
    .split('\n\n')
    .flatMap((text) => {
      const [{ metric: id, unit, current }] = suggestionSchema.parse(parse(text));
      const metric = catalog?.metrics.find((each) => each.id === id);
      const fits = metric?.deprecated_at == null && metric?.unit === unit && isCurrentCount(metric) === current;
      const lines = text.trimEnd().split('\n');
      return catalog === undefined || fits
        ? { id, lines: lines.filter((line) => !/^ {2}(unit|current):/.test(line)) }
        : [];
    });

/** Suggested targets for these metrics, as a comment of a report. Empty if there are none. */
export function targetsHint(metrics: readonly string[], catalog: Catalog | undefined): string {
  const fitting = fittingSuggestions(catalog);
  const [suggested] = metrics.flatMap((metric) => fitting.find(({ id }) => id === metric) ?? []);
  if (suggested === undefined) return '';
  return `
# What a figure should be: it then gets a status. For all reports of the organization: targets.yaml; docs/reference/targets-fields.md
# targets:
${suggested.lines.map((line) => `#   ${line}\n`).join('')}`;
}

/** A `targets.yaml` without targets, and with comments that suggest some for the catalog. */
export function targetsYaml({ owner }: { readonly owner: string }, catalog: Catalog | undefined): string {
  const fitting = fittingSuggestions(catalog).map(({ lines }) => lines);
  // Ids are external text: one that does not look like an id could end the comment.
  const first = catalog?.metrics.find(({ id }) => /^[\w.-]+$/.test(id));
  const other = first === undefined ? [] : [[`- metric: ${scalar(first.id)}`, '  better: higher']];
  const [one, ...more] = fitting.length > 0 ? fitting : other;
  const entries = one === undefined ? [] : [[...one, `  owner: ${scalar(owner)}`], ...more];
  return `# yaml-language-server: $schema=../targets.schema.json
# What figures should be, in every report of this organization: those with a target get a status. docs/reference/targets-fields.md
# Put your own numbers into the lines below, remove their "# " and the "[]" of targets. After a change: docket check
version: 1
targets: []
${entries.map((lines) => lines.map((line) => `#   ${line}\n`).join('')).join('#\n')}`;
}
