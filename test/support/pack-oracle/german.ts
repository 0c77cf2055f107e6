// Translates a German headline to the English one with the same meaning. It uses nothing of src/.

const STATUSES: Readonly<Record<string, string>> = {
  'im Ziel': 'on target',
  beobachten: 'watch',
  verfehlt: 'breached',
  'nicht definiert': 'undefined',
};
const COMPARATIVES: Readonly<Record<string, string>> = {
  mehr: 'more',
  weniger: 'fewer',
  länger: 'longer',
  kürzer: 'shorter',
  höher: 'higher',
  niedriger: 'lower',
};
const UNITS: Readonly<Record<string, string>> = {
  Tag: 'day',
  Tage: 'days',
  Stunde: 'hour',
  Stunden: 'hours',
  Minute: 'minute',
  Minuten: 'minutes',
  PP: 'pp',
};

/** `1.234,5 %` becomes `1,234.5%`, `33,9 Stunden` becomes `33.9 hours`. Throws for an English unit. */
function figureInEnglish(text: string): string {
  if (/\b(?:days?|hours?|minutes?|pp)\b/.test(text)) throw new Error(`English: "${text}"`);
  return text
    .replace(/[.,]/g, (mark) => (mark === '.' ? ',' : '.'))
    .replace(/\s%/g, '%')
    .replace(/\s(\p{L}+)/gu, (_, unit: string) => ` ${UNITS[unit] ?? unit}`);
}

const TIME =
  /(?:ein Jahr zuvor|am Vortag|in der Vorwoche|im (?:Vormonat|Vorquartal|Vorjahr)|in den [\d.]+ (?:Tagen|Monaten) davor)$/;

/** `8 weniger als im Vormonat` becomes `8 fewer than the time before`. */
function changeInEnglish(text: string): string {
  const time = TIME.exec(text)?.[0];
  if (time === undefined) throw new Error(`no time: "${text}"`);
  const before = time === 'ein Jahr zuvor' ? 'a year before' : 'the time before';
  const rest = text.slice(0, -time.length);
  if (rest === 'wie ') return `the same as ${before}`;
  if (rest === 'nicht sichtbar anders als ') return `no visible change from ${before}`;
  const [, size = '', word = ''] = /^(.+) (\p{L}+) als $/u.exec(rest) ?? [];
  const comparative = COMPARATIVES[word];
  if (comparative === undefined) throw new Error(`no comparative: "${text}"`);
  return `${figureInEnglish(size)} ${comparative} than ${before}`;
}

const scopeInEnglish = (text: string): string =>
  text
    .replace(/^aktuell\b/, 'now')
    .replace(/(^|; )aktuell, /, '$1now, ')
    .replace(/(^|; )Stand /, '$1as read ')
    .replace(/(^|; )bisher/, '$1so far');

/** @param label of the figure, which is not translated */
export function inEnglish(sentence: string, label: string): string {
  if (!sentence.startsWith(label)) throw new Error(`no ${label}: "${sentence}"`);
  const match =
    /^(?: \((?<scope>.*?)\))?: (?<figure>.+?)(?:, Ziel (?<target>.+?), (?<soFar>bisher )?(?<status>im Ziel|beobachten|verfehlt|nicht definiert))?(?: \((?<changes>.+)\))?$/.exec(
      sentence.slice(label.length),
    );
  const { scope, figure = '', target, soFar, status = '', changes } = match?.groups ?? {};
  const judged =
    target === undefined
      ? ''
      : `, target ${figureInEnglish(target)}, ${STATUSES[status]}${soFar === undefined ? '' : ' so far'}`;
  const compared = changes === undefined ? '' : ` (${changes.split(', ').map(changeInEnglish).join(', ')})`;
  const named = scope === undefined ? '' : ` (${scopeInEnglish(scope)})`;
  return `${label}${named}: ${figureInEnglish(figure)}${judged}${compared}`;
}
