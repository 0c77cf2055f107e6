import { Context, type Emitter, type FilterImplOptions, Liquid, type Template } from 'liquidjs';

/**
 * What filling one template may cost, in characters made and entries looked at: some milliseconds. It is counted, not
 * timed: the same template over the same values is filled or refused on every machine, however busy it is.
 */
export const MAX_TEMPLATE_COST = 20_000;
/** Of each part that is rendered, each turn of a loop and each filter. */
const PART_COST = 10;

/**
 * LiquidJS for names, subjects and paths: no files, nothing inherited, nothing unknown, and never more than the cost
 * above. LiquidJS itself limits the time of loops and the memory of most filters; the rest is counted here, against the
 * same limit. Returns how to fill a template; throws LiquidJS's errors.
 */
export function templateEngine(): (template: string, variables: object) => string {
  const engine = new Liquid({
    strictVariables: true,
    strictFilters: true,
    ownPropertyOnly: true,
    templates: {},
    parseLimit: 10_000,
    memoryLimit: MAX_TEMPLATE_COST,
  });
  countParts(engine);
  for (const [name, filter] of Object.entries(engine.filters)) engine.registerFilter(name, counted(filter));
  return (template, variables) => {
    const context = new CountedContext({ ...variables }, engine.options, { sync: true }, { liquid: engine });
    return String(engine.renderSync(engine.parse(template), context));
  };
}

type Limit = Context['memoryLimit'];

/** Charges the entries of a list, and of the lists in it: whoever reads it may look at each. */
function charge(limit: Limit, value: unknown): void {
  if (!Array.isArray(value)) return;
  limit.use(value.length);
  for (const entry of value) charge(limit, entry);
}

/** Loops, comparisons and prints take their lists from variables. */
class CountedContext extends Context {
  override *_get(paths: Parameters<Context['_get']>[0]): IterableIterator<unknown> {
    const value: unknown = yield super._get(paths);
    charge(this.memoryLimit, value);
    return value;
  }
}

/** Loops may turn without reading anything, and `capture` collects text without counting it. */
function countParts({ renderer }: Liquid): void {
  const render = renderer.renderTemplates.bind(renderer);
  renderer.renderTemplates = function* (templates: Template[], context: Context, emitter?: Emitter) {
    context.memoryLimit.use(PART_COST * (1 + templates.length));
    const made: unknown = yield render(templates, context, emitter);
    // With an emitter the text is part of another one, which is counted when it is whole.
    if (emitter === undefined) context.memoryLimit.use(String(made).length);
    return made;
  };
}

/** Filters of lists look at each entry, some by an expression (`where_exp`), and not all of them count that. */
function counted(filter: FilterImplOptions): FilterImplOptions {
  const { handler, raw = false } = typeof filter === 'function' ? { handler: filter } : filter;
  return {
    raw,
    handler(value, ...parameters) {
      const { memoryLimit } = this.context;
      memoryLimit.use(PART_COST);
      charge(memoryLimit, value);
      if (Array.isArray(value)) {
        for (const text of parameters) if (typeof text === 'string') memoryLimit.use(value.length * text.length);
      }
      return handler.apply(this, [value, ...parameters]);
    },
  };
}
