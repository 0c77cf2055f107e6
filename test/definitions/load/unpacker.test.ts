import { deflateRawSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { createUnpacker } from '../../../src/definitions/load/kept-reports.ts';

const packOf = (text: string) => deflateRawSync(JSON.stringify([text]));

it('keeps many small packs unpacked', () => {
  const unpack = createUnpacker();
  const packs = Array.from({ length: 100 }, (_, index) => packOf(`${index}${' '.repeat(10_000)}`));
  const first = packs.map((bytes) => unpack(bytes));
  expect(packs.every((bytes, index) => unpack(bytes) === first[index])).toBe(true);
});

it('drops the least recently read packs beyond 1.5 million characters, never the last one', () => {
  const unpack = createUnpacker();
  const [one, two, three] = ['1', '2', '3'].map((digit) => packOf(digit.repeat(600_000)));
  const huge = packOf('4'.repeat(2_000_000));
  if (one === undefined || two === undefined || three === undefined) throw new Error('three packs');
  const [unpackedOne, unpackedTwo] = [unpack(one), unpack(two)];
  expect(unpack(one)).toBe(unpackedOne);
  unpack(three);
  expect(unpack(one)).toBe(unpackedOne);
  expect(unpack(two)).not.toBe(unpackedTwo);
  expect(unpack(two)).toEqual(unpackedTwo);
  const unpackedHuge = unpack(huge);
  expect(unpack(huge)).toBe(unpackedHuge);
  // All that was dropped is no longer counted.
  expect(unpack(one)).toBe(unpack(one));
});
