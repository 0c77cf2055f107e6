import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { shellWords } from '../shell-words.ts';

/** A command in a text that people read. */
export interface PrintedCommand {
  /** A file in `src/`, or the name of an alert. */
  readonly where: string;
  /** The text as written: `${…}` is a value. */
  readonly text: string;
}

/** Keys and session names in these files begin with "docket", but are not commands. */
const OTHERS = ['sandbox/api-keys.ts', 'features/accounts/account-sessions.ts'];
const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(
  (path) => /\.tsx?$/.test(path) && !OTHERS.includes(path),
);

/** The commands of e-mails: `command('runs retry …')`. */
const noticeCommands = (text: string) =>
  [...text.matchAll(/(?<![.\w])command\(\s*[`']((?:\$\{[^}]*\}|[^`'])*)[`']/g)].map(([, command = '']) => [
    '',
    `docket ${command}`,
  ]);

/** Commands in the texts that Docket prints: in backticks, in `<code>`, and as next commands. */
export const SOURCE_COMMANDS: readonly PrintedCommand[] = sources.flatMap((path) => {
  const text = readFileSync(join('src', path), 'utf8').replaceAll(/^\s*(?:\*|\/\/|\/\*\*).*$/gm, '');
  const found = [
    ...text.matchAll(/\\?`((?:[A-Z_]+=\S+ )*docket [a-z](?:\$\{[^}]*\}|[^`\\])*)\\?`/g),
    ...text.matchAll(/<code>(docket [^<]*)<\/code>/g),
    ...text.matchAll(/command: '(docket [^']*)'/g),
    ...noticeCommands(text),
  ];
  return found.map(([, command = '']) => ({ where: path, text: command }));
});

const rulesSchema = z.object({
  groups: z.array(
    z.object({
      rules: z.array(z.object({ alert: z.string(), annotations: z.record(z.string(), z.string()) })),
    }),
  ),
});

/** Commands in the remedies of alerts. */
export const ALERT_COMMANDS: readonly PrintedCommand[] = rulesSchema
  .parse(parse(readFileSync('docs/observability/alerts.yaml', 'utf8')))
  .groups.flatMap(({ rules }) =>
    rules.flatMap(({ alert, annotations }) =>
      Object.values(annotations).flatMap((text) =>
        [...text.matchAll(/`(docket [^`]+)`/g)].map(([, command = '']) => ({ where: alert, text: command })),
      ),
    ),
  );

/** The word after one of these is a value: an id, a name or a report. */
const BEFORE_VALUES = new Set([
  ...'--org --period --section --file --from --to --run --checkpoint --signing-key --content'.split(' '),
  ...'show retry cancel release get watch approve reject send dismiss resolve comment run backfill'.split(' '),
  ...'resume readings explain preview revoke check'.split(' '),
]);
const VALUE = '_';

/**
 * The shape of a command: equal for commands that differ only in values. Values become `_`, a reason becomes `…`. The hash
 * of `--content` is dropped, since it is printed only once there is a content.
 */
export function commandShape(text: string): string {
  const plain = text
    .replace(/^(?:[A-Z_]+=\S+ )+/, '')
    .replaceAll(/\$\{REASON\}/g, '--reason …')
    .replaceAll(/\{\{[^}]*\}\}|\$?\{[^}]*\}|<[a-z|/ -]+>/g, '⟨⟩')
    .replace(/\$\{.*$/, '⟨⟩')
    .replaceAll(/⟨⟩⟨⟩/g, '⟨⟩')
    .replaceAll(/--reason ("…"|"\.\.\."|…|⟨⟩)/g, '--reason …');
  const shaped: string[] = [];
  for (const word of shellWords(plain)) {
    const isValue =
      word.includes('⟨⟩') ||
      (BEFORE_VALUES.has(shaped.at(-1) ?? '') && !word.startsWith('--')) ||
      /^[A-Z]{2,}|^[0-9a-f]{8,32}$/.test(word);
    shaped.push(isValue ? VALUE : word);
  }
  return shaped.join(' ').replace(' --content _', '');
}
