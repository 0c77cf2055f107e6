import { isAbsolute, relative } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { targetFolder } from '../../../../src/deliver/targets/directory/directory-target.ts';
import { cases } from '../../../support/fuzz.ts';

test('a relative path is below the working directory, an absolute path is used as it is', () => {
  expect(targetFolder('out/2026', '/srv/docket')).toBe('/srv/docket/out/2026');
  expect(targetFolder('/mnt/reports', '/srv/docket')).toBe('/mnt/reports');
});

test('a relative path never leaves the working directory', () => {
  const part = fc.oneof(
    fc.constantFrom('..', '.', '...', '', '~', '%2e%2e', '..\\..'),
    fc.string({ unit: 'binary', maxLength: 8 }),
  );
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), fc.constantFrom('/', '\\'), (parts, separator) => {
      const path = parts.join(separator);
      if (isAbsolute(path)) return;
      try {
        expect(relative('/srv/docket', targetFolder(path, '/srv/docket'))).not.toMatch(/^\.\.(\/|$)|^\//);
      } catch (error) {
        expect(error).toMatchObject({ code: 'deliver.target_refused' });
      }
    }),
    cases(10_000),
  );
});

test.each(['', '  ', '..', 'a/../b', 'a\\..\\b', '/srv/../etc', 'a\nb', 'a\0b'])('the path %j is refused', (path) => {
  expect(() => targetFolder(path, '/srv/docket')).toThrowError(
    expect.objectContaining({ code: 'deliver.target_refused', expected: expect.stringContaining('".."') }),
  );
});
