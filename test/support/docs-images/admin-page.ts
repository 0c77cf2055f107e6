import { readFile } from 'node:fs/promises';
import { Hono } from 'hono';
import type { Access } from '../../../src/admin/access/access.ts';
import { limitFormSize, resolveClient } from '../../../src/admin/auth/client.ts';
import type { Sessions } from '../../../src/admin/auth/sessions.ts';
import type { Env } from '../../../src/admin/hono-env.ts';
import { addPage } from '../../../src/admin/page/page.tsx';
import { inlineImages } from '../../../src/render/artifact.ts';
import { accessPorts } from '../admin.ts';
import type { DemoPack } from '../demo-packs.ts';
import { partsOver } from '../features.ts';
import { manualClock } from '../manual-clock.ts';
import { createPageAuth } from '../page-auth.ts';
import { done, NOW, OPERATOR, report, sampleAccess } from '../page-data.ts';
import { recordingLog } from '../queue-harness.ts';

/** The address of the page in the pictures. Nothing listens there. */
export const PAGE_URL = 'http://docket.example';

/** The session of Anna. */
const SESSION = { principal: OPERATOR, csrf: '0'.repeat(32) };
const ANNA: Sessions = {
  read: async () => SESSION,
  inspect: async () => ({ state: 'active', session: SESSION }),
  signIn: async () => ({ signedIn: false, why: 'unknown' }),
  begin: async () => undefined,
  signOut: async () => undefined,
};

/** The data of the sample's run, with the demo's e-mail, files and definition. */
async function demoAccess(weekly: DemoPack): Promise<Partial<Access>> {
  const text = await readFile('jobs/demo/weekly-kpi.yaml', 'utf8');
  const page = inlineImages(weekly.mail);
  const detail = { ...report, title: weekly.definition.title, owner: weekly.definition.owner, text };
  const workbook = weekly.artifacts.filter(({ format }) => format === 'xlsx' || format === 'pdf');
  return {
    report: async () => detail,
    preview: async () => page,
    files: async () => [
      ...workbook.map(({ name, mediaType }, index) => ({
        name,
        kind: 'file' as const,
        type: mediaType,
        // The sizes of the sample, since real ones differ with the version of the compressor.
        bytes: 48_211,
        sha256: (done.files[index] ?? done.files[0])?.sha256 ?? null,
      })),
      { name: 'mail.html', kind: 'mail', type: 'text/html', bytes: null, sha256: null },
    ],
  };
}

/** The admin page without a server, Redis or a sign-in, with the tests' sample of runs and the demo's weekly pack. */
export async function adminPage(weekly: DemoPack): Promise<Hono<Env>> {
  const clock = manualClock(NOW);
  const pageAuth = createPageAuth([], { clock, log: recordingLog() }, { sessions: ANNA });
  const change = await demoAccess(weekly);
  const app = new Hono<Env>();
  app.use(resolveClient(pageAuth), limitFormSize());
  addPage(app, {
    sessions: ANNA,
    limit: pageAuth.limit,
    access: (principal) => sampleAccess(principal, change),
    clock,
    parts: partsOver(accessPorts()),
  });
  app.get('/api/runs/:id/preview', async (context) => context.html((await change.preview?.('')) ?? ''));
  return app;
}

/** The paths of the drawn pages. */
export const PAGES = { overview: '/', report: '/reports/acme/weekly-kpi' } as const;
