import type { Ending, Leave } from './attempt.ts';
import type { Mailer } from './mailer.ts';
import type { Message } from './message.ts';
import type { SendResult } from './smtp-verdict.ts';

/**
 * A finished message on its way: the server's answer becomes the ledger's state.
 * @param kept its SHA-256 (hex) where the archive keeps it
 */
export function sendMessage(mailer: Mailer, message: Message, kept?: string): Leave {
  const leave: Leave = async (signal, fence) =>
    endingOf(await mailer.send(message.envelope, message.raw, signal, fence));
  return kept === undefined ? leave : Object.assign(leave, { message: kept });
}

function endingOf(result: SendResult): Ending {
  switch (result.kind) {
    case 'accepted':
      return { state: 'sent', detail: result.response };
    case 'refused':
      return { state: 'refused', detail: result.response };
    case 'deferred':
      return { state: 'pending', detail: result.response, targetDown: result.server };
    case 'unknown':
      return { state: 'unknown', detail: result.why };
  }
}
