import { readFileSync } from 'node:fs';
import type { Admin } from '../env.ts';
import { referenceOf } from './operations.ts';
import { ReferencePage } from './reference.tsx';

const ASSETS = { style: '/api/docs/docs.css', script: '/api/docs/docs.js' } as const;

/**
 * `GET /api/docs`: the document as a page to read and to try. Like the document it needs no token, and says nothing of
 * this installation. It loads its own two files and nothing else.
 * @param document as `/openapi.json` has it; asked for when the page is
 */
export function addReference(app: Admin, document: () => unknown): void {
  const file = (name: string): string => readFileSync(new URL(`./${name}`, import.meta.url), 'utf8');
  const style = file('docs.css');
  const script = file('docs.js');
  let page: string | undefined;
  app.get('/api/docs', (context) => {
    page ??= `<!doctype html>${<ReferencePage reference={referenceOf(document())} assets={ASSETS} />}`;
    return context.html(page);
  });
  app.get(ASSETS.style, (context) => context.body(style, 200, { 'Content-Type': 'text/css; charset=utf-8' }));
  app.get(ASSETS.script, (context) => context.body(script, 200, { 'Content-Type': 'text/javascript; charset=utf-8' }));
}
