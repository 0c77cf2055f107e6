import { type Finding, fail, ok, type Verdict, warn } from './finding.ts';

/** The oldest Node.js of `engines`. */
const OLDEST = [20, 19] as const;

/** When each line ceases to get security updates (nodejs.org/about/previous-releases). */
const END_OF_LIFE: Readonly<Record<number, string>> = { 20: '2026-04-30', 22: '2027-04-30', 24: '2028-04-30' };

/** @param version e.g. `22.11.0` */
export function judgeNode(version: string, now: number): Verdict {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const remedy = 'Install a newer Node.js: 22 or 24.';
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    return fail(`version ${version}, and ${OLDEST.join('.')} is needed`, remedy);
  }
  const end = END_OF_LIFE[major];
  if (end !== undefined && now >= Date.parse(`${end}T00:00:00Z`)) {
    return warn(`version ${version}, which gets no security updates since ${end}`, remedy);
  }
  return ok(`version ${version}`);
}

/** Offsets in minutes, east positive, that zone data of this age has to know. */
export interface ZoneData {
  /** `process.versions.tz`, e.g. `2025b`; undefined where Node was built without. */
  readonly version: string | undefined;
  /** Zones of the definitions that this machine does not know. */
  readonly unknown: readonly string[];
  /** Whether words and numbers of other languages are there (full ICU). */
  readonly languages: boolean;
}

export function judgeZones({ version, unknown, languages }: ZoneData, now: number): Verdict {
  if (unknown.length > 0) {
    return fail(`does not know ${unknown.join(', ')}`, 'Install a newer Node.js: its time zone data is too old.');
  }
  if (!languages) {
    return fail(
      'Node.js has English only',
      'Install a Node.js with full ICU: numbers and dates of other locales are wrong.',
    );
  }
  if (version === undefined) return ok('of the system');
  const years = new Date(now).getUTCFullYear() - Number(version.slice(0, 4));
  return years > 2
    ? warn(`${version}, ${years} years old: summer times may have changed since`, 'Install a newer Node.js.')
    : ok(version);
}

export function examineRuntime(zones: Iterable<string>, now: number): Finding[] {
  const unknown = [...new Set(zones)].filter((zone) => {
    try {
      new Intl.DateTimeFormat('en', { timeZone: zone });
      return false;
    } catch {
      return true;
    }
  });
  const languages = Intl.NumberFormat.supportedLocalesOf(['de-CH']).length === 1;
  return [
    { what: 'Node.js', ...judgeNode(process.versions.node, now) },
    { what: 'Time zone data', ...judgeZones({ version: process.versions.tz, unknown, languages }, now) },
  ];
}
