import {
  type ScriptedSmtp,
  type SmtpAct,
  type SmtpConversation,
  type SmtpScript,
  scriptedSmtp,
} from '../support/smtp-script.ts';

/** A message that the mail server received completely and did not refuse. */
export interface Arrived {
  readonly run: string;
  readonly to: readonly string[];
  /** Whether it was acknowledged. */
  readonly acknowledged: boolean;
  /** The message without dot-stuffing. */
  readonly raw: Buffer;
}

export interface MailSink {
  readonly port: number;
  /** Each message gets a random one of these faults with this probability. */
  faults: { readonly probability: number; readonly scripts: readonly SmtpScript[] } | undefined;
  arrived(): readonly Arrived[];
  close(): Promise<void>;
}

/** Failures of a mail server at every step of an SMTP session. */
export const MAIL_FAULTS: readonly SmtpScript[] = [
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
    faults: undefined,
    arrived: () =>
      (smtp?.conversations ?? []).flatMap((talk, index) => {
        const dot = scripts.get(index)?.dot;
        return talk.ended && !refuses(dot) ? [arrivedIn(talk)] : [];
      }),
    close: async () => smtp?.close(),
  };
  smtp = await scriptedSmtp(
    (_, message) => {
      const { faults } = sink;
      const hasFault = faults !== undefined && share() < faults.probability;
      const script = hasFault ? (faults.scripts[Math.floor(share() * faults.scripts.length)] ?? {}) : {};
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
    acknowledged: accepted,
    raw: Buffer.from(raw, 'latin1'),
  };
}
