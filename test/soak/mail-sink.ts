import {
  type ScriptedSmtp,
  type SmtpAct,
  type SmtpConversation,
  type SmtpScript,
  scriptedSmtp,
} from '../support/smtp-script.ts';

/** A message whose last byte came to the mail server, which did not refuse it: somebody may read it. */
export interface Arrived {
  readonly run: string;
  readonly to: readonly string[];
  /** Whether the sender was told. */
  readonly told: boolean;
  /** As it was before dots were stuffed. */
  readonly raw: Buffer;
}

export interface MailSink {
  readonly port: number;
  /** What the next messages meet, with this probability each; undefined: nothing. */
  trouble: { readonly probability: number; readonly scripts: readonly SmtpScript[] } | undefined;
  arrived(): readonly Arrived[];
  close(): Promise<void>;
}

/** Every way in which a mail server fails, at every step of a conversation. */
export const MAIL_TROUBLES: readonly SmtpScript[] = [
  { greeting: { say: '421 4.3.2 Too many connections' } },
  { greeting: 'RST' },
  { EHLO: 'FIN' },
  { MAIL: { say: '451 4.3.0 Try later' } },
  { MAIL: 'FIN' },
  { RCPT: { say: '450 4.2.1 Greylisted' } },
  { RCPT: 'RST' },
  { DATA: { say: '451 4.3.0 No room now' } },
  { DATA: 'RST' },
  { dot: { say: '451 4.3.0 Not now' } },
  { dot: { say: '554 5.7.1 Looks like spam' } },
  { dot: 'RST' },
  { dot: 'FIN' },
  { dot: { cut: '250 2.0.0 Que' } },
  { dot: { meanwhile: (resume) => void setTimeout(resume, 1_500) } },
];

const refuses = (act: SmtpAct | undefined): boolean =>
  typeof act === 'object' && (('say' in act && !act.say.startsWith('2')) || 'echo' in act);

const headerOf = (raw: string, name: string): string =>
  new RegExp(`^${name}: (\\S+)`, 'im').exec(raw.slice(0, raw.indexOf('\r\n\r\n')))?.[1] ?? '';

export async function mailSink(share: () => number): Promise<MailSink> {
  const scripts = new Map<number, SmtpScript>();
  let smtp: ScriptedSmtp | undefined;
  const sink: MailSink = {
    port: 0,
    trouble: undefined,
    arrived: () =>
      (smtp?.conversations ?? []).flatMap((talk, index) => {
        const dot = scripts.get(index)?.dot;
        return talk.ended && !refuses(dot) ? [arrivedIn(talk)] : [];
      }),
    close: async () => smtp?.close(),
  };
  smtp = await scriptedSmtp(
    (_, message) => {
      const { trouble } = sink;
      const met = trouble !== undefined && share() < trouble.probability;
      const script = met ? (trouble.scripts[Math.floor(share() * trouble.scripts.length)] ?? {}) : {};
      scripts.set(message, script);
      return script;
    },
    ['AUTH PLAIN'],
  );
  return Object.assign(sink, { port: smtp.port });
}

function arrivedIn({ commands, body, accepted }: SmtpConversation): Arrived {
  const raw = body.toString('latin1').replaceAll('\r\n..', '\r\n.');
  return {
    run: headerOf(raw, 'X-Docket-Run'),
    to: commands.flatMap((line) => /^RCPT TO:<([^>]+)>/i.exec(line)?.[1] ?? []),
    told: accepted,
    raw: Buffer.from(raw, 'latin1'),
  };
}
