import { LiquidError } from 'liquidjs';
import { DocketError } from './error.ts';
import { MAX_TEMPLATE_COST, templateEngine } from './template-engine.ts';

/** What a name, a subject or a path may be made of. Plain data: values are printed, never called. */
export type TemplateVariables = Readonly<Record<string, unknown>>;

// Made once, since making it costs more than filling a template; it keeps nothing of what it fills.
const fill = templateEngine();

/** How LiquidJS says that a limit of memory, which is ours of cost, is reached. */
const OVER_LIMIT = /^memory alloc limit exceeded/;

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/**
 * Fills a LiquidJS template. An unknown variable or filter is an error, because an empty place in a file name would
 * let two runs overwrite each other. Templates can read no files and no inherited properties, and what they may cost is
 * counted (`MAX_TEMPLATE_COST`). Throws `template.invalid`.
 * @param where what the template is of, for the error: e.g. `subject`
 */
export function fillTemplate(template: string, variables: TemplateVariables, where: string): string {
  try {
    return fill(template, variables);
  } catch (cause) {
    const why = LiquidError.is(cause) ? (cause.originalError?.message ?? cause.message) : messageOf(cause);
    const costly = OVER_LIMIT.test(why);
    const reason = costly ? 'it loops or repeats too much' : why;
    throw new DocketError('template.invalid', `The template of ${where} cannot be filled: ${reason}.`, {
      expected: costly
        ? `a template that costs at most ${MAX_TEMPLATE_COST}: a character or entry costs 1, a turn of a loop about 20`
        : `a LiquidJS template over ${Object.keys(variables).join(', ')}`,
      got: `"${template}"`,
      where,
      next: `${costly ? 'Shorten the loops of the template' : 'Correct the template'} in the report definition.`,
      cause,
    });
  }
}
