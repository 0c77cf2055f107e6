import { collectRegions, countries } from '../schedules/holidays.ts';
import type { OrgFile } from '../schema/org-settings.ts';
import type { ReportFile } from '../schema/report-definition.ts';
import { diagnosticAt } from '../yaml/parse-yaml.ts';
import type { SourceFile } from '../yaml/source-file.ts';
import { type Diagnostic, describeValue } from './diagnostic.ts';
import { closestMatches, didYouMean } from './suggest.ts';

const MAX_LISTED_REGIONS = 12;

/** Reports an unknown country or region of a calendar. It loads the holidays, but only if a country is set. */
export function calendarDiagnostics(source: SourceFile, { calendar }: OrgFile): Diagnostic[] {
  if (calendar?.country === undefined) return [];
  const { country, region } = calendar;
  const known = countries();
  if (!Object.hasOwn(known, country)) {
    return [
      diagnosticAt(source, ['calendar', 'country'], {
        expected: 'a country whose public holidays are known, as two letters (ISO 3166-1)',
        got: describeValue(country),
        next: suggestCode(country, known) ?? 'write its code, e.g. CH, or list the days under "holidays"',
      }),
    ];
  }
  if (region === undefined) return [];
  const regions = collectRegions(country);
  if (Object.hasOwn(regions, region)) return [];
  const codes = Object.keys(regions);
  return [
    diagnosticAt(source, ['calendar', 'region'], {
      expected:
        codes.length === 0
          ? `no region: none of ${country} has holidays of its own`
          : `a region of ${country} (${codes.slice(0, MAX_LISTED_REGIONS).join(', ')}${codes.length > MAX_LISTED_REGIONS ? ', …' : ''})`,
      got: describeValue(region),
      next: suggestCode(region, regions) ?? 'remove "region", or list its days under "holidays"',
    }),
  ];
}

/** Suggests codes for a misspelt code, or for a name or its initials. */
function suggestCode(written: string, known: Readonly<Record<string, string>>): string | undefined {
  const text = written.trim().toLowerCase();
  const initials = (name: string) => (name.match(/\b\p{Lu}/gu) ?? []).join('').toLowerCase();
  const exact = Object.entries(known).filter(
    ([code, name]) => [code, name, initials(name)].some((form) => form.toLowerCase() === text) || hasName(name, text),
  );
  const byName = closestMatches(written, Object.values(known), 3);
  const byText = exact.length > 0 ? exact : Object.entries(known).filter(([, name]) => byName.includes(name));
  const byCode =
    byText.length > 0 ? byText : closestMatches(written, Object.keys(known), 3).map((code) => [code, known[code]]);
  if (byCode.length === 0) return undefined;
  return `did you mean ${byCode
    .slice(0, 3)
    .map(([code, name]) => `${code} (${name})`)
    .join(' or ')}?`;
}

/** Whether a text is a word of the name, or the start of one: `Zürich` in `Canton of Zürich`. */
const hasName = (name: string, text: string): boolean => {
  const plain = (word: string) => word.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
  return text.length > 3 && ` ${plain(name)} `.includes(` ${plain(text)} `);
};

/**
 * Reports units and labels for metrics and dimensions that the report does not have. Codes are checked later, because
 * only the catalog knows them.
 */
export function displayDiagnostics(
  source: SourceFile,
  { sections, units = {}, labels = {} }: ReportFile,
): Diagnostic[] {
  const metrics = [...new Set(sections.flatMap((section) => section.metrics ?? []))];
  const shown = [
    ...new Set(
      sections.flatMap(({ dimensions = [], filters = [] }) => [
        ...dimensions,
        ...filters.map(({ dimension }) => dimension),
      ]),
    ),
  ];
  const unknown = (field: 'units' | 'labels', id: string, what: string, known: readonly string[]): Diagnostic =>
    diagnosticAt(source, [field, id], {
      expected: known.length === 0 ? `${what}; none is defined` : `${what} (${known.slice(0, 20).join(', ')})`,
      got: describeValue(id),
      next: didYouMean(id, known) ?? 'name one that the report has',
    });
  const hasList = sections.some(({ list }) => list !== undefined);
  const isKnown = (id: string): boolean => {
    if (metrics.includes(id) || shown.includes(id)) return true;
    // A list has fields of its own, and some are dimensions in the catalog. Ids of metrics and dimensions have a dot,
    // codes do not.
    return !id.includes('.') || (hasList && id.startsWith('profile.'));
  };
  return [
    ...Object.keys(units).flatMap((id) =>
      metrics.includes(id) ? [] : unknown('units', id, 'a metric of the report', metrics),
    ),
    ...Object.keys(labels).flatMap((id) =>
      isKnown(id) ? [] : unknown('labels', id, 'a metric or a dimension of the report', [...metrics, ...shown]),
    ),
  ];
}
