import { parseArgs } from 'node:util';

/**
 * The numbers a benchmark runs with. Each one in `full` can be set with `--name number`. `--quick` uses those in
 * `quick` instead, for a check that takes seconds and proves little.
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
