import { Liquid, LiquidError } from 'liquidjs';
import { DocketError } from './error.ts';

/** What a name, a subject or a path may be made of. Plain data: values are printed, never called. */
export type TemplateVariables = Readonly<Record<string, unknown>>;

// Made once, since making it costs more than filling a template; it keeps nothing of what it fills.
const ENGINE = new Liquid({
  strictVariables: true,
  strictFilters: true,
  ownPropertyOnly: true,
  templates: {},
  parseLimit: 10_000,
  renderLimit: 10_000,
  memoryLimit: 100_000,
});

/**
 * Fills a LiquidJS template. An unknown variable or filter is an error, because an empty place in a file name would
 * let two runs overwrite each other. Templates can read no files and no inherited properties, and what they may make is
 * bounded by its size; the limit of ten seconds is for what that misses, and far above what a busy machine needs.
 * Throws `template.invalid`.
 * @param where what the template is of, for the error: e.g. `subject`
 */
export function fillTemplate(template: string, variables: TemplateVariables, where: string): string {
  try {
    return String(ENGINE.parseAndRenderSync(template, { ...variables }));
  } catch (cause) {
    const why = LiquidError.is(cause) ? (cause.originalError?.message ?? cause.message) : String(cause);
    throw new DocketError('template.invalid', `The template of ${where} cannot be filled: ${why}.`, {
      expected: `a LiquidJS template over ${Object.keys(variables).join(', ')}`,
      got: `"${template}"`,
      where,
      next: 'Correct the template in the report definition.',
      cause,
    });
  }
}
