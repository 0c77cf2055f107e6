import { createHmac } from 'node:crypto';
import { DocketError } from '../../../base/error.ts';
import type { Secret } from '../../../base/secrets/secret.ts';
import type { Artifact } from '../../../render/artifact.ts';
import type { Manifest } from '../../archive/archive.ts';

/** One entry of `data.files`. */
interface WebhookFile {
  readonly name: string;
  readonly media_type: string;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
  /** Where other targets of the report put the file: `s3://bucket/key`, `sftp://…`, or a directory's path. */
  readonly links: readonly string[];
}

/** Receivers do not publish their limit. Bodies of real reports are far smaller than this. */
const MAX_BODY_BYTES = 1024 * 1024;

/**
 * Makes a webhook's body: the run's files, where they are, and the figures that have a usual range. Throws
 * `deliver.target_refused` when it is too large.
 * @param links locations by file name
 * @param figures whether the body may contain figures
 */
export function webhookBody(
  manifest: Manifest,
  artifacts: readonly Artifact[],
  links: ReadonlyMap<string, readonly string[]>,
  figures = false,
): string {
  const { run, org, organization, report, title, desk, slot, period, incomplete, ranges, made_at } = manifest;
  const files = artifacts.map(
    ({ name, mediaType, bytes, sha256 }): WebhookFile => ({
      name,
      media_type: mediaType,
      bytes,
      sha256,
      links: links.get(name) ?? [],
    }),
  );
  const body = JSON.stringify({
    type: 'report.made',
    timestamp: made_at,
    data: {
      run,
      org,
      organization,
      report,
      title,
      ...(desk === undefined ? {} : { split: desk }),
      slot,
      period,
      incomplete: incomplete.map(({ section, code, text }) => ({ section, code, text })),
      ...(figures && ranges !== undefined ? { ranges: ranges.map(({ headline: _, ...range }) => range) } : {}),
      files,
    },
  });
  if (Buffer.byteLength(body) <= MAX_BODY_BYTES) return body;
  throw new DocketError('deliver.target_refused', 'The description of the report is too large for a webhook.', {
    expected: `at most ${MAX_BODY_BYTES} bytes of JSON`,
    got: `${Buffer.byteLength(body)} bytes, ${files.length} files`,
  });
}

const SECRET_PREFIX = 'whsec_';
const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;

/**
 * Parses the signing key: `whsec_` and base64 of 24 to 64 bytes (Standard Webhooks). Throws `config.invalid`, which
 * never contains the value.
 */
export function parseWebhookSecret(secret: Secret): Buffer {
  const text = secret.reveal();
  const encoded = text.startsWith(SECRET_PREFIX) ? text.slice(SECRET_PREFIX.length) : '';
  const key = Buffer.from(encoded, 'base64');
  const valid =
    /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) && key.length >= MIN_SECRET_BYTES && key.length <= MAX_SECRET_BYTES;
  if (valid) return key;
  throw new DocketError('config.invalid', 'The secret of a webhook is invalid.', {
    expected: `whsec_ and base64 of ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes`,
    got: 'a text in another form (not shown)',
    next: 'Create one with echo "whsec_$(openssl rand -base64 32)", and give it to the receiver as well.',
  });
}

/**
 * The headers of Standard Webhooks v1: an id that retries share, the time in seconds, and HMAC-SHA256 over id, time and
 * body.
 */
export function signatureHeaders(id: string, atMs: number, body: string, key: Buffer): Record<string, string> {
  const second = String(Math.floor(atMs / 1000));
  const signature = createHmac('sha256', key).update(`${id}.${second}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'user-agent': 'docket',
    'webhook-id': id,
    'webhook-timestamp': second,
    'webhook-signature': `v1,${signature}`,
  };
}
