import { buffer } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerSession } from 'smtp-server';

/**
 * What the server does to a recipient: answers 550 or 450 to RCPT, takes the whole message and breaks the connection
 * without a reply, or takes it and never answers.
 */
export type Treatment = 'refuse' | 'defer' | 'drop' | 'hang';

/** A message that arrived whole, whether or not the sender was told. */
export interface Arrived {
  readonly run: string;
  readonly messageId: string;
  readonly to: readonly string[];
  readonly answered: boolean;
}

export interface RecordedMailServer {
  readonly url: string;
  arrived(): readonly Arrived[];
  /** Resolves when a message to a recipient that is treated with `hang` has arrived. */
  readonly hanging: Promise<void>;
  close(): Promise<void>;
}

const headerOf = (raw: string, name: string): string =>
  new RegExp(`^${name}: *(?:\\r\\n )?(\\S+)`, 'im').exec(raw.slice(0, raw.indexOf('\r\n\r\n')))?.[1] ?? '';

/** A mail server of this machine. @param treatments by address; every other recipient is accepted */
export async function recordedMailServer(
  treatments: Readonly<Record<string, Treatment>> = {},
): Promise<RecordedMailServer> {
  const arrived: Arrived[] = [];
  let hang = () => {};
  const hanging = new Promise<void>((resolve) => {
    hang = resolve;
  });
  const breakOff = (session: SMTPServerSession): void => {
    for (const connection of server.connections) if (connection.session === session) connection._socket.destroy();
  };
  const server: SMTPServer = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    logger: false,
    disableReverseLookup: true,
    closeTimeout: 100,
    onRcptTo: ({ address }, _, callback) => {
      const treatment = treatments[address];
      if (treatment === 'refuse') callback(Object.assign(new Error('No such mailbox'), { responseCode: 550 }));
      else if (treatment === 'defer') callback(Object.assign(new Error('Try again later'), { responseCode: 450 }));
      else callback();
    },
    onData: async (stream, session, callback) => {
      const raw = (await buffer(stream)).toString('latin1');
      const to = session.envelope.rcptTo.map(({ address }) => address);
      const treatment = to.map((address) => treatments[address]).find((each) => each === 'drop' || each === 'hang');
      arrived.push({
        run: headerOf(raw, 'X-Docket-Run'),
        messageId: headerOf(raw, 'Message-ID'),
        to,
        answered: treatment === undefined,
      });
      if (treatment === 'drop') breakOff(session);
      else if (treatment === 'hang') hang();
      else callback(null, 'Accepted');
    },
  });
  server.on('error', () => {});
  const port = await new Promise<number>((resolve, reject) => {
    server.once('error', reject);
    const listener = server.listen(0, '127.0.0.1', () => {
      const address = listener.address();
      if (address === null || typeof address === 'string') reject(new Error('No port was bound'));
      else resolve(address.port);
    });
  });
  return {
    url: `smtp://127.0.0.1:${port}`,
    arrived: () => [...arrived],
    hanging,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
      }),
  };
}
