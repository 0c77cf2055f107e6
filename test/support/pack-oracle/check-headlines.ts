import { expect } from 'vitest';
import { wordOf } from './checked.ts';
import type { Said } from './headlines.ts';
import { shows, showsDifference } from './shown.ts';

/** The words beside the label of a figure with the report's own period and scope. */
const OF_OWN = /^(?:(?:now, |as read |so far)[^;]*(?:; )?)*$/;

/** What is wrong if the name does not say what the figure is based on; undefined if it does. */
function namesScope(scope: string, { place, values, section }: Said): string | undefined {
  if (section !== undefined && !scope.startsWith(section)) return `no section ${section} in "${scope}"`;
  const rest = section === undefined ? scope : scope.slice(section.length).replace(/^; /, '');
  if (place === 'own') return OF_OWN.test(rest) ? undefined : `another scope "${scope}"`;
  if (rest === '') return 'no scope';
  return values.every((value) => rest.includes(value)) ? undefined : `no ${values.join()} in "${scope}"`;
}

/** What is wrong if a sentence does not say this; undefined if it does. */
export function saysNot(sentence: string, said: Said): string | undefined {
  const { label, value, unit, judged, changes } = said;
  if (!sentence.startsWith(label)) return 'another label';
  const [, scope = '', rest = ''] = /^(?: \((.*?)\))?: (.+)$/.exec(sentence.slice(label.length)) ?? [];
  const unnamed = namesScope(scope, said);
  if (unnamed !== undefined) return unnamed;
  const [, figure = '', target, status, compared] =
    /^(.+?)(?:, target (.+?), ((?:on target|watch|breached|undefined)(?: so far)?))?(?: \((.+)\))?$/.exec(rest) ?? [];
  if (figure === '' || !shows(figure, value, unit)) return `"${figure}" for ${value}`;
  if (judged === undefined ? status !== undefined : status !== wordOf(judged)) return `status "${status}"`;
  if (judged !== undefined && !shows(target ?? '', judged.target, unit)) return `target "${target}"`;
  const texts = compared === undefined ? [] : compared.split(', ');
  if (texts.length !== changes.length) return `changes "${compared}"`;
  return changes.map((change, at) => changesNot(texts[at] ?? '', value, unit, change)).find((why) => why !== undefined);
}

export function changesNot(
  compared: string,
  value: number,
  unit: string | null,
  { kind, before }: Said['changes'][number],
): string | undefined {
  const isYear = compared.endsWith(' a year before');
  if (isYear !== (kind === 'previous_year')) return `other days "${compared}"`;
  if (before === value) return compared.startsWith('the same as ') ? undefined : `"${compared}" for no change`;
  if (compared.startsWith('no visible change from ')) return undefined;
  const [, size = '', word = ''] = /^(.+) (more|fewer|longer|shorter|higher|lower) than /.exec(compared) ?? [];
  if (['more', 'longer', 'higher'].includes(word) !== value > before) return `direction "${compared}"`;
  return showsDifference(size, Math.abs(value - before), unit) ? undefined : `size "${size}"`;
}

const MAX_HEADLINES = 5;

/** Checks that the sentences are the expected ones in their order, each figure once. */
export function checkHeadlines(sentences: readonly string[], expected: readonly Said[]): void {
  const all = `${sentences.join('\n')}\n${JSON.stringify(expected)}`;
  expect(sentences.length, all).toBe(Math.min(expected.length, MAX_HEADLINES));
  for (const [at, sentence] of sentences.entries()) {
    const said = expected[at];
    expect(said && saysNot(sentence, said), `"${sentence}" of ${JSON.stringify(said)}\n${all}`).toBeUndefined();
  }
}
