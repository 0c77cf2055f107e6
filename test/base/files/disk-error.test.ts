import { open } from 'node:fs/promises';
import { expect, test } from 'vitest';
import {
  DocketError,
  type ErrorCode,
  type ErrorDetail,
  isStorageOutage,
  toDocketError,
} from '../../../src/base/error.ts';
import { diskSpace, toDiskError } from '../../../src/base/files/disk-error.ts';

const system = (code: string) => Object.assign(new Error(`${code}: it failed, write`), { code });
const PASSING = ['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE', 'ESTALE', 'ENODEV'];

test.each(PASSING)('%s is a temporary outage of the disk, even as the cause of another error', async (code) => {
  const error = toDocketError(system(code));
  expect(error).toMatchObject({ code: 'disk.unavailable', retryable: true });
  expect(isStorageOutage(error)).toBe(true);
  const wrapped = toDocketError(new Error('exceljs failed', { cause: system(code) }));
  expect(wrapped.code).toBe('disk.unavailable');
});

test.each(['EACCES', 'ENOENT', 'ENAMETOOLONG', 'EINVAL'])('%s is no outage of the disk', (code) => {
  expect(toDocketError(system(code)).code).toBe('internal.defect');
});

test('the error of a really full file system is recognized as an outage', async () => {
  const full = await open('/dev/full', 'w');
  try {
    const thrown: unknown = await full.writeFile('x').catch((error: unknown) => error);
    expect(toDocketError(thrown)).toMatchObject({ code: 'disk.unavailable' });
  } finally {
    await full.close();
  }
});

test('the error names the folder and the free space, even if the folder is missing', async () => {
  const folder = '/tmp/docket-none-there';
  expect(await toDiskError(system('ENOSPC'), folder)).toMatchObject({
    code: 'disk.unavailable',
    where: folder,
    got: expect.stringMatching(/^ENOSPC, \d+ bytes free$/),
  });
  expect(await toDiskError(system('ENOENT'), folder)).toMatchObject({ code: 'disk.unavailable', where: folder });
  expect(await toDiskError(system('ENOENT'), '/tmp')).toMatchObject({ code: 'ENOENT' });
  expect(await diskSpace(folder)).toEqual({ free: expect.any(Number), total: expect.any(Number) });
});

test('an error with its own code keeps it', async () => {
  const own = new DocketError('archive.corrupt', 'Changed.', { cause: system('EIO') });
  expect(await toDiskError(own, '/tmp')).toBe(own);
});

test('an error is an outage of the storage only if the run can continue later without changes', () => {
  const of = (...[code, detail]: [ErrorCode, ErrorDetail?]) => isStorageOutage(new DocketError(code, '', detail));
  for (const code of PASSING) expect(of('archive.unwritable', { cause: system(code) }), code).toBe(true);
  for (const code of ['EACCES', 'ENAMETOOLONG', 'ENOTDIR']) {
    expect(of('archive.unwritable', { cause: system(code) }), code).toBe(false);
  }
  const outages = ['archive.unreachable', 'archive.marker_missing', 'archive.marker_changed'] as const;
  for (const code of [...outages, 'deployment.conflict', 'disk.unavailable'] as const)
    expect(of(code), code).toBe(true);
  expect([of('archive.unwritable'), of('archive.unwritable', { transient: true })]).toEqual([false, true]);
  expect([of('archive.unreachable', { transient: false }), of('archive.unwritable', { retryable: false })]).toEqual([
    false,
    false,
  ]);
  expect([of('archive.corrupt'), of('render.failed')]).toEqual([false, false]);
});
