import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { balanceBidiControls, isolateBidi, toSingleLine } from '../../../src/base/text/bidi.ts';

const [LRE, RLE, PDF, RLO] = ['\u202a', '\u202b', '\u202c', '\u202e'];
const [LRI, FSI, PDI] = ['\u2066', '\u2068', '\u2069'];

describe('a text with balanced direction controls', () => {
  it.each([
    ['is unchanged without any', 'Zürich – 5', 'Zürich – 5'],
    ['loses an open one', `a${RLO}b`, 'ab'],
    ['loses ends without a start', `a${PDF}b${PDI}c`, 'abc'],
    ['keeps pairs', `${RLE}a${PDF} ${FSI}b${PDI}`, `${RLE}a${PDF} ${FSI}b${PDI}`],
    ['keeps nested pairs', `${FSI}a${RLO}b${PDF}c${PDI}`, `${FSI}a${RLO}b${PDF}c${PDI}`],
    ['loses an embedding that the end of its isolate ends', `${LRI}a${LRE}b${PDI}c`, `${LRI}ab${PDI}c`],
    ['loses an embedding with its end inside another isolate', `${RLE}a${LRI}b${PDF}c${PDI}`, `a${LRI}bc${PDI}`],
    ['loses an open isolate around a pair', `${FSI}a${RLO}b${PDF}`, `a${RLO}b${PDF}`],
  ])('%s', (_name, text, closed) => {
    expect(balanceBidiControls(text)).toBe(closed);
  });

  it('has correctly nested pairs and loses no other characters', () => {
    const piece = fc.constantFrom(LRE, RLE, PDF, RLO, '\u202d', LRI, '\u2067', FSI, PDI, 'a', ' ', 'ש', '\u200f');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('');
        const closed = balanceBidiControls(text);
        const open: string[] = [];
        for (const character of closed) {
          if (character === PDF || character === PDI) {
            const last = open.pop();
            expect(last === undefined ? undefined : last >= LRI! ? PDI : PDF).toBe(character);
          } else if (/[\u202a-\u202e\u2066-\u2068]/.test(character)) open.push(character);
        }
        expect(open).toEqual([]);
        const plain = (of: string) => of.replace(/[\u202a-\u202e\u2066-\u2069]/g, '');
        expect(plain(closed)).toBe(plain(text));
        expect(balanceBidiControls(closed)).toBe(closed);
        expect(balanceBidiControls(isolateBidi(text))).toBe(isolateBidi(text));
      }),
    );
  });
});

it('a single line has no line breaks and no control characters', () => {
  expect(toSingleLine(`a\r\nb\u2028c\u0085d\u0000e\u001b[1mf${RLO}`)).toBe('a b c d e [1mf');
});
