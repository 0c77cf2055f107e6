import { Context, type Emitter, type FilterImplOptions, Liquid, LiquidError, type Template } from 'liquidjs';
import { DocketError, errorMessage } from '../error.ts';

/**
 * Cost limit for one rendering, in characters produced and entries read: some milliseconds. Counted instead of timed,
 * so that the result is the same on every machine under any load.
 */
export const MAX_TEMPLATE_COST = 20_000;
/** Cost of each rendered part, loop iteration and filter. */
const PART_COST = 10;

/**
 * Creates a LiquidJS engine for names, subjects and paths. It allows no files, inherited properties, or unknown
 * variables and filters, and limits the cost. LiquidJS limits the memory of most filters; the rest is counted here,
 * against the same limit. The returned function renders a template, and throws LiquidJS's errors.
 */
function createTemplateEngine(): (template: string, variables: object) => string {
  const engine = new Liquid({
    strictVariables: true,
    strictFilters: true,
    ownPropertyOnly: true,
    templates: {},
    parseLimit: 10_000,
    memoryLimit: MAX_TEMPLATE_COST,
  });
  countRenderedParts(engine);
  for (const [name, filter] of Object.entries(engine.filters)) engine.registerFilter(name, countedFilter(filter));
  return (template, variables) => {
    const context = new CountedContext({ ...variables }, engine.options, { sync: true }, { liquid: engine });
    return String(engine.renderSync(engine.parse(template), context));
  };
}

type Limit = Context['memoryLimit'];

/** Charges a list's entries, including those of nested lists. */
function chargeEntries(limit: Limit, value: unknown): void {
  if (!Array.isArray(value)) return;
  limit.use(value.length);
  for (const entry of value) chargeEntries(limit, entry);
}

/** Charges lists when a variable is read. */
class CountedContext extends Context {
  override *_get(paths: Parameters<Context['_get']>[0]): IterableIterator<unknown> {
    const value: unknown = yield super._get(paths);
    chargeEntries(this.memoryLimit, value);
    return value;
  }
}

/**
 * Charges rendered parts and text to the cost limit: loops may iterate without reading a variable, and LiquidJS does
 * not count `capture`.
 */
function countRenderedParts({ renderer }: Liquid): void {
  const render = renderer.renderTemplates.bind(renderer);
  renderer.renderTemplates = function* (templates: Template[], context: Context, emitter?: Emitter) {
    context.memoryLimit.use(PART_COST * (1 + templates.length));
    const made: unknown = yield render(templates, context, emitter);
    // With an emitter, the text is part of an outer text, which is charged as a whole.
    if (emitter === undefined) context.memoryLimit.use(String(made).length);
    return made;
  };
}

/** Charges filters, which read each entry of a list, some with an expression (`where_exp`). */
function countedFilter(filter: FilterImplOptions): FilterImplOptions {
  const { handler, raw = false } = typeof filter === 'function' ? { handler: filter } : filter;
  return {
    raw,
    handler(value, ...parameters) {
      const { memoryLimit } = this.context;
      memoryLimit.use(PART_COST);
      chargeEntries(memoryLimit, value);
      if (Array.isArray(value)) {
        for (const text of parameters) if (typeof text === 'string') memoryLimit.use(value.length * text.length);
      }
      return handler.apply(this, [value, ...parameters]);
    },
  };
}

/** Plain data: values are printed, never called. */
export type TemplateVariables = Readonly<Record<string, unknown>>;

// Shared, because creating an engine costs more than a rendering. It keeps no state.
const renderLiquid = createTemplateEngine();

/** LiquidJS's message for its memory limit, which serves as our cost limit. */
const COST_LIMIT_MESSAGE = /^memory alloc limit exceeded/;

/**
 * Renders a LiquidJS template. Unknown variables and filters are errors: with an empty part in a file name, two runs
 * could overwrite each other's file. Throws `template.invalid`.
 * @param where the template's field, for the error, e.g. `subject`
 */
export function renderTemplate(template: string, variables: TemplateVariables, where: string): string {
  try {
    return renderLiquid(template, variables);
  } catch (cause) {
    const why = LiquidError.is(cause) ? (cause.originalError?.message ?? cause.message) : errorMessage(cause);
    const costly = COST_LIMIT_MESSAGE.test(why);
    const reason = costly ? 'it loops or repeats too much' : why;
    throw new DocketError('template.invalid', `The template of ${where} cannot be rendered: ${reason}.`, {
      expected: costly
        ? `a template that costs at most ${MAX_TEMPLATE_COST}: a character or entry costs 1, a loop iteration about 20`
        : `a LiquidJS template over ${Object.keys(variables).join(', ')}`,
      got: `"${template}"`,
      where,
      next: `${costly ? 'Shorten the loops of the template' : 'Correct the template'} in the report definition.`,
      cause,
    });
  }
}
