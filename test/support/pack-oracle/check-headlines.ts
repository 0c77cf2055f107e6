import { expect } from 'vitest';
import { wordOf } from './checked.ts';
import type { Said } from './judged.ts';
import { shows } from './shown.ts';

/** Whether a sentence says this. */
function says(sentence: string, { label, value, unit, judged, change }: Said): string | undefined {
  if (!sentence.startsWith(label)) return 'another label';
  const [, , rest = ''] = /^( \(.*?\))?: (.+)$/.exec(sentence.slice(label.length)) ?? [];
  const [, figure = '', target, status, compared] =
    /^(.+?)(?:, target (.+?), ((?:on target|watch|breached|undefined)(?: so far)?))?(?: \((.+)\))?$/.exec(rest) ?? [];
  if (figure === '' || !shows(figure, value, unit)) return `"${figure}" for ${value}`;
  if (judged === undefined ? status !== undefined : status !== wordOf(judged)) return `status "${status}"`;
  if (judged !== undefined && !shows(target ?? '', judged.target, unit)) return `target "${target}"`;
  if (change === undefined) return compared === undefined ? undefined : `a change "${compared}"`;
  if (compared === undefined) return 'no change';
  const isYear = compared.endsWith(' a year before');
  if (isYear !== (change.kind === 'previous_year')) return `other days "${compared}"`;
  if (change.before === value) return compared.startsWith('the same as ') ? undefined : `"${compared}" for no change`;
  const [, size = '', word = ''] = /^(.+) (more|fewer|longer|shorter|higher|lower) than /.exec(compared) ?? [];
  if (['more', 'longer', 'higher'].includes(word) !== value > change.before) return `direction "${compared}"`;
  return shows(size, Math.abs(value - change.before), unit) ? undefined : `size "${size}"`;
}

const MAX_HEADLINES = 5;

/** The sentences are those that have to be said, in their order; equal ones appear once. */
export function checkHeadlines(sentences: readonly string[], expected: readonly Said[]): void {
  expect(sentences.length).toBeLessThanOrEqual(MAX_HEADLINES);
  let at = 0;
  for (const said of expected) {
    if (at === MAX_HEADLINES) break;
    const why = says(sentences[at] ?? '', said);
    if (why === undefined) at += 1;
    // The same figure of another section.
    else if (!sentences.slice(0, at).some((sentence) => says(sentence, said) === undefined))
      throw new Error(`"${sentences[at]}": ${why} of ${JSON.stringify(said)}\n${sentences.join('\n')}`);
  }
  expect(at, `${sentences.join('\n')}\n${JSON.stringify(expected)}`).toBe(sentences.length);
}
