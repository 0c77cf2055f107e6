import { createHmac } from 'node:crypto';
import { DocketError } from '../base/error.ts';
import type { Secret } from '../base/secret.ts';
import type { Artifact } from '../render/artifact.ts';
import type { Manifest } from './archive.ts';

/** A file as a webhook tells of it. */
export interface WebhookFile {
  readonly name: string;
  readonly media_type: string;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
  /** Where other targets of the report have put it: `s3://bucket/key`, `sftp://…`, the path of a directory. */
  readonly links: readonly string[];
}

/** The receiver's limit is not known to us; this is far above any report and far below what would hurt it. */
const MAX_BODY = 1024 * 1024;

/**
 * The body of a webhook: what was made and where it is, no figures. `links` by the file's name.
 * Throws `deliver.target_refused` when it is too large.
 */
export function webhookBody(
  manifest: Manifest,
  artifacts: readonly Artifact[],
  links: ReadonlyMap<string, readonly string[]>,
): string {
  const { run, org, organization, report, title, slot, period, incomplete, made_at } = manifest;
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
      slot,
      period,
      incomplete: incomplete.map(({ section, code, text }) => ({ section, code, text })),
      files,
    },
  });
  if (Buffer.byteLength(body) <= MAX_BODY) return body;
  throw new DocketError('deliver.target_refused', 'The report is too large to tell a webhook of it.', {
    expected: `at most ${MAX_BODY} bytes of JSON`,
    got: `${Buffer.byteLength(body)} bytes, ${files.length} files`,
  });
}

const PREFIX = 'whsec_';
const MIN_KEY = 24;
const MAX_KEY = 64;

/**
 * The key of the signature: `whsec_` and base64 of 24 to 64 bytes (Standard Webhooks).
 * Throws `config.invalid`, which does not repeat it.
 */
export function signingKey(secret: Secret): Buffer {
  const text = secret.reveal();
  const encoded = text.startsWith(PREFIX) ? text.slice(PREFIX.length) : '';
  const key = Buffer.from(encoded, 'base64');
  const whole = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) && key.length >= MIN_KEY && key.length <= MAX_KEY;
  if (whole) return key;
  throw new DocketError('config.invalid', 'The secret of a webhook is not one.', {
    expected: `whsec_ and base64 of ${MIN_KEY} to ${MAX_KEY} bytes`,
    got: 'another text (not shown)',
    next: 'Make one: echo "whsec_$(openssl rand -base64 32)", and give it to the receiver too.',
  });
}

/**
 * Headers of the Standard Webhooks convention, version 1: an id that stays the same when it is sent again, the second it
 * was sent at, and HMAC-SHA256 over id, second and body.
 */
export function signedHeaders(id: string, atMs: number, body: string, key: Buffer): Record<string, string> {
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
