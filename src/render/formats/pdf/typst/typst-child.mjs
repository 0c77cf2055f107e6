// Runs in its own process: compiles one document and sends the result. typst-compiler.ts limits its time and memory. It
// is JavaScript, so that it runs both from the sources and from the build.
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';
import { NodeCompiler, PdfStandard } from '@myriaddreamin/typst-ts-node-compiler';

/** @typedef {import('./typst-job.ts').TypstDiagnostic} TypstDiagnostic */
/** @typedef {import('./typst-job.ts').TypstJob} TypstJob */
/** @typedef {import('./typst-job.ts').TypstResult} TypstResult */

/** Not a folder on the disk: a document can read only the files that were sent. */
const ROOT = resolve('/docket-document.invalid');
const SEVERITY_ERROR = 1;
/** Typst appends hints to the message. */
const HINTS = /, hints: /;

/** @param {string} text */
const withoutRoot = (text) => text.replaceAll(`${ROOT}/`, '').replaceAll(ROOT, '');

/**
 * @param {NodeCompiler} compiler
 * @param {import('@myriaddreamin/typst-ts-node-compiler').NodeError} error
 * @returns {TypstDiagnostic[]}
 */
function collectDiagnostics(compiler, error) {
  return compiler
    .fetchDiagnostics(error)
    .filter(({ severity }) => severity === SEVERITY_ERROR)
    .map(({ message, path, range }) => {
      const [text = message, ...hints] = withoutRoot(message).split(HINTS);
      return {
        message: text,
        path: path.startsWith(ROOT) ? withoutRoot(path.replaceAll('\\', '/')) : null,
        // Typst counts from 0.
        line: (range?.start.line ?? 0) + 1,
        column: (range?.start.character ?? 0) + 1,
        hints,
      };
    });
}

/**
 * Export errors give their position in numbers that only Typst understands. The message is included in the text.
 *
 * @param {unknown} thrown
 * @returns {TypstDiagnostic[]}
 */
function exportDiagnostics(thrown) {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  const messages = [...text.matchAll(/message: ("(?:[^"\\]|\\.)*")/g)].map(([, quoted = '""']) =>
    quoted.slice(1, -1).replaceAll(/\\(.)/g, '$1'),
  );
  const distinct = [...new Set(messages.length === 0 ? [text] : messages)];
  return distinct.map((message) => ({ message: withoutRoot(message), path: null, line: 1, column: 1, hints: [] }));
}

function usage() {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  return { cpuMs: (userCPUTime + systemCPUTime) / 1000, rssMb: maxRSS / 1024 };
}

/**
 * @param {TypstJob} job
 * @returns {TypstResult}
 */
function compile({ main, files, fontFiles, fonts, madeAt }) {
  const compiler = NodeCompiler.create({
    workspace: ROOT,
    fontArgs: [{ fontPaths: [...fontFiles] }, { fontBlobs: fonts.map((font) => Buffer.from(font)) }],
  });
  for (const { path, bytes } of files) compiler.mapShadow(resolve(ROOT, path), Buffer.from(bytes));
  try {
    const compiled = compiler.compile({ mainFilePath: resolve(ROOT, main) });
    const error = compiled.takeError();
    if (error !== null) return { kind: 'failed', diagnostics: collectDiagnostics(compiler, error) };
    const { result: document } = compiled;
    if (document === null) throw new Error('the compiler gave no document');
    const pdf = compiler.pdf(document, { pdfStandard: PdfStandard.UA_1, creationTimestamp: madeAt });
    return { kind: 'done', pdf: new Uint8Array(pdf), usage: usage() };
  } catch (thrown) {
    return { kind: 'failed', diagnostics: exportDiagnostics(thrown) };
  }
}

/** If memory runs out nevertheless, the system should end this process rather than the worker. Linux only. */
function preferToBeEnded() {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // This is another system, or one that does not allow it.
  }
}

preferToBeEnded();
process.once('message', (job) => {
  process.send?.(compile(/** @type {TypstJob} */ (job)), () => process.disconnect());
});
