import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { strFromU8, unzipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newToken, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import type { AdminApp } from '../../../src/admin/hono-env.ts';
import { listenAdmin } from '../../../src/admin/server.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/log.ts';
import { createArchive } from '../../../src/deliver/archive/create-archive.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { INITIAL_RUN_FIELDS } from '../../../src/queue/runs/stored-record.ts';
import type { InlineImage } from '../../../src/render/artifact.ts';
import { createRunFileReader } from '../../../src/services/runs/run-file-reader.ts';
import { createTestAdmin } from '../../support/admin.ts';
import { manifestOf, writeArtifact } from '../../support/delivery-case.ts';
import { fake } from '../../support/fake.ts';
import { anOrder, recordingLog } from '../../support/queue-harness.ts';

const tokens = { viewer: newToken(), rival: newToken() };
const entries: TokenEntry[] = [
  { name: 'eyes', sha256: tokens.viewer.sha256, role: 'viewer', orgs: ['acme'] },
  { name: 'them', sha256: tokens.rival.sha256, role: 'operator', orgs: ['rival'] },
];
const [SEALED, EMPTY, LARGE] = ['a'.repeat(32), 'b'.repeat(32), 'c'.repeat(32)];
const NAME = 'Übersicht „KPIs“ 2026-W46.xlsx';
const picture: InlineImage = { cid: 'chart@docket', name: 'mail-queue.png', bytes: Buffer.from('\x89PNG') };
/** So large that it is streamed in several pieces. */
const large = Buffer.alloc(300_000, 'figures\r\n');

describe('the files of a run', () => {
  const log = recordingLog();
  let root: string;
  let app: AdminApp;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'docket-files-'));
    const storage = directoryStorage(root);
    const archive = createArchive(storage, systemClock);
    const seal = async (id: string, files: Readonly<Record<string, string | Uint8Array>>) => {
      const staged = await archive.stage(id);
      const artifacts = await Promise.all(
        Object.entries(files).map(([name, content]) => writeArtifact(staged, name, content)),
      );
      const mail = { html: '<p>Hello <img src="cid:chart@docket"></p>', text: 'Hello', pictures: [picture] };
      await archive.publish(staged, { ...manifestOf(artifacts, id), org: 'acme', report: 'weekly' }, artifacts, mail);
    };
    await seal(SEALED, { [NAME]: 'workbook', 'queue.csv': 'alerts\r\n3\r\n', 'empty.csv': '', 'Pack.pdf': '%PDF-1.7' });
    await seal(LARGE, { 'large.csv': large, 'small.csv': 'a' });
    const records = [SEALED, EMPTY, LARGE].map((id) => ({ ...anOrder({ id }), ...INITIAL_RUN_FIELDS }));
    app = createTestAdmin(
      entries,
      {
        runs: fake({
          get: async (id) => records.find((one) => one.id === id),
          list: async () => [],
          findIdsByPrefix: async () => [],
          listAndCount: async () => ({ runs: [], total: 0 }),
        }),
        archivedFiles: createRunFileReader(storage),
      },
      { log },
    );
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  const call = (
    path: string,
    as: keyof typeof tokens = 'viewer',
    method = 'GET',
    headers: Record<string, string> = {},
  ) => app.request(path, { method, headers: { authorization: `Bearer ${tokens[as].token}`, ...headers } });

  it('are listed with media types and hashes, including the mail and its pictures', async () => {
    const response = await call(`/api/runs/${SEALED}/files`);
    expect(response.status).toBe(200);
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(await response.json()).toMatchObject({
      files: [
        { name: NAME, kind: 'file', type: expect.stringContaining('spreadsheetml'), bytes: 8, sha256: hash },
        { name: 'queue.csv', kind: 'file', type: 'text/csv; charset=utf-8', bytes: 11, sha256: hash },
        { name: 'empty.csv', bytes: 0 },
        { name: 'Pack.pdf', kind: 'file', type: 'application/pdf', bytes: 8, sha256: hash },
        { name: 'mail.html', kind: 'mail', type: 'text/html; charset=utf-8', bytes: null, sha256: hash },
        { name: 'mail.txt', kind: 'mail', type: 'text/plain; charset=utf-8' },
        { name: 'mail-queue.png', kind: 'picture', type: 'image/png', bytes: null, sha256: hash },
      ],
    });
    expect(await (await call(`/api/runs/${EMPTY}/files`)).json()).toEqual({ files: [] });
  });

  it('are downloaded unchanged under their own names, in any script, and never opened by the browser', async () => {
    for (const [name, content] of [
      [NAME, 'workbook'],
      ['Pack.pdf', '%PDF-1.7'],
      ['queue.csv', 'alerts\r\n3\r\n'],
      ['empty.csv', ''],
      ['mail.html', '<p>Hello <img src="cid:chart@docket"></p>'],
      ['mail-queue.png', Buffer.from(picture.bytes).toString('utf8')],
    ] as const) {
      const path = `/api/runs/${SEALED}/files/${encodeURIComponent(name)}`;
      const response = await call(path);
      const { headers } = response;
      expect([response.status, await response.text()]).toEqual([200, content]);
      expect(headers.get('content-disposition')).toMatch(/^attachment; filename/);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none';/);
      expect(headers.get('etag')).toMatch(/^"[0-9a-f]{64}"$/);
      const digest = Buffer.from((headers.get('etag') ?? '').slice(1, -1), 'hex').toString('base64');
      expect(headers.get('repr-digest')).toBe(`sha-256=:${digest}:`);
      const head = await call(path, 'viewer', 'HEAD');
      expect([head.status, await head.text()]).toEqual([200, '']);
      for (const header of ['content-type', 'content-length', 'content-disposition', 'etag']) {
        expect(head.headers.get(header)).toBe(headers.get(header));
      }
      const again = await call(path, 'viewer', 'GET', { 'if-none-match': `"other", ${headers.get('etag')}` });
      expect([again.status, await again.text()]).toEqual([304, '']);
    }
    const named = (await call(`/api/runs/${SEALED}/files/${encodeURIComponent(NAME)}`)).headers.get(
      'content-disposition',
    );
    expect(named).toContain(`filename*=UTF-8''${encodeURIComponent(NAME)}`);
  });

  it('include only those in the manifest, and are hidden from other organizations', async () => {
    for (const path of [
      `/api/runs/${SEALED}/files/manifest.json`,
      `/api/runs/${SEALED}/files/receipts.json`,
      `/api/runs/${SEALED}/files/..%2Fmanifest.json`,
      `/api/runs/${SEALED}/files/${encodeURIComponent('../../../../../etc/passwd')}`,
      `/api/runs/${SEALED}/files/large.csv`,
      `/api/runs/${EMPTY}/files/queue.csv`,
      `/api/runs/${EMPTY}/preview`,
    ]) {
      expect((await call(path)).status).toBe(404);
    }
    for (const rest of ['files', 'files/queue.csv', 'preview']) {
      const foreign = await call(`/api/runs/${SEALED}/${rest}`, 'rival');
      const none = await call(`/api/runs/${'f'.repeat(32)}/${rest}`, 'rival');
      expect([foreign.status, none.status]).toEqual([404, 404]);
      expect((await foreign.text()).replaceAll(SEALED, 'ID')).toBe(
        (await none.text()).replaceAll('f'.repeat(32), 'ID'),
      );
    }
  });

  it('include the mail preview, with its pictures inside and scripts blocked', async () => {
    const response = await call(`/api/runs/${SEALED}/preview`);
    expect(response.headers.get('content-type')).toContain('text/html');
    const policy = response.headers.get('content-security-policy');
    expect(policy).toContain('sandbox');
    expect(policy).not.toMatch(/script-src|allow-scripts/);
    const png = Buffer.from(picture.bytes).toString('base64');
    expect(await response.text()).toBe(`<p>Hello <img src="data:image/png;base64,${png}"></p>`);
  });

  it('download as one zip of unchanged files under their own names, and not for other organizations', async () => {
    const response = await call(`/api/runs/${SEALED}/files.zip`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/zip']);
    expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="weekly .*\.zip"$/);
    expect(response.headers.get('content-security-policy')).toMatch(/^sandbox; default-src 'none';/);
    const files = unzipSync(new Uint8Array(await response.arrayBuffer()));
    const contents = Object.entries(files).map(([name, bytes]) => [name, strFromU8(bytes)]);
    expect(Object.fromEntries(contents)).toEqual({
      [NAME]: 'workbook',
      'queue.csv': 'alerts\r\n3\r\n',
      'empty.csv': '',
      'Pack.pdf': '%PDF-1.7',
    });
    const head = await call(`/api/runs/${SEALED}/files.zip`, 'viewer', 'HEAD');
    expect([head.status, await head.text()]).toEqual([200, '']);
    for (const [id, as] of [
      [EMPTY, 'viewer'],
      [SEALED, 'rival'],
      ['f'.repeat(32), 'viewer'],
    ] as const) {
      expect((await call(`/api/runs/${id}/files.zip`, as)).status).toBe(404);
    }
  });

  it('are never delivered whole after they were changed: a small file is refused, a large one breaks off', async () => {
    const server = await listenAdmin(app, { host: '127.0.0.1', port: 0, log: silentLog });
    try {
      const get = (name: string) =>
        fetch(`${server.url}/api/runs/${LARGE}/files/${name}`, {
          headers: { authorization: `Bearer ${tokens.viewer.token}` },
        });
      expect(Buffer.from(await (await get('large.csv')).arrayBuffer()).equals(large)).toBe(true);
      const folder = join(root, 'acme', 'weekly', LARGE, 'files');
      await appendFile(join(folder, 'small.csv'), 'b');
      await appendFile(join(folder, 'large.csv'), 'more');
      const small = await get('small.csv');
      expect(small.status).toBe(500);
      expect(await small.json()).toMatchObject({ code: 'archive.corrupt' });
      expect(log.lines).toContainEqual(expect.objectContaining({ level: 'error', message: 'A request failed' }));
      const zip = () =>
        fetch(`${server.url}/api/runs/${LARGE}/files.zip`, {
          headers: { authorization: `Bearer ${tokens.viewer.token}` },
        });
      const cutZip = await zip();
      expect(cutZip.status).toBe(200);
      await expect(cutZip.arrayBuffer()).rejects.toThrow();
      const cut = await get('large.csv');
      expect(cut.status).toBe(200);
      await expect(cut.arrayBuffer()).rejects.toThrow();
      expect(log.lines.at(-1)).toMatchObject({ level: 'error', error: { code: 'archive.corrupt' } });
      await rm(join(folder, 'large.csv'));
      expect((await get('large.csv')).status).toBe(500);
      // The first file of the zip is missing, so nothing was sent yet.
      expect((await zip()).status).toBe(500);
    } finally {
      await server.close();
    }
  });
});
