import type { Readable } from 'node:stream';
import { createRoute } from '@hono/zod-openapi';
import { create as contentDisposition } from 'content-disposition';
import type { Context } from 'hono';
import { z } from 'zod';
import { toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import type { RunFile } from '../../services/runs/run-file-reader.ts';
import { type FileEntry, MAIL_BODY_NAMES } from '../../services/runs/run-file-reader.ts';
import { DATA_POLICY, PREVIEW_POLICY } from '../auth/headers.ts';
import type { AdminApp, Env } from '../hono-env.ts';
import { idParams, jsonResponse, lookupProblems, orNull, PROBLEM_RESPONSES, security } from './openapi-helpers.ts';
import { idOrPrefixSchema } from './schemas.ts';

const filledWorkbookSchema = z
  .object({
    template: z.string().describe('The path in the definition.').meta({ example: 'board.xlsx' }),
    sha256: z.string().describe('SHA-256 of the template, hex.'),
    defined_sha256: orNull(z.string()).describe(
      'SHA-256 of the template that the report was loaded with, if the template has changed since.',
    ),
    tables: z
      .array(
        z.object({
          name: z.string(),
          sheet: z.string(),
          range: z.string().describe('Range in the file, with header and totals rows.').meta({ example: 'B5:I19' }),
          section: z.string(),
          rows: z.int().describe('Rows of data. With 0, one empty row is left.'),
          columns: z
            .array(
              z.object({
                header: z.string(),
                bound: z.string().nullable().describe('Its figure; null: the template’s own cells.'),
              }),
            )
            .readonly(),
        }),
      )
      .readonly(),
    names: z.array(z.object({ name: z.string(), cell: z.string().meta({ example: 'Board!E3' }) })).readonly(),
  })
  .meta({ id: 'FilledWorkbook', description: 'The parts of a workbook template that were filled.' });

const fileSchema = z
  .object({
    name: z.string().meta({ example: 'KPIs 2026-W46.xlsx' }),
    kind: z
      .enum(['file', 'mail', 'picture'])
      .describe(
        'mail: `mail.html` and `mail.txt`, and `mail-<body>.html` and `.txt` of further bodies. picture: an image that the HTML shows as `cid:`.',
      ),
    type: z.string().describe('Media type.'),
    bytes: z.int().nullable().describe('null for parts of the e-mail.'),
    sha256: z.string().nullable().describe('SHA-256, hex; null for the e-mail of runs of older versions.'),
    href: z.string().describe('Path to download it from.'),
    workbook: orNull(filledWorkbookSchema).describe('null if the file is not made from a workbook template.'),
  })
  .meta({ id: 'File' });

const fileView = (
  run: string,
  { name, kind, type, bytes, sha256, workbook }: FileEntry,
): z.infer<typeof fileSchema> => ({
  name,
  kind,
  type,
  bytes,
  sha256,
  href: `/api/runs/${run}/files/${encodeURIComponent(name)}`,
  workbook: workbook === undefined ? null : { ...workbook, defined_sha256: workbook.defined_sha256 ?? null },
});

const listRoute = createRoute({
  method: 'get',
  path: '/api/runs/{id}/files',
  operationId: 'listRunFiles',
  tags: ['Files'],
  summary: 'List the files of a run and its e-mail',
  description: 'Empty before the run has created its files, and after they were deleted from the archive.',
  security,
  request: { params: idParams },
  responses: {
    200: jsonResponse(z.object({ files: z.array(fileSchema).readonly() }), 'The files in the manifest of the run.'),
    ...lookupProblems,
  },
});

const oneRoute = createRoute({
  method: 'get',
  path: '/api/runs/{id}/files/{name}',
  operationId: 'getRunFile',
  tags: ['Files'],
  summary: 'Download a file',
  description:
    'The file exactly as archived. The download of a file that does not match its hash breaks off before the announced length. The parts of the e-mail are files as well; `…/preview` shows the e-mail.',
  security,
  request: {
    params: z.object({ id: idOrPrefixSchema, name: z.string().max(300).meta({ example: 'KPIs 2026-W46.xlsx' }) }),
    headers: z.object({ 'If-None-Match': z.string().max(1000).optional() }),
  },
  responses: {
    200: {
      description: 'The file.',
      headers: z.object({
        'Content-Disposition': z.string().describe('`attachment`, with its name (RFC 6266).'),
        'Content-Length': z.string(),
        ETag: z.string().optional().describe('Its SHA-256, hex.'),
        'Repr-Digest': z.string().optional().describe('The same hash in the form of RFC 9530.'),
      }),
      content: { 'application/octet-stream': { schema: z.string().meta({ format: 'binary' }) } },
    },
    304: { description: 'The file is the one in `If-None-Match`.' },
    400: PROBLEM_RESPONSES[400],
    ...lookupProblems,
  },
});

const zipRoute = createRoute({
  method: 'get',
  path: '/api/runs/{id}/files.zip',
  operationId: 'getRunFilesZip',
  tags: ['Files'],
  summary: 'Download all files of a run as one zip',
  description:
    'The files have their names from the archive; the e-mail is not included. Each file is verified while it is read: if one is missing or changed, the download breaks off before its end. More than 4 GB: 422.',
  security,
  request: { params: idParams },
  responses: {
    200: {
      description: 'The zip.',
      headers: z.object({ 'Content-Disposition': z.string().describe('`attachment`, with its name (RFC 6266).') }),
      content: { 'application/zip': { schema: z.string().meta({ format: 'binary' }) } },
    },
    ...lookupProblems,
  },
});

export const bodySchema = z
  .enum(MAIL_BODY_NAMES)
  .optional()
  .describe('Body of the e-mail; `full-lists`: the full one with rows of lists. Default: that of `mail.html`.');

const previewRoute = createRoute({
  method: 'get',
  path: '/api/runs/{id}/preview',
  operationId: 'getRunPreview',
  tags: ['Files'],
  summary: 'Show the e-mail as a page with inline images',
  description: 'The content security policy forbids scripts, external resources and links.',
  security,
  request: { params: idParams, query: z.object({ body: bodySchema }) },
  responses: {
    200: { description: 'The page.', content: { 'text/html': { schema: z.string() } } },
    ...lookupProblems,
  },
});

/**
 * Handles a download that fails after its first bytes were sent: closes the connection, so that the client sees an
 * error.
 */
export const downloadBreaker =
  (log: Log) =>
  (context: Context<Env>) =>
  (thrown: unknown): boolean => {
    log.error('A download broke off', { path: context.req.path, error: toDocketError(thrown).toJSON() });
    const socket = context.env?.incoming?.socket;
    socket?.destroy();
    return socket !== undefined;
  };

/** Routes to view and download the files of runs. */
export function addFileRoutes(app: AdminApp, { log }: { readonly log: Log }): void {
  const breakOff = downloadBreaker(log);

  app.openapi(listRoute, async (context) => {
    const access = context.get('access');
    const { id } = await access.run(context.req.valid('param').id);
    const files = await access.files(id);
    return context.json({ files: files.map((file) => fileView(id, file)) }, 200);
  });

  app.openapi(oneRoute, async (context) => {
    const { id, name } = context.req.valid('param');
    const file = await context.get('access').file(id, name);
    const tag = file.sha256 === null ? undefined : `"${file.sha256}"`;
    const marks = tag === undefined ? {} : { ETag: tag, 'Repr-Digest': reprDigest(file.sha256) };
    if (tag !== undefined && matchesEtag(context.req.valid('header')['If-None-Match'], tag)) {
      return context.body(null, 304, marks);
    }
    const headers = { ...marks, ...fileHeaders(file) };
    // For HEAD, Hono runs the GET handler and discards the body: nobody would close the file.
    if (context.req.method === 'HEAD') return context.body(null, 200, headers);
    return context.body(fileBody(await file.open(), breakOff(context)), 200, headers);
  });

  app.openapi(zipRoute, async (context) => {
    const { name, open } = await context.get('access').filesZip(context.req.valid('param').id);
    const headers = {
      'Content-Type': 'application/zip',
      'Content-Disposition': contentDisposition(name),
      'Content-Security-Policy': `sandbox; ${DATA_POLICY}`,
    };
    if (context.req.method === 'HEAD') return context.body(null, 200, headers);
    return context.body(fileBody(await open(), breakOff(context)), 200, headers);
  });

  app.openapi(previewRoute, async (context) => {
    const { id } = context.req.valid('param');
    const html = await context.get('access').preview(id, context.req.valid('query').body);
    return context.html(html, 200, { 'Content-Security-Policy': PREVIEW_POLICY });
  });
}

/** The headers of a run's file: its type, size and name, and a policy under which it cannot run anything. */
export const fileHeaders = ({
  type,
  bytes,
  name,
}: Pick<RunFile, 'type' | 'bytes' | 'name'>): Record<string, string> => ({
  'Content-Type': type,
  'Content-Length': String(bytes),
  'Content-Disposition': contentDisposition(name.split('/').at(-1) ?? name),
  // The HTML e-mail too: opened as a page of this site, it would get the policy of the page.
  'Content-Security-Policy': `sandbox; ${DATA_POLICY}`,
});

/**
 * A file as a response body. If reading fails, the connection is closed first; otherwise the server would write its
 * error message into the file.
 * @param broken returns true if it has closed the connection: the body then reports nothing else
 */
export function fileBody(file: Readable, broken: (thrown: unknown) => boolean): ReadableStream {
  const pieces = file[Symbol.asyncIterator]();
  return new ReadableStream({
    pull: async (controller) => {
      try {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (thrown) {
        if (broken(thrown)) controller.close();
        else controller.error(thrown);
      }
    },
    cancel: () => {
      file.destroy();
    },
  });
}

const reprDigest = (sha256: string | null): string =>
  `sha-256=:${Buffer.from(sha256 ?? '', 'hex').toString('base64')}:`;

/** Whether `If-None-Match` names this tag. Weak tags are compared as well. */
const matchesEtag = (header: string | undefined, tag: string): boolean =>
  header?.split(',').some((one) => ['*', tag, `W/${tag}`].includes(one.trim())) ?? false;
