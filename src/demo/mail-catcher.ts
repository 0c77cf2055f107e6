import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';

/** A caught message: its envelope, and the file with its exact bytes. */
export interface CaughtMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Absolute path of the `.eml` file. */
  readonly path: string;
}

export interface MailCatcher {
  /** Value for `SMTP_URL`. */
  readonly url: string;
  /** All messages so far, in order of arrival. */
  messages(): readonly CaughtMail[];
  /** Resolves when this many messages have been caught. Rejects if the catcher closes before. */
  waitForMessages(count: number): Promise<void>;
  close(): Promise<void>;
}

/** Larger than any message from Docket (10 MB of attachments, plus a third for base64). */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

/**
 * An SMTP server on this machine that delivers nothing. Every message becomes `<folder>/<nnnn>-<recipient>.eml`,
 * complete on disk before the server answers 250. It has no TLS and no login, because it only listens on the loopback
 * interface.
 * @param port 0 for a free one
 */
export async function createMailCatcher(folder: string, port = 0): Promise<MailCatcher> {
  const directory = resolve(folder);
  await mkdir(directory, { recursive: true });
  const caught: CaughtMail[] = [];
  const waiters = new Set<{ count: number; resolve: () => void; reject: (reason: Error) => void }>();
  let accepted = 0;

  const keep = async (from: string, to: readonly string[], bytes: Uint8Array): Promise<void> => {
    accepted += 1;
    const recipient = (to[0] ?? 'nobody').replace(/[^A-Za-z0-9.@_-]/g, '_').slice(0, 80);
    const path = join(directory, `${String(accepted).padStart(4, '0')}-${recipient}.eml`);
    await writeFile(`${path}.part`, bytes);
    await rename(`${path}.part`, path);
    caught.push({ from, to, path });
    for (const waiter of waiters) {
      if (caught.length < waiter.count) continue;
      waiters.delete(waiter);
      waiter.resolve();
    }
  };

  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    size: MAX_MESSAGE_BYTES,
    logger: false,
    disableReverseLookup: true,
    closeTimeout: 1_000,
    onData: (stream, session, callback) => {
      const { mailFrom, rcptTo } = session.envelope;
      const to = rcptTo.map(({ address }) => address);
      buffer(stream)
        .then(async (bytes) => {
          if (stream.sizeExceeded) throw Object.assign(new Error('Message too large'), { responseCode: 552 });
          await keep(mailFrom === false ? '' : mailFrom.address, to, bytes);
        })
        .then(
          () => callback(null, 'Caught'),
          (error: unknown) => callback(error instanceof Error ? error : new Error(String(error))),
        );
    },
  });

  const bound = await new Promise<number>((resolvePort, reject) => {
    server.once('error', reject);
    const listener = server.listen(port, '127.0.0.1', () => {
      const address = listener.address();
      if (address === null || typeof address === 'string') return reject(new Error('No port was bound'));
      server.removeListener('error', reject);
      // A client may drop its connection. Without a listener, the error would end the process.
      server.on('error', () => {});
      resolvePort(address.port);
    });
  });

  return {
    url: `smtp://127.0.0.1:${bound}`,
    messages: () => [...caught],
    waitForMessages: (count) =>
      caught.length >= count
        ? Promise.resolve()
        : new Promise((resolveWait, reject) => waiters.add({ count, resolve: resolveWait, reject })),
    close: () =>
      new Promise((closed) => {
        for (const { reject, count } of waiters) {
          reject(new Error(`The mail catcher closed with ${caught.length} of ${count} messages`));
        }
        waiters.clear();
        server.close(() => closed());
      }),
  };
}
