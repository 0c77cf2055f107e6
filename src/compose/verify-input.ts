import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { DocketError, wordsOf } from '../base/error.ts';
import { secretSource } from '../base/secret.ts';
import { type PublicKeys, readPublicKeys, readSigningKey } from '../deliver/signing-key.ts';
import type { VerifyInput } from '../deliver/verify-signed.ts';
import type { Surroundings } from './ports.ts';

const checkpointSchema = z.looseObject({ body: z.looseObject({ org: z.string() }) });

/**
 * What `docket archive verify` goes by: the keys of a file, or of the key that signs, and checkpoints of a file. Throws
 * `usage.invalid`, `config.invalid`, `config.secret_missing`.
 */
export async function readVerifyInput(
  around: Pick<Surroundings, 'config' | 'env' | 'learn' | 'redact' | 'clock'>,
  flags: { readonly org?: string; readonly publicKey?: string; readonly checkpoint?: string },
): Promise<VerifyInput> {
  const { config, env, clock } = around;
  const ref = config.DOCKET_SIGNING_KEY;
  const own = async (): Promise<PublicKeys | undefined> =>
    ref && readSigningKey(await secretSource(env, around)(ref), 'DOCKET_SIGNING_KEY').trusted;
  const keys =
    flags.publicKey === undefined
      ? await own()
      : readPublicKeys(await textOf(flags.publicKey, '--public-key'), flags.publicKey);
  const given = flags.checkpoint === undefined ? [] : readCheckpoints(await textOf(flags.checkpoint, '--checkpoint'));
  return {
    org: flags.org,
    ...(keys === undefined ? {} : { keys }),
    checkpoints: given.map(({ text }) => text),
    checkpointOrgs: [...new Set(given.map(({ org }) => org))],
    now: clock.now(),
  };
}

async function textOf(path: string, flag: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new DocketError('usage.invalid', `The file of ${flag} cannot be read.`, {
      where: path,
      got: wordsOf(cause),
      next: 'Correct the path or its permissions.',
    });
  }
}

/** As `docket archive checkpoint` prints them: a line each, or the document of `--json`. */
function readCheckpoints(text: string): readonly { readonly org: string; readonly text: string }[] {
  const parse = (part: string): unknown => JSON.parse(part);
  const asLines = (): unknown[] =>
    text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map(parse);
  const asDocument = (): unknown[] =>
    z.looseObject({ checkpoints: z.array(z.unknown()) }).parse(parse(text)).checkpoints;
  for (const read of [asLines, asDocument]) {
    try {
      // As they were given: the order of their fields is signed, too.
      return read().map((each) => ({ org: checkpointSchema.parse(each).body.org, text: `${JSON.stringify(each)}\n` }));
    } catch {
      // The other form, then.
    }
  }
  throw new DocketError('usage.invalid', 'The file of --checkpoint holds no checkpoints.', {
    expected: 'what `docket archive checkpoint` prints',
    next: 'Give a file of such lines, or of its --json.',
  });
}
