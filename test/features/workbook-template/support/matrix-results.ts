import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SIZES, type SizeName } from './figures.ts';
import { RECORDED, type RecordedTemplate } from './recorded.ts';

/** The last result of one template at one size. */
interface Outcome {
  /** For example `2026-11-23`. */
  readonly on: string;
  /** Lines that say what is wrong; empty if it passed. */
  readonly problems: readonly string[];
}

/** Results by the name of the template. */
export type MatrixResults = Record<
  string,
  { tool: string; features: readonly string[]; sizes: Partial<Record<SizeName, Outcome>> }
>;

const FILE = join(RECORDED, 'matrix.json');
const sizes = Object.keys(SIZES) as SizeName[];

/** The stored results. A run of some templates or sizes keeps the results of the others. */
export const readResults = (): MatrixResults => JSON.parse(readFileSync(FILE, 'utf8')) as MatrixResults;

/** Writes results in the order of their names. */
export function writeResults(results: MatrixResults): void {
  const sorted = Object.entries(results).sort(([one], [other]) => (one < other ? -1 : 1));
  const lines = sorted.map(([name, of]) => `${JSON.stringify(name)}: ${JSON.stringify(of)}`);
  writeFileSync(FILE, `{\n${lines.join(',\n')}\n}\n`);
}

/** Drops templates that no longer exist. */
export function withoutGone(results: MatrixResults, templates: readonly RecordedTemplate[]): MatrixResults {
  const names = templates.map(({ name }) => name);
  return Object.fromEntries(Object.entries(results).filter(([name]) => names.includes(name)));
}

/** The tables of docs/internals/workbook-templates.md: runs by size, features by tool, and failures. */
export function describeResults(results: MatrixResults): string {
  return [`${tableOfRuns(results)}\n`, tableOfFeatures(results), ...failures(results)].join('\n');
}

function tableOfRuns(results: MatrixResults): string {
  const lines = sizes.map((size) => {
    const outcomes = Object.values(results).flatMap(({ sizes: of }) => of[size] ?? []);
    const days = outcomes.map(({ on }) => on).sort();
    const passed = outcomes.filter(({ problems }) => problems.length === 0).length;
    return `| ${size} | ${outcomes.length} of ${Object.keys(results).length} | ${passed} | ${[...new Set([days[0], days.at(-1)])].join(' to ')} |`;
  });
  return ['| rows | templates run | passed | run on |', '|---|---|---|---|', ...lines].join('\n');
}

function tableOfFeatures(results: MatrixResults): string {
  const all = Object.entries(results);
  const tools = [...new Set(all.map(([, { tool }]) => tool))].sort();
  const features = [...new Set(all.flatMap(([, { features: own }]) => own))].sort();
  const cell = (feature: string, tool: string) => {
    const having = all.filter(([, of]) => of.tool === tool && of.features.includes(feature));
    const outcomes = having.flatMap(([name, { sizes: of }]) =>
      sizes.map((size) => ({ of: of[size], key: `${name} ${size}` })),
    );
    const bad = outcomes.filter(({ of }) => of !== undefined && of.problems.length > 0);
    if (having.length === 0) return '';
    if (bad.length > 0) return `✗ ${bad.map(({ key }) => key).join(', ')}`;
    return outcomes.every(({ of }) => of !== undefined) ? '✓' : 'not at all sizes';
  };
  return [
    `| | ${tools.join(' | ')} |`,
    `|---|${tools.map(() => '---|').join('')}`,
    `| templates | ${tools.map((tool) => all.filter(([, of]) => of.tool === tool).length).join(' | ')} |`,
    ...features.map((feature) => `| ${[feature, ...tools.map((tool) => cell(feature, tool))].join(' | ')} |`),
  ].join('\n');
}

function failures(results: MatrixResults): string[] {
  const lines = Object.entries(results).flatMap(([name, { sizes: of }]) =>
    sizes.flatMap((size) => of[size]?.problems.map((problem) => `${name} ${size}: ${problem}`) ?? []),
  );
  return lines.length === 0
    ? ['\nNothing failed.']
    : ['\nWhat failed (`-` expected, `+` filled):\n\n```', ...lines, '```'];
}
