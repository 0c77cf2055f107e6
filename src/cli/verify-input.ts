import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { AppContext } from '../base/context.ts';
import { DocketError, errorMessage } from '../base/error.ts';
import { secretSource } from '../base/secrets/secret.ts';
import { parseHandOvers, parsePublicKeys, parseSigningKey } from '../deliver/archive/chain/signing-key.ts';
import type { VerifyInput } from '../deliver/archive/verify/verify-archive.ts';

type GivenKeys = Pick<VerifyInput, 'keys' | 'handOvers'>;

const checkpointSchema = z.looseObject({ body: z.looseObject({ org: z.string() }) });

/**
 * Reads the input of `docket archive verify`: public keys from a file or from the signing key, and checkpoints from a
 * file. Throws `usage.invalid`, `config.invalid`, `config.secret_missing`.
 */
export async function readVerifyInput(
  context: Pick<AppContext, 'config' | 'env' | 'registerSecret' | 'redact' | 'clock'>,
  flags: { readonly org?: string; readonly publicKey?: string; readonly checkpoint?: string },
): Promise<VerifyInput> {
  const { config, env, clock } = context;
  const ref = config.DOCKET_SIGNING_KEY;
  const ownKeys = async (): Promise<GivenKeys> => {
    if (ref === undefined) return {};
    const { trusted, handOvers } = parseSigningKey(await secretSource(env, context)(ref), 'DOCKET_SIGNING_KEY');
    return { keys: trusted, handOvers };
  };
  const publicKeys = async (path: string): Promise<GivenKeys> => {
    const text = await readTextFlag(path, '--public-key');
    return { keys: parsePublicKeys(text, path), handOvers: parseHandOvers(text, path) };
  };
  const keys = flags.publicKey === undefined ? await ownKeys() : await publicKeys(flags.publicKey);
  const checkpoints =
    flags.checkpoint === undefined ? [] : parseCheckpoints(await readTextFlag(flags.checkpoint, '--checkpoint'));
  return {
    org: flags.org,
    ...keys,
    checkpoints: checkpoints.map(({ text }) => text),
    checkpointOrgs: [...new Set(checkpoints.map(({ org }) => org))],
    now: clock.now(),
  };
}

async function readTextFlag(path: string, flag: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new DocketError('usage.invalid', `The file of ${flag} cannot be read.`, {
      where: path,
      got: errorMessage(cause),
      next: 'Correct the path or its permissions.',
    });
  }
}

/** Parses the output of `docket archive checkpoint`: lines, or the document of `--json`. */
function parseCheckpoints(text: string): readonly { readonly org: string; readonly text: string }[] {
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
      // Kept as given, because the order of their fields is signed too.
      return read().map((each) => ({ org: checkpointSchema.parse(each).body.org, text: `${JSON.stringify(each)}\n` }));
    } catch {
      // Not this form, so the other one is tried.
    }
  }
  throw new DocketError('usage.invalid', 'The file of --checkpoint contains no checkpoints.', {
    expected: 'what `docket archive checkpoint` prints',
    next: 'Give a file with such lines, or with its --json output.',
  });
}
