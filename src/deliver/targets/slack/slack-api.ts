import { z } from 'zod';
import type { Clock } from '../../../base/clock.ts';
import { parseRetryAfter } from '../../../base/net/retry-after.ts';
import type { Redact } from '../../../base/secrets/redactor.ts';
import type { Secret, SecretSource } from '../../../base/secrets/secret.ts';
import type { AttemptResult } from '../../attempt.ts';
import type { Fence } from '../../internal/fence.ts';
import { guardedPost, type PostOptions, type PostResult } from '../guarded-post.ts';
import { urlRedactor } from '../post-url.ts';

/** The result of one request to Slack. */
export type SlackReply =
  | { readonly kind: 'ok'; readonly body: unknown }
  /** Nothing was done: HTTP 200 with `ok: false`, or a status that refuses. `error` is Slack's code. */
  | { readonly kind: 'refused'; readonly error: string; readonly result: AttemptResult }
  /** Nothing was done, but a later request may succeed. */
  | { readonly kind: 'pending'; readonly result: AttemptResult }
  /** The request may have been processed. */
  | { readonly kind: 'lost'; readonly detail: string };

/** Errors with `ok: false` that pass by themselves. */
const TRANSIENT = new Set([
  'ratelimited',
  'rate_limited',
  'request_timeout',
  'service_unavailable',
  'team_added_to_org',
  'org_login_required',
]);
/**
 * Slack says about the first two: "It's possible some aspect of the operation succeeded before the error was raised".
 * The third is about one of several files, so that others may be shared.
 */
const UNCERTAIN = new Set(['fatal_error', 'internal_error', 'file_update_failed']);

const NEW_TOKEN = 'Install the app again, and put its new bot token where the reference points.';
const NEXT: Readonly<Record<string, string>> = {
  not_in_channel: 'Invite the app into the channel: /invite @<app>.',
  channel_not_found: 'Correct the channel id, or invite the app into the private channel.',
  invalid_channel: 'Correct the channel id, or invite the app into the private channel.',
  is_archived: 'Unarchive the channel, or name another one.',
  missing_scope: 'Add the scopes that the how-to names to the app, and install it again.',
  invalid_auth: NEW_TOKEN,
  not_authed: NEW_TOKEN,
  token_revoked: NEW_TOKEN,
  token_expired: NEW_TOKEN,
  account_inactive: NEW_TOKEN,
};

/** Large, because `files.info` repeats the beginning of text files. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
const CONNECT_TIMEOUT_MS = 5_000;
const UPLOAD_TIMEOUT_MS = 2 * 60_000;

const replySchema = z.looseObject({ ok: z.boolean(), error: z.string().optional(), needed: z.string().optional() });

export interface SlackClientOptions {
  /** Base URL of the Web API, without a slash at its end. */
  readonly apiUrl: string;
  readonly token: Secret;
  readonly secrets: SecretSource;
  readonly options: Omit<PostOptions, 'signal' | 'fence'>;
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, 'now'>;
}

/** A client of Slack's Web API. It sends fields as Slack's own libraries do: as a form, with lists as JSON. */
export function slackClient({ apiUrl, token, secrets, options, signal, clock }: SlackClientOptions) {
  const { redact } = secrets.redactor;
  return {
    /** @param fence for a call that makes something visible or sends content */
    call: async (method: string, fields: Readonly<Record<string, string>>, fence?: Fence): Promise<SlackReply> => {
      const headers = {
        authorization: `Bearer ${token.reveal()}`,
        'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
        'user-agent': 'docket',
      };
      const url = new URL(`${apiUrl}/${method}`);
      const maxResponseBytes = MAX_RESPONSE_BYTES;
      const request = { ...options, redact, signal, fence, maxResponseBytes };
      const posted = await guardedPost(url, headers, new URLSearchParams(fields).toString(), request);
      return readReply(posted, clock.now(), redact);
    },
    /** Uploads a file's bytes, the second step of an upload. Anybody can use the URL once, so it is never shown. */
    upload: async (url: URL, bytes: Uint8Array, fence?: Fence): Promise<SlackReply> => {
      const posted = await guardedPost(
        url,
        { 'content-type': 'application/octet-stream', 'user-agent': 'docket' },
        bytes,
        {
          timeouts: { connect: CONNECT_TIMEOUT_MS, answer: UPLOAD_TIMEOUT_MS },
          ...options,
          redact: urlRedactor(url, true, secrets),
          signal,
          fence,
        },
      );
      const isDone = posted.kind === 'answered' && posted.status >= 200 && posted.status < 300;
      return isDone ? { kind: 'ok', body: undefined } : readReply(posted, clock.now(), redact);
    },
  };
}
export type SlackClient = ReturnType<typeof slackClient>;

const pending = (detail: string, more: Partial<AttemptResult> = {}): SlackReply => ({
  kind: 'pending',
  result: { state: 'pending', detail, ...more },
});

/**
 * | response                                           | reply                                          |
 * |----------------------------------------------------|------------------------------------------------|
 * | 200 with `ok: true`                                | ok                                             |
 * | 200 with `ok: false`                               | refused; pending for temporary errors; lost    |
 * |                                                    | for errors that may follow a success           |
 * | 429                                                | pending, not before `Retry-After`              |
 * | 5xx, 408, or 2xx without Slack's JSON              | lost                                           |
 * | other statuses, e.g. redirects; a private address  | refused                                        |
 * | no connection; not confirmed                       | pending                                        |
 * | connected, but no complete response                | lost                                           |
 */
function readReply(posted: PostResult, now: number, redact: Redact): SlackReply {
  if (posted.kind === 'withheld') return pending(posted.reason);
  if (posted.kind === 'lost') return { kind: 'lost', detail: posted.reason };
  if (posted.kind === 'unsent') {
    if (posted.forbidden) return refused('forbidden', posted.reason);
    return pending(`Not connected: ${posted.reason}`, { targetDown: true });
  }
  const { status } = posted;
  const detail = `HTTP ${status}${posted.text === '' ? '' : ` ${posted.text}`}`;
  if (status === 429) {
    const wait = parseRetryAfter(posted.retryAfter, posted.date, now) ?? 0;
    return pending(detail, wait > 0 ? { notBefore: now + wait } : {});
  }
  const reply = status >= 200 && status < 300 ? parseReply(posted.raw) : undefined;
  if (reply?.ok === true) return { kind: 'ok', body: reply };
  if (reply !== undefined) {
    const error = redact(reply.error ?? 'no error named').slice(0, 100);
    if (UNCERTAIN.has(error)) return { kind: 'lost', detail: `Slack answers ${error}` };
    if (TRANSIENT.has(error)) return pending(`Slack answers ${error}.`);
    const needed = reply.needed === undefined ? '' : ` (needed: ${redact(reply.needed).slice(0, 200)})`;
    const next = Object.hasOwn(NEXT, error) ? ` ${NEXT[error]}` : '';
    return refused(error, `Slack answers ${error}${needed}.${next}`);
  }
  if (status === 408 || status >= 500 || status < 300) return { kind: 'lost', detail };
  return refused(`HTTP ${status}`, status < 400 ? `${detail} (redirects are not followed)` : detail);
}

const refused = (error: string, detail: string): SlackReply => ({
  kind: 'refused',
  error,
  result: { state: 'refused', detail },
});

function parseReply(raw: string): z.infer<typeof replySchema> | undefined {
  try {
    return replySchema.safeParse(JSON.parse(raw)).data;
  } catch {
    return undefined;
  }
}
