import { createServer, type Server, type Socket } from 'node:net';

/** The steps of a conversation at which the server can misbehave. */
export type SmtpStep = 'greeting' | 'EHLO' | 'AUTH' | 'RSET' | 'MAIL' | 'RCPT' | 'DATA' | 'body' | 'dot';

/**
 * What the server does at a step: says a line (at `RCPT`: to the recipients in `only`), closes (`FIN`), resets (`RST`),
 * stays silent (`hang`), says an incomplete line and closes (`cut`), repeats the client's credentials after this code
 * (`echo`), or calls the test, which decides when to continue (`meanwhile`).
 */
export type SmtpAct =
  | { say: string; only?: RegExp }
  | { echo: string }
  | { cut: string }
  | { meanwhile: (resume: () => void) => void }
  | 'FIN'
  | 'RST'
  | 'hang';

/** The conversation about one message. A reset starts another one. */
export interface SmtpConversation {
  /** Connections count from 0. */
  readonly connection: number;
  readonly commands: string[];
  /** The body as received, with stuffed dots and without the final dot. */
  body: Buffer;
  /** Whether the final dot arrived. */
  ended: boolean;
  /** Whether the server answered the final dot with 2xx. */
  accepted: boolean;
}

export interface ScriptedSmtp {
  readonly url: string;
  readonly port: number;
  readonly conversations: readonly SmtpConversation[];
  /** Breaks every open connection, but continues to listen. */
  cut(): void;
  /** Resolves when the client has closed every connection. */
  left(): Promise<void>;
  close(): Promise<void>;
}

const GOOD: Record<Exclude<SmtpStep, 'EHLO' | 'body'>, string> = {
  greeting: '220 scripted.example ESMTP',
  AUTH: '235 2.7.0 Hello',
  RSET: '250 2.0.0 Forgotten',
  MAIL: '250 2.1.0 Ok',
  RCPT: '250 2.1.5 Ok',
  DATA: '354 Go on',
  dot: '250 2.0.0 Queued as 4711',
};

/** The bytes of the body before a `body` act. The rest is unread, so the client cannot have sent its end. */
const BODY_BYTES = 64 * 1024;

const END = '\r\n.\r\n';

export type SmtpScript = Partial<Record<SmtpStep, SmtpAct>>;

/**
 * An SMTP server on a raw socket that follows RFC 5321, except at the steps of the script. The script can differ by
 * connection and by message, both counted from 0.
 */
export async function scriptedSmtp(
  script: SmtpScript | ((connection: number, message: number) => SmtpScript),
  extensions: readonly string[] = [],
): Promise<ScriptedSmtp> {
  const conversations: SmtpConversation[] = [];
  const sockets = new Set<Socket>();
  const empty: (() => void)[] = [];
  let connections = 0;
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      if (sockets.size === 0) for (const tell of empty.splice(0)) tell();
    });
    socket.on('error', () => {});
    socket.on('end', () => socket.end());
    const connection = connections++;
    const begin = (): SmtpConversation => {
      const talk = { connection, commands: [], body: Buffer.alloc(0), ended: false, accepted: false };
      conversations.push(talk);
      return talk;
    };
    const acts = () => (typeof script === 'function' ? script(connection, conversations.length - 1) : script);
    converse(socket, begin, acts, extensions);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `smtp://127.0.0.1:${address.port}`,
    port: address.port,
    conversations,
    cut: () => {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    left: () => (sockets.size === 0 ? Promise.resolve() : new Promise((resolve) => empty.push(resolve))),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

function converse(
  socket: Socket,
  begin: () => SmtpConversation,
  scriptNow: () => SmtpScript,
  extensions: readonly string[],
): void {
  let talk = begin();
  let script = scriptNow();
  let buffered = Buffer.alloc(0);
  const pieces: Buffer[] = [];
  let tail = Buffer.alloc(0);
  let inBody = false;
  let silent = false;
  let refused = false;
  let signedIn = 'nothing';

  const say = (text: string): void => {
    socket.write(`${text}\r\n`);
  };
  /** Follows the script at this step. Returns true if the script has nothing for it. */
  const follow = (step: SmtpStep): boolean => {
    const act = script[step];
    if (act === undefined) return true;
    if (act === 'hang') silent = true;
    else if (act === 'FIN') {
      silent = true;
      socket.end();
    } else if (act === 'RST') {
      silent = true;
      socket.resetAndDestroy();
    } else if ('meanwhile' in act) {
      if (step === 'body' || step === 'EHLO') throw new Error(`No "meanwhile" at ${step}`);
      act.meanwhile(() => {
        if (step === 'DATA') inBody = true;
        say(GOOD[step]);
      });
    } else if ('cut' in act) {
      silent = true;
      socket.end(act.cut);
    } else if ('echo' in act) say(`${act.echo} You signed in with ${signedIn}`);
    else {
      say(act.say);
      if (act.say.startsWith('421')) {
        silent = true;
        socket.end();
      }
    }
    return false;
  };
  const answer = (step: keyof typeof GOOD): boolean => {
    const good = follow(step);
    if (good) say(GOOD[step]);
    return good;
  };

  const command = (line: string): void => {
    const verb = line.split(/[ :]/)[0]?.toUpperCase();
    if (verb !== 'RSET') talk.commands.push(line);
    if (verb === 'EHLO' || verb === 'HELO') {
      if (!follow('EHLO')) return;
      const lines = verb === 'HELO' ? ['scripted.example'] : ['scripted.example', ...extensions];
      say(lines.map((text, index) => `250${index === lines.length - 1 ? ' ' : '-'}${text}`).join('\r\n'));
    } else if (verb === 'RSET') {
      talk = begin();
      script = scriptNow();
      talk.commands.push(line);
      answer('RSET');
    } else if (verb === 'AUTH') {
      signedIn = `${line} ${Buffer.from(line.split(' ').at(-1) ?? '', 'base64')
        .toString('latin1')
        .replaceAll('\0', ' ')}`;
      answer('AUTH');
    } else if (verb === 'MAIL') refused = !answer('MAIL');
    else if (verb === 'RCPT') {
      const act = script.RCPT;
      const others = typeof act === 'object' && 'only' in act && act.only?.test(line) === false;
      if (refused) say('503 5.5.1 Need MAIL first');
      else if (others) say(GOOD.RCPT);
      else refused = !answer('RCPT');
    } else if (verb === 'DATA') {
      if (refused) say('554 5.5.1 No valid recipients');
      else inBody = answer('DATA');
    } else if (verb === 'QUIT') {
      say('221 Bye');
      socket.end();
    } else say('500 5.5.2 What?');
  };

  const body = (): void => {
    if (script.body !== undefined && buffered.length > BODY_BYTES) {
      socket.pause();
      talk.body = buffered;
      follow('body');
      silent = true;
      return;
    }
    const end = buffered.indexOf(END);
    if (end === -1) return;
    talk.body = buffered.subarray(0, end + 2);
    talk.ended = true;
    buffered = buffered.subarray(end + END.length);
    inBody = false;
    const act = script.dot;
    talk.accepted =
      act === undefined ||
      (typeof act === 'object' && (!('say' in act) || act.say.startsWith('2')) && !('cut' in act) && !('echo' in act));
    answer('dot');
  };

  socket.on('data', (chunk) => {
    if (silent) return;
    pieces.push(chunk);
    const lately = Buffer.concat([tail, chunk]);
    tail = lately.subarray(1 - END.length);
    // Join the pieces of a large body once, not with each piece.
    if (inBody && script.body === undefined && !lately.includes(END)) return;
    buffered = Buffer.concat([buffered, ...pieces.splice(0)]);
    while (!silent && !inBody && buffered.includes('\r\n')) {
      const end = buffered.indexOf('\r\n');
      const line = buffered.subarray(0, end).toString('latin1');
      buffered = buffered.subarray(end + 2);
      command(line);
    }
    if (!silent && inBody) body();
  });
  answer('greeting');
}
