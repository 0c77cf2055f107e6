import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const SLACK_TOKEN = 'xoxb-1234-5678-abcdefghijkl';
export const CHANNEL = 'C0123ABCDEF';
export const PRIVATE_CHANNEL = 'G0123ABCDEF';

/** The steps of a delivery at which something can go wrong. */
export type SlackStep =
  | 'chat.postMessage'
  | 'files.getUploadURLExternal'
  | 'upload'
  | 'files.completeUploadExternal'
  | 'files.info'
  | 'conversations.info';

/**
 * `before`: responds with this instead of doing it; `after`: does it first. `cut` closes the connection without a response.
 * `unshared`: completes the upload, but never shares the file.
 */
export type SlackFault =
  | { readonly when: 'before' | 'after'; readonly error: string; readonly needed?: string }
  | {
      readonly when: 'before' | 'after';
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly text?: string;
    }
  | { readonly when: 'before' | 'after'; readonly cut: true }
  | { readonly when: 'after'; readonly unshared: true };

export interface SlackRequest {
  readonly step: SlackStep;
  readonly authorization: string | undefined;
  readonly fields: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface StoredFile {
  readonly name: string;
  readonly length: number;
  bytes: Buffer | undefined;
  completed: boolean;
  /** The number of `files.info` requests until the shares show. Slack shares a file after its checks. */
  looks: number;
  channel: string | undefined;
}

/** A message that people in the channel see. */
export interface SlackPosted {
  readonly channel: string;
  readonly text: string;
  readonly blocks: unknown;
  readonly files: readonly { readonly name: string; readonly bytes: string }[];
}

/**
 * Slack's Web API, as its documentation describes it: answers of `ok: false` with HTTP 200, forms, uploads in three steps that
 * nobody sees before the third, and files that are shared some time after that step was answered.
 *
 * Answers are those of docs.slack.dev/reference/methods/: chat.postMessage, files.getUploadURLExternal,
 * files.completeUploadExternal ("This method can only be called once"; "file_not_found: Could not find the file from the upload
 * ticket"), files.info (`shares` of docs.slack.dev/reference/objects/file-object), conversations.info; HTTP 429 with
 * `Retry-After` of docs.slack.dev/apis/web-api/rate-limits; delayed shares of github.com/slackapi/bolt-js/issues/2115 and
 * shares that never come of github.com/paradigmxyz/centaur/pull/311.
 */
export async function slackServer({ looks = 1 }: { readonly looks?: number } = {}) {
  const requests: SlackRequest[] = [];
  const posted: SlackPosted[] = [];
  const files = new Map<string, StoredFile>();
  const faults = new Map<SlackStep, SlackFault>();
  const state = { archived: false, member: true, revoked: false };
  let base = '';
  let onStep: (step: SlackStep, when: 'before' | 'after') => 'drop' | undefined = () => undefined;

  const contentOf = (ids: readonly string[]) =>
    ids.map((id) => ({ name: files.get(id)?.name ?? '', bytes: files.get(id)?.bytes?.toString() ?? '' }));

  /** Carries out a method and returns its response. */
  const act = (step: SlackStep, fields: Readonly<Record<string, string>>, body: Buffer): Record<string, unknown> => {
    const postable = (): string | undefined =>
      ![CHANNEL, PRIVATE_CHANNEL].includes(fields.channel ?? fields.channel_id ?? '')
        ? 'channel_not_found'
        : state.archived
          ? 'is_archived'
          : state.member
            ? undefined
            : 'not_in_channel';
    switch (step) {
      case 'chat.postMessage': {
        const error = postable();
        if (error !== undefined) return { ok: false, error };
        const { channel = '', text = '', blocks = '[]' } = fields;
        posted.push({ channel, text, blocks: JSON.parse(blocks), files: [] });
        return { ok: true, channel, ts: `1503435956.${String(posted.length).padStart(6, '0')}` };
      }
      case 'files.getUploadURLExternal': {
        const { filename = '', length = '0' } = fields;
        if (Number(length) === 0) return { ok: false, error: 'missing_argument' };
        const id = `F${String(files.size + 1).padStart(9, '0')}`;
        const added = { name: filename, length: Number(length), bytes: undefined, completed: false };
        files.set(id, { ...added, looks: 0, channel: undefined });
        return { ok: true, upload_url: `${base}/upload/v1/${id}-a1b2c3d4e5f6a7b8`, file_id: id };
      }
      case 'upload': {
        const file = files.get(fields.id ?? '');
        if (file === undefined || body.length !== file.length) return { ok: false };
        file.bytes = body;
        return { ok: true };
      }
      case 'files.completeUploadExternal': {
        const ids = (JSON.parse(fields.files ?? '[]') as { id: string }[]).map(({ id }) => id);
        if (ids.some((id) => files.get(id)?.bytes === undefined || files.get(id)?.completed === true))
          return { ok: false, error: 'file_not_found' };
        const error = postable();
        if (error !== undefined) return { ok: false, error };
        const { channel_id: channel = '', blocks = '[]' } = fields;
        const isShared = !('unshared' in (faults.get(step) ?? {}));
        for (const id of ids) {
          const file = files.get(id);
          if (file === undefined) continue;
          file.completed = true;
          if (isShared) file.channel = channel;
        }
        if (isShared) posted.push({ channel, text: '', blocks: JSON.parse(blocks), files: contentOf(ids) });
        return { ok: true, files: ids.map((id) => ({ id, title: files.get(id)?.name })) };
      }
      case 'files.info': {
        const file = files.get(fields.file ?? '');
        if (file === undefined) return { ok: false, error: 'file_not_found' };
        file.looks += 1;
        const share = { ts: '1531763348.000001', channel_name: 'reports', team_id: 'T061EG9R6' };
        const kind = file.channel?.startsWith('G') ? 'private' : 'public';
        const shares = file.channel === undefined || file.looks < looks ? {} : { [kind]: { [file.channel]: [share] } };
        return { ok: true, file: { id: fields.file, name: file.name, size: file.length, shares } };
      }
      case 'conversations.info':
        return fields.channel === CHANNEL
          ? {
              ok: true,
              channel: { id: CHANNEL, name: 'reports', is_archived: state.archived, is_member: state.member },
            }
          : { ok: false, error: 'channel_not_found' };
    }
  };

  const answerFault = (fault: SlackFault, response: ServerResponse): void => {
    if ('cut' in fault) response.socket?.destroy();
    else if ('status' in fault) response.writeHead(fault.status, fault.headers ?? {}).end(fault.text ?? '');
    else if ('error' in fault) {
      const { error, needed } = fault;
      const body = { ok: false, error, ...(needed === undefined ? {} : { needed, provided: 'chat:write' }) };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    }
  };

  const handle = (request: IncomingMessage, response: ServerResponse, body: Buffer): void => {
    const path = request.url ?? '';
    const [, id] = /^\/upload\/v1\/(F\d+)-/.exec(path) ?? [];
    const step = (id === undefined ? path.replace('/api/', '') : 'upload') as SlackStep;
    const fields = id === undefined ? Object.fromEntries(new URLSearchParams(body.toString('utf8'))) : { id };
    const { authorization } = request.headers;
    requests.push({ step, authorization, fields, body });
    const fault = faults.get(step);
    if (onStep(step, 'before') === 'drop') {
      response.socket?.destroy();
      return;
    }
    if (fault?.when === 'before') {
      answerFault(fault, response);
      return;
    }
    const isKnown = step === 'upload' || authorization === `Bearer ${SLACK_TOKEN}`;
    const answer = !isKnown
      ? { ok: false, error: 'invalid_auth' }
      : state.revoked && step !== 'upload'
        ? { ok: false, error: 'token_revoked' }
        : act(step, fields, body);
    onStep(step, 'after');
    if (fault !== undefined && !('unshared' in fault)) answerFault(fault, response);
    else if (step === 'upload') response.writeHead(answer.ok === true ? 200 : 400).end(`OK - ${body.length}`);
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  };

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    handle(request, response, Buffer.concat(chunks));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    apiUrl: `${base}/api`,
    requests,
    /** What people see. */
    posted,
    state,
    /** Sets a fault from the next request on; undefined removes it. */
    fail: (step: SlackStep, fault: SlackFault | undefined): void => {
      if (fault === undefined) faults.delete(step);
      else faults.set(step, fault);
    },
    /** Called before a request is processed, where `drop` loses it, and after it, before the response. */
    watch: (watcher: typeof onStep): void => {
      onStep = watcher;
    },
    /** Uploads that were discarded because nobody completed them in time. */
    discardUploads: (): void => {
      for (const file of files.values()) if (!file.completed) file.bytes = undefined;
    },
    steps: (): readonly SlackStep[] => requests.map(({ step }) => step),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
export type SlackServer = Awaited<ReturnType<typeof slackServer>>;
