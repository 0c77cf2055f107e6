import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

/** The paths of the page's assets. Names contain a hash of the content, so browsers can cache them forever. */
export interface AssetUrls {
  readonly style: string;
  readonly script: string;
  /** The script for keyboard shortcuts and the command palette. */
  readonly keys: string;
  readonly icon: string;
}

interface Asset {
  readonly type: string;
  readonly body: string;
  /** The body for clients that accept gzip. Assets contain no secrets, so their compressed size reveals nothing. */
  readonly gzipped: Uint8Array<ArrayBuffer>;
}

export interface PageAssets {
  readonly urls: AssetUrls;
  /** Assets by path. */
  readonly files: ReadonlyMap<string, Asset>;
}

/** Reads the assets from the folder of this module. */
export function readAssets(): PageAssets {
  const files = new Map<string, Asset>();
  const read = (name: string, extension: string, type: string): string => {
    const body = readFileSync(new URL(`./${name}.${extension}`, import.meta.url), 'utf8');
    const hash = createHash('sha256').update(body).digest('hex').slice(0, 16);
    const path = `/assets/${name}.${hash}.${extension}`;
    files.set(path, { type, body, gzipped: new Uint8Array(gzipSync(body, { level: 9 })) });
    return path;
  };
  const urls: AssetUrls = {
    style: read('docket', 'css', 'text/css; charset=utf-8'),
    script: read('docket', 'js', 'text/javascript; charset=utf-8'),
    keys: read('keys', 'js', 'text/javascript; charset=utf-8'),
    icon: read('docket', 'svg', 'image/svg+xml'),
  };
  return { urls, files };
}
