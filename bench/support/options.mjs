import { parseArgs } from 'node:util';

/**
 * The numbers a bench is run with: each of `full` may be given as `--name number`; `--quick` puts those of `quick` in
 * their place, for a look that takes seconds and proves little.
 */
export function readOptions(full, quick) {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      ...Object.fromEntries(Object.keys(full).map((name) => [name, { type: 'string' }])),
    },
  });
  const chosen = values.quick ? { ...full, ...quick } : full;
  return Object.fromEntries(
    Object.entries(chosen).map(([name, value]) => {
      const given = values[name] === undefined ? value : Number(values[name]);
      if (Number.isNaN(given)) throw new TypeError(`--${name} takes a number`);
      return [name, given];
    }),
  );
}
