import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../../../src/base/sha256.ts';
import { type Catalog, catalogSchema } from '../../../src/contract/catalog.ts';
import { PATHS } from '../../../src/contract/organization.ts';
import type { ReportRequest, ReportResponse } from '../../../src/contract/report.ts';
import type { ComplianceClient } from '../../../src/fetch/client/compliance-client.ts';
import type { Dataset } from '../../../src/fetch/dataset.ts';
import type { Renderer } from '../../../src/render/renderer.ts';
import { inProcessSandbox } from '../in-process-sandbox.ts';

const NOW = Date.parse('2026-11-20T10:00:00Z');

export interface AnsweringService {
  readonly client: ComplianceClient;
  /** The number of responses so far. Each has another figure. */
  readonly answers: () => number;
}

/** Recorded once from the sandbox for all worlds of a file. */
export async function recordedAnswers(): Promise<(truncated: () => boolean) => AnsweringService> {
  const sandbox = inProcessSandbox({ now: NOW });
  const catalog: Catalog = catalogSchema.parse((await sandbox.get(PATHS.catalog(101))).body);
  const known = new Map<string, ReportResponse>();
  const answer = async (request: ReportRequest): Promise<ReportResponse> => {
    const key = JSON.stringify(request);
    const found = known.get(key) ?? (await sandbox.answered(request));
    known.set(key, found);
    return found;
  };
  return (truncated) => {
    let answers = 0;
    return {
      answers: () => answers,
      client: {
        service: 'http://sandbox.test',
        requestTimeoutMs: 1_000,
        organizations: async () => [],
        catalog: async () => catalog,
        report: async (_, request) => {
          answers += 1;
          const { meta, rows, ...rest } = structuredClone(await answer(request));
          for (const row of rows) for (const metric of request.metrics) row[metric] = 1_000 + answers;
          return { body: { ...rest, rows, meta: { ...meta, truncated: truncated() } }, correlationId: null };
        },
        listPage: () => Promise.reject(new Error('no lists')),
        close: async () => {},
      },
    };
  };
}

/** The text of a pack: the figures, the printed comments, and the line of the approval. */
export const packText = ({ tables, comments = [] }: Dataset): string =>
  JSON.stringify({ tables: tables.map(({ id, rows }) => ({ id, rows })), comments });

export const bodyHashOf = (pack: string): string => sha256(pack.split('\nApproved by ')[0] ?? '');

/** Renders a pack of one file, and a mail with the hash of the file without the approval's line. */
export const packRenderer: Renderer = async ({ dataset, files: { folder } }) => {
  const text = packText(dataset);
  const names = dataset.approval?.by.map(({ name }) => name) ?? [];
  const file = names.length === 0 ? text : `${text}\nApproved by ${names.join(', ')}`;
  const path = join(folder, 'kpis.csv');
  await writeFile(path, file);
  const body = `BODY ${bodyHashOf(file)}`;
  return {
    artifacts: [
      {
        name: 'kpis.csv',
        format: 'csv',
        mediaType: 'text/csv; charset=utf-8',
        path,
        bytes: Buffer.byteLength(file),
        sha256: sha256(file),
      },
    ],
    mail: { body: 'full', html: `<p>${body}</p>`, text: body, pictures: [] },
  };
};
