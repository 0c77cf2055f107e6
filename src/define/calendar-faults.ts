import { type Fault, show } from './fault.ts';
import { countries, regionsOf } from './holidays.ts';
import { nearest } from './nearest.ts';
import type { OrgFile } from './org.ts';
import { faultAt } from './parse.ts';
import type { Source } from './source.ts';

const MOST_NAMED = 12;

/** A country or region of a calendar that nobody has holidays of. Loads them, so only where a country is named. */
export function calendarFaults(source: Source, { calendar }: OrgFile): Fault[] {
  if (calendar?.country === undefined) return [];
  const { country, region } = calendar;
  const known = countries();
  if (!Object.hasOwn(known, country)) {
    return [
      faultAt(source, ['calendar', 'country'], {
        expected: 'a country whose public holidays are known, as two letters (ISO 3166-1)',
        got: show(country),
        next: didYouMean(country, known) ?? 'write its code, e.g. CH, or list the days under "holidays"',
      }),
    ];
  }
  if (region === undefined) return [];
  const regions = regionsOf(country);
  if (Object.hasOwn(regions, region)) return [];
  const codes = Object.keys(regions);
  return [
    faultAt(source, ['calendar', 'region'], {
      expected:
        codes.length === 0
          ? `no region: none of ${country} has holidays of its own`
          : `a region of ${country} (${codes.slice(0, MOST_NAMED).join(', ')}${codes.length > MOST_NAMED ? ', …' : ''})`,
      got: show(region),
      next: didYouMean(region, regions) ?? 'remove "region", or list its days under "holidays"',
    }),
  ];
}

/** The codes that a person may have meant by a code in other letters, by a name or by its initials. */
function didYouMean(written: string, known: Readonly<Record<string, string>>): string | undefined {
  const text = written.trim().toLowerCase();
  const initials = (name: string) => (name.match(/\b\p{Lu}/gu) ?? []).join('').toLowerCase();
  const exact = Object.entries(known).filter(
    ([code, name]) => [code, name, initials(name)].some((form) => form.toLowerCase() === text) || hasName(name, text),
  );
  const byName = nearest(written, Object.values(known), 3);
  const near = exact.length > 0 ? exact : Object.entries(known).filter(([, name]) => byName.includes(name));
  const byCode = near.length > 0 ? near : nearest(written, Object.keys(known), 3).map((code) => [code, known[code]]);
  if (byCode.length === 0) return undefined;
  return `did you mean ${byCode
    .slice(0, 3)
    .map(([code, name]) => `${code} (${name})`)
    .join(' or ')}?`;
}

/** A word of the name, or the start of it: `Zürich` of `Canton of Zürich`. */
const hasName = (name: string, text: string): boolean => {
  const plain = (word: string) => word.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
  return text.length > 3 && ` ${plain(name)} `.includes(` ${plain(text)} `);
};
