import { readFile } from 'node:fs/promises';
import { reviewsAccess } from '../../../admin/access/reviews.ts';
import { reviewView } from '../../../admin/api/runs/review-view.ts';
import { DocketError, errorMessage } from '../../../base/error.ts';
import { withDecisions } from '../../../compose/decisions.ts';
import { MAX_COMMENT_LENGTH } from '../../../definitions/commentary/comment-text.ts';
import type { ReviewService } from '../../../services/reviews/create-review-service.ts';
import { createContext } from '../../context.ts';
import { type CommandIo, resolvePath } from '../../io.ts';
import { readActorName } from '../../options/actor.ts';
import { requireRunId } from '../../options/run-id.ts';
import { assertSees, hasToken, signIn } from '../../options/sign-in.ts';
import { createPrinter } from '../../terminal/print.ts';
import { phaseSentence } from './review-lines.ts';

interface CommentFlags {
  readonly section?: string;
  readonly value?: string;
  readonly text?: string;
  readonly file?: string;
  readonly withdraw?: boolean;
  readonly json?: boolean;
}

/** Maximum bytes of a file or of stdin. A character has up to four. */
const MAX_INPUT_BYTES = 4 * MAX_COMMENT_LENGTH + 1024;

/** Writes or withdraws a comment on a run, as the person of a token or as the user of the shell. */
export async function comment(text: string, flags: CommentFlags, io: CommandIo): Promise<void> {
  const print = createPrinter(io);
  const context = await createContext(io);
  const note = await readNote(flags, io);
  const principal = hasToken(context) ? await signIn(context, io) : undefined;
  const { section = null, value } = flags;
  await withDecisions(
    context,
    async ({ reviewService, runs }) => {
      const id = await requireRunId(text, runs);
      const write = async (): ReturnType<ReviewService['comment']> => {
        if (principal === undefined) {
          const name = readActorName();
          const author = { name, kind: 'shell', subject: `shell:${name}` } as const;
          return reviewService.comment(id, section, note, author, value);
        }
        await assertSees(principal, id, runs);
        return reviewsAccess({ reviewService, runs }, principal).comment(id, section, note, value);
      };
      const { view, warnings } = await write();
      if (flags.json) return print.printJson({ review: reviewView(view), warnings });
      const { org, report, period } = view.record;
      const pack = value === undefined ? '' : `, in the pack of ${value}`;
      const on = `${section === null ? 'on the whole report' : `on ${section}`}${pack}`;
      print.printText(
        `${note === null ? 'Comment withdrawn' : 'Comment stored'}: ${org}/${report} ${period.label}, ${on}.`,
      );
      for (const warning of warnings) print.printStatus(`Warning: ${warning.text}`);
      print.printText(phaseSentence(view));
    },
    { decides: true },
  );
}

/** The text of a comment; null to withdraw it. Throws `usage.invalid`. */
async function readNote({ text, file, withdraw }: CommentFlags, io: CommandIo): Promise<string | null> {
  const given = [text, file, withdraw === true ? '' : undefined].filter((each) => each !== undefined);
  if (given.length !== 1) {
    throw new DocketError('usage.invalid', 'The text of the comment is missing, or was given twice.', {
      expected: 'one of --text, --file and --withdraw',
      got: given.length === 0 ? 'none' : `${given.length} of them`,
      next: 'E.g. `docket comment 2f6c0e4d --section onboarding --file note.md`; --file - reads standard input.',
    });
  }
  if (withdraw === true) return null;
  if (text !== undefined) return text;
  return readCommentFile(file ?? '', io);
}

/** The text of a file, or of stdin for `-`. Throws `usage.invalid`, `review.comment_invalid`. */
export async function readCommentFile(file: string, io: CommandIo): Promise<string> {
  const bytes = file === '-' ? await readStdin(io) : await readNoteFile(resolvePath(file, io));
  if (bytes.byteLength > MAX_INPUT_BYTES) {
    throw new DocketError('review.comment_invalid', 'The comment is too long.', {
      where: file === '-' ? 'standard input' : file,
      expected: `at most ${MAX_COMMENT_LENGTH} characters`,
    });
  }
  return decodeUtf8(bytes, file);
}

async function readStdin({ stdin }: CommandIo): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    length += bytes.byteLength;
    if (length > MAX_INPUT_BYTES) break;
  }
  return Buffer.concat(chunks);
}

const readNoteFile = (path: string): Promise<Buffer> =>
  readFile(path).catch((thrown: unknown) => {
    throw new DocketError('usage.invalid', 'The file of the comment cannot be read.', {
      where: path,
      got: errorMessage(thrown),
      next: 'Check the path; - reads standard input.',
      cause: thrown,
    });
  });

function decodeUtf8(bytes: Buffer, where: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new DocketError('review.comment_invalid', 'The comment is not UTF-8.', {
      where,
      expected: 'a text in UTF-8',
    });
  }
}
