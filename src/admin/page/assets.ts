import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Where the page's own files are. The name holds the hash of the content, so that they may be kept for ever. */
export interface Assets {
  readonly style: string;
  readonly script: string;
  readonly icon: string;
}

interface Asset {
  readonly type: string;
  readonly body: string;
}

/** The files that stand beside this one, by the path at which they are served. */
export interface KeptAssets {
  readonly urls: Assets;
  readonly files: ReadonlyMap<string, Asset>;
}

/** Reads them once: they do not change while a process runs. */
export function readAssets(): KeptAssets {
  const files = new Map<string, Asset>();
  const keep = (name: string, ending: string, type: string): string => {
    const body = readFileSync(new URL(`./${name}.${ending}`, import.meta.url), 'utf8');
    const hash = createHash('sha256').update(body).digest('hex').slice(0, 16);
    const path = `/assets/${name}.${hash}.${ending}`;
    files.set(path, { type, body });
    return path;
  };
  const urls: Assets = {
    style: keep('docket', 'css', 'text/css; charset=utf-8'),
    script: keep('docket', 'js', 'text/javascript; charset=utf-8'),
    icon: keep('docket', 'svg', 'image/svg+xml'),
  };
  return { urls, files };
}
