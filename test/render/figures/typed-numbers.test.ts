import { expect, test } from 'vitest';
import { typedNumbers } from '../../../src/render/figures/comments/typed-numbers.ts';

const values = (text: string) => typedNumbers(text, 'en-GB').map(({ readings }) => readings.map(({ value }) => value));

test.each([
  ['a soft hyphen', '1\u00ad204 cases', '1204 cases'],
  ['zero-width characters', '1\u200b,\u20602\u200d0\u200c4 cases', '1,204 cases'],
  ['a variation selector', '1\ufe0f,204 cases', '1,204 cases'],
  ['direction marks', '\u200e1,204\u200f cases', '1,204 cases'],
  ['an override', '\u202e402,1\u202c cases', '402,1 cases'],
  ['isolates', '\u20671,204\u2069 cases', '1,204 cases'],
  ['full-width digits', '\uff11\uff0c\uff12\uff10\uff14 cases', '1,204 cases'],
  ['Arabic digits', '\u0661\u0662\u0660\u0664 cases', '1204 cases'],
  ['mathematical digits', '\u{1d7d9}\u{1d7da}\u{1d7d8}\u{1d7dc} cases', '1204 cases'],
  ['a blank that is no white space', 'about\u31641,204\u2800cases', 'about 1,204 cases'],
])('the check finds a number that contains %s', (_, hidden, plain) => {
  expect(values(plain)).toHaveLength(1);
  expect(values(hidden)).toEqual(values(plain));
});
