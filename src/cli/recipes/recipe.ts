import { readFileSync } from 'node:fs';

/**
 * The reports that `docket new` and `docket init` can write. Each is a YAML file in this folder: a report for metrics
 * that most organizations have. It is written unchanged, with four exceptions:
 *
 * - A line with `<name>` is written once for each value of that name, so not at all if there is none.
 * - `safe: true`: every organization has the section's metrics (specification §2.6), so it is used even without a
 *   catalog.
 * - `current: true`: the section's metrics are current counts. In other sections they are metrics of a period.
 * - `prepare` is left out if nothing can be fetched before the slot.
 */
export const RECIPES = {
  'weekly-kpi': {
    title: 'Weekly compliance KPIs',
    summary: 'the figures of the previous week, on Mondays at eight',
  },
  'board-pack': {
    title: 'Compliance board pack',
    summary: 'the previous month for the board, on the first of the month at seven',
  },
  'approved-pack': {
    title: 'Compliance board pack',
    summary: 'the board pack, sent once it has comments and an approval',
  },
  backlog: {
    title: 'Compliance backlog',
    summary: 'open work as of now, on weekdays at seven',
  },
  desks: {
    title: 'Compliance by desk',
    summary: 'a pack for each group of profiles, with only its own figures, on Mondays at eight',
  },
  export: {
    title: 'Compliance figures',
    summary: 'raw values of the previous day as CSV for programs, daily at five',
  },
} as const;
export type RecipeName = keyof typeof RECIPES;
export const RECIPE_NAMES = Object.keys(RECIPES) as readonly RecipeName[];

/** The text of a file in this folder. */
export const readRecipe = (file: string): string => readFileSync(new URL(`./${file}`, import.meta.url), 'utf8');

/**
 * Writes each line that has a placeholder, such as `<owner>`, once for each value of that name. Other lines stay
 * unchanged.
 */
export const fillLines = (text: string, values: Readonly<Record<string, readonly string[]>>): string =>
  text.replace(/^.*?<(\w+)>.*\n/gm, (line, name: string) =>
    (values[name] ?? [`<${name}>`]).map((value) => line.replace(`<${name}>`, () => value)).join(''),
  );
