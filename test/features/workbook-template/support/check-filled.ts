import { unzipSync } from 'fflate';
import { packageFacts } from './package-facts.ts';

/** Parts that filling may always change. */
const MAY_CHANGE =
  /^(\[Content_Types\]\.xml|xl\/workbook\.xml|xl\/_rels\/workbook\.xml\.rels|xl\/pivotCache\/pivotCacheDefinition\d+\.xml)$/;
const CALC_CHAIN = 'xl/calcChain.xml';

/**
 * The differences between a filled template and what its tool would have built with these figures; empty if there are none.
 * @param compared a pattern of the parts that are compared with the tool's
 */
export function checkFilled(
  template: Uint8Array,
  filled: Uint8Array,
  expected: readonly string[],
  compared = '',
): string[] {
  const [before, after] = [unzipSync(template), unzipSync(filled)];
  const [told, wanted] = [byPart(packageFacts(template)), byPart(expected)];
  const got = byPart(packageFacts(filled));
  const problems: string[] = [];
  const names = Object.keys(before).filter((part) => part !== CALC_CHAIN);
  if (Object.keys(after).join() !== names.join()) problems.push(`parts: ${differences(names, Object.keys(after))}`);
  for (const part of names.filter((name) => new RegExp(compared).test(name))) {
    const same = (wanted.get(part) ?? []).join('\n') === (told.get(part) ?? []).join('\n');
    if (same && !MAY_CHANGE.test(part) && !equal(before[part], after[part]) && !onlyLosesResults(part, before, after))
      problems.push(`${part}: changed without need`);
    const difference = differences(...comparable(wanted.get(part) ?? [], got.get(part) ?? []));
    if (difference !== '') problems.push(`${part}: ${difference}`);
  }
  for (const [part, bytes] of Object.entries(after)) {
    if (equal(bytes, before[part])) continue;
    const text = new TextDecoder().decode(bytes);
    if (part.startsWith('xl/worksheets/sheet') && /<\/f><v>|<f[^>]*\/><v>/.test(text))
      problems.push(`${part}: stored values of formulas`);
    if (part === 'xl/workbook.xml' && !/<(?:\w+:)?calcPr[^>]*fullCalcOnLoad\s*=\s*["'](1|true)/.test(text))
      problems.push(`${part}: not computed on load`);
    if (part.includes('pivotCacheDefinition') && !/refreshOnLoad="(1|true)"/.test(text))
      problems.push(`${part}: not refreshed on load`);
  }
  return problems;
}

/**
 * Ignores harmless differences between cached points: tools write empty cells differently, and Docket leaves numbers stored
 * as text to the program that draws the chart.
 */
function comparable(expected: readonly string[], got: readonly string[]): [readonly string[], readonly string[]] {
  const empty = (line: string) => line.replace(/^(?:num|str)Cache 1 points(?: 0:0?)?$/, 'cache of an empty cell');
  const texts = (lines: readonly string[]) => lines.filter((line) => line.startsWith('strCache')).length;
  const [one, other] = [expected.map(empty), got.map(empty)];
  if (texts(other) >= texts(one)) return [one, other];
  return [one, other].map((lines) => lines.filter((line) => !line.startsWith('strCache'))) as [string[], string[]];
}

function byPart(facts: readonly string[]): Map<string, string[]> {
  const parts = new Map<string, string[]>();
  for (const fact of facts) {
    const [part = ''] = fact.split(' ', 1);
    const list = parts.get(part) ?? [];
    list.push(fact.slice(part.length + 1));
    parts.set(part, list);
  }
  return parts;
}

/** True if a sheet whose formulas read filled cells lost only the results, which belong to the sample. */
function onlyLosesResults(
  part: string,
  before: Readonly<Record<string, Uint8Array>>,
  after: Readonly<Record<string, Uint8Array>>,
): boolean {
  if (!part.startsWith('xl/worksheets/sheet')) return false;
  const [one, other] = [before, after].map((parts) => new TextDecoder().decode(parts[part]));
  return one !== undefined && other !== undefined && withoutResults(one) === withoutResults(other);
}

/** Drops all values. Values without a formula are compared as facts. */
const withoutResults = (sheet: string): string =>
  sheet.replace(/<((?:\w+:)?)v>[^<]*<\/\1v>/g, '').replace(/(<(?:\w+:)?c\s[^>]*?)\s+t\s*=\s*(?:"\w+"|'\w+')/g, '$1');

const equal = (one: Uint8Array | undefined, other: Uint8Array | undefined) =>
  one !== undefined && other !== undefined && Buffer.compare(one, other) === 0;

/** The first lines that only one of them has; expected lines start with `-`. */
export function differences(expected: readonly string[], got: readonly string[], most = 8): string {
  if (expected.join('\n') === got.join('\n')) return '';
  const [missing, more] = [minus(expected, got), minus(got, expected)];
  if (missing.length + more.length === 0) return 'the same in another order';
  const lines = [
    ...missing.slice(0, most).map((line) => `- ${line}`),
    ...more.slice(0, most).map((line) => `+ ${line}`),
  ];
  return `${missing.length} lines missing, ${more.length} more\n    ${lines.map((line) => line.slice(0, 300)).join('\n    ')}`;
}

function minus(from: readonly string[], those: readonly string[]): string[] {
  const count = new Map<string, number>();
  for (const one of those) count.set(one, (count.get(one) ?? 0) + 1);
  return from.filter((one) => {
    const left = count.get(one) ?? 0;
    count.set(one, left - 1);
    return left <= 0;
  });
}
