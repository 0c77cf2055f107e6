import { readFileSync } from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { formatDiagnostic } from '../../../src/definitions/diagnostics/diagnostic.ts';
import { MAX_LOGO_BYTES, readImageInfo } from '../../../src/definitions/load/logo.ts';
import { jobsFolder, ORG, REPORT } from '../../support/jobs-folder.ts';

const PNG = readFileSync('jobs/demo/logo.png');

/** The first segments of a JPEG of this size: an APP0, a fill byte, a Huffman table, the frame. */
const jpeg = (width: number, height: number) =>
  Buffer.from([
    ...[0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xff, 0xc4, 0, 4, 0, 0, 0xff, 0xc2, 0, 17, 8],
    ...[height >> 8, height & 255, width >> 8, width & 255],
    ...[3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1],
  ]);

const load = async (files: Readonly<Record<string, string | Uint8Array>>, logo: string, line = `logo: ${logo}\n`) =>
  loadDefinitions(await jobsFolder({ 'acme/org.yaml': ORG + line, 'acme/weekly.yaml': REPORT, ...files }));

describe('the logo of an organization', () => {
  test('is a PNG or JPEG, whose size is read from its first bytes', () => {
    expect(readImageInfo(PNG)).toEqual({ format: 'png', width: 560, height: 160 });
    expect(readImageInfo(jpeg(640, 300))).toEqual({ format: 'jpeg', width: 640, height: 300 });
    expect(readImageInfo(jpeg(640, 300).subarray(0, 12))).toBeUndefined();
    expect(readImageInfo(Buffer.from('GIF89a'))).toBeUndefined();
    expect(readImageInfo(Buffer.alloc(0))).toBeUndefined();
  });

  test('is loaded with its full path, and another picture changes the digest', async () => {
    const jobs = await load({ 'acme/logo.png': PNG }, 'logo.png');
    expect(jobs.diagnostics).toEqual([]);
    expect(jobs.orgs.get('acme')?.logo).toBe(join(jobs.folder, 'acme', 'logo.png'));
    const other = await load({ 'acme/logo.png': jpeg(10, 10) }, 'logo.png');
    expect(other.reports.get('acme/weekly')?.digest).not.toBe(jobs.reports.get('acme/weekly')?.digest);
  });

  test.each([
    ['missing', {}, 'logo.png', /expected a PNG or JPEG file that can be read, got ENOENT/],
    ['a folder', { 'acme/x.png/y': '' }, 'x.png', /expected a PNG or JPEG file, got something else/],
    ['of another kind', { 'acme/logo.png': 'GIF89a' }, 'logo.png', /got another kind of file; do: save it as PNG/],
    [
      'too large',
      { 'acme/logo.png': Buffer.alloc(MAX_LOGO_BYTES + 1) },
      'logo.png',
      /at most 524288 bytes, got 524289/,
    ],
    [
      'too wide',
      { 'acme/logo.png': jpeg(5000, 10) },
      'logo.png',
      /at most 4096 pixels a side, got 5000 × 10; do: save it smaller: \S+acme\/logo\.png/,
    ],
    ['outside of the folder', { 'other.png': PNG }, '../other.png', /in the folder of the organization/],
  ])('that is %s is an error at its line', async (_, files, logo, expected) => {
    const jobs = await load(files, logo);
    const faults = jobs.diagnostics.filter(({ file }) => file.endsWith('acme/org.yaml'));
    expect(faults).toMatchObject([{ line: ORG.split('\n').length, column: 7 }]);
    expect(faults.map(formatDiagnostic)).toEqual([expect.stringMatching(expected)]);
    expect(jobs.orgs.size).toBe(0);
  });

  test('must not be a link out of the folder', async () => {
    const elsewhere = join(await jobsFolder({ 'secret.png': PNG }), 'secret.png');
    const folder = await jobsFolder({ 'acme/weekly.yaml': REPORT });
    await symlink(elsewhere, join(folder, 'acme', 'logo.png'));
    await writeFile(join(folder, 'acme', 'org.yaml'), `${ORG}logo: logo.png\n`);
    const { diagnostics } = await loadDefinitions(folder);
    expect(elsewhere.startsWith(tmpdir())).toBe(true);
    expect(diagnostics.map(formatDiagnostic)).toContainEqual(expect.stringMatching(/org.yaml:9:7: .*outside of it/));
  });
});
