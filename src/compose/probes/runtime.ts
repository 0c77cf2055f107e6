import { type CheckResult, fail, ok, warn } from '../../services/deployment/probe.ts';

/** The minimum version in `engines` of package.json. */
const MIN_NODE_VERSION = [20, 19] as const;

/** When security updates end, by major version (nodejs.org/about/previous-releases). */
const END_OF_LIFE: Readonly<Record<number, string>> = { 20: '2026-04-30', 22: '2027-04-30', 24: '2028-04-30' };

/** @param version e.g. `22.11.0` */
export function evaluateNodeVersion(version: string, now: number): CheckResult {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const remedy = 'Install a newer Node.js: 22 or 24.';
  if (major < MIN_NODE_VERSION[0] || (major === MIN_NODE_VERSION[0] && minor < MIN_NODE_VERSION[1])) {
    return fail(`version ${version}; at least ${MIN_NODE_VERSION.join('.')} is required`, remedy);
  }
  const end = END_OF_LIFE[major];
  if (end !== undefined && now >= Date.parse(`${end}T00:00:00Z`)) {
    return warn(`version ${version}, without security updates since ${end}`, remedy);
  }
  return ok(`version ${version}`);
}

export interface TimeZoneData {
  /** `process.versions.tz`, e.g. `2025b`. Undefined if Node was built without it. */
  readonly version: string | undefined;
  /** Zones used in definitions that this machine does not know. */
  readonly unknown: readonly string[];
  /** Whether Node has full ICU. */
  readonly languages: boolean;
}

export function evaluateTimeZoneData({ version, unknown, languages }: TimeZoneData, now: number): CheckResult {
  if (unknown.length > 0) {
    return fail(`unknown: ${unknown.join(', ')}`, 'Install a newer Node.js: its time zone data is too old.');
  }
  if (!languages) {
    return fail(
      'Node.js supports English only',
      'Install a Node.js with full ICU: numbers and dates of other locales are wrong.',
    );
  }
  if (version === undefined) return ok('system data');
  const years = new Date(now).getUTCFullYear() - Number(version.slice(0, 4));
  return years > 2
    ? warn(`${version}, ${years} years old: daylight saving time may have changed since`, 'Install a newer Node.js.')
    : ok(version);
}

export function checkTimeZoneData(zones: Iterable<string>, now: number): CheckResult {
  const unknown = [...new Set(zones)].filter((zone) => {
    try {
      new Intl.DateTimeFormat('en', { timeZone: zone });
      return false;
    } catch {
      return true;
    }
  });
  const languages = Intl.NumberFormat.supportedLocalesOf(['de-CH']).length === 1;
  return evaluateTimeZoneData({ version: process.versions.tz, unknown, languages }, now);
}
