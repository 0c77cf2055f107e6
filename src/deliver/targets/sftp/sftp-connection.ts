import { connect } from 'node:net';
import type { ServerHostKeyAlgorithm, SFTPWrapper } from 'ssh2';
import { DocketError } from '../../../base/error.ts';
import { redactUntrusted } from '../../../base/secrets/redactor.ts';
import type { SecretSource } from '../../../base/secrets/secret.ts';
import { type AddressPolicy, ForbiddenAddress, guardedLookup, literalRefusal } from '../../internal/address-guard.ts';
import { computeFingerprint, hostKeyType, parseHostKey } from './host-key.ts';
import { type SftpSpec, sftpServerUrl } from './sftp-schema.ts';
import { createSftpSession, SftpFailure, type SftpSession } from './sftp-session.ts';

const READY_TIMEOUT_MS = 15_000;
const KEEPALIVE_INTERVAL_MS = 10_000;

/** RSA keys sign with SHA-2, although the key type's name stands for SHA-1. */
const hostKeyAlgorithms = (type: string): readonly ServerHostKeyAlgorithm[] => {
  if (type === 'ssh-rsa') return ['rsa-sha2-512', 'rsa-sha2-256'];
  const known = ['ssh-ed25519', 'ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'] as const;
  return known.filter((algorithm) => algorithm === type);
};

/**
 * Connects, compares the server's key with the pinned ones, logs in and opens SFTP. ssh2 is loaded on first use.
 * Throws `SftpFailure` (`down`, `hostKeyMismatch`), `config.secret_missing`, `config.secret_refused`, and
 * `deliver.target_refused` for a refused address.
 */
export async function openSftp(
  spec: SftpSpec,
  secrets: SecretSource,
  addresses: AddressPolicy = { allowPrivate: true },
): Promise<SftpSession> {
  const literal = literalRefusal(spec.host, addresses);
  if (literal !== undefined) throw addressRefused(spec, literal);
  const read = async (ref: SftpSpec['password']) => (ref === undefined ? undefined : await secrets(ref));
  const [{ default: ssh2 }, password, privateKey, passphrase] = await Promise.all([
    import('ssh2'),
    read(spec.password),
    read(spec.private_key),
    read(spec.passphrase),
  ]);
  const pinned = spec.host_key.flatMap((text) => parseHostKey(text) ?? []);
  const types = pinned.map(({ type }) => type);
  const algorithms = types.flatMap((type) => (type === undefined ? [] : hostKeyAlgorithms(type)));
  const client = new ssh2.Client();
  let keyMismatch: string | undefined;
  const sftp = await new Promise<SFTPWrapper>((resolve, reject) => {
    const sock = connect({ host: spec.host, port: spec.port, lookup: guardedLookup(addresses) });
    const fail = (error: Error): void => {
      client.destroy();
      sock.destroy();
      reject(
        error instanceof ForbiddenAddress
          ? addressRefused(spec, error)
          : keyMismatch === undefined
            ? new SftpFailure(
                'down',
                `${sftpServerUrl(spec)}: ${redactUntrusted(error.message, secrets.redactor.redact)}`,
              )
            : new SftpFailure('hostKeyMismatch', keyMismatch),
      );
    };
    // This listener is never removed: without one, an `error` event ends the process.
    client.on('error', fail);
    // ssh2 handles the socket's errors only after it has parsed the keys.
    sock.on('error', fail);
    client.once('close', () => fail(new Error('the connection was closed')));
    client.once('ready', () => client.sftp((error, opened) => (error ? fail(error) : resolve(opened))));
    client.on('keyboard-interactive', (_name, _instructions, _language, prompts, finish) =>
      finish(prompts.length === 1 && password !== undefined ? [password.reveal()] : []),
    );
    try {
      client.connect({
        sock,
        username: spec.user,
        ...(password === undefined ? {} : { password: password.reveal(), tryKeyboard: true }),
        // Some keys need the final line break, which was trimmed when the secret was read.
        ...(privateKey === undefined ? {} : { privateKey: `${privateKey.reveal()}\n` }),
        ...(passphrase === undefined ? {} : { passphrase: passphrase.reveal() }),
        // A server offers only one of its keys. Restrict it to the pinned types, if all types are known.
        ...(types.includes(undefined) ? {} : { algorithms: { serverHostKey: [...new Set(algorithms)] } }),
        hostVerifier: (offered: Buffer) => {
          const fingerprint = computeFingerprint(offered);
          if (pinned.some((key) => key.fingerprint === fingerprint)) return true;
          keyMismatch = `${sftpServerUrl(spec)} shows another key than the pinned one: ${hostKeyType(offered) ?? 'a key'} ${fingerprint}. Nothing was sent. Ask the operator of the server before you change host_key.`;
          return false;
        },
        readyTimeout: READY_TIMEOUT_MS,
        keepaliveInterval: KEEPALIVE_INTERVAL_MS,
        keepaliveCountMax: 3,
      });
    } catch (error) {
      fail(error instanceof Error ? error : new Error(String(error)));
    }
  });
  return createSftpSession(client, sftp, secrets.redactor.redact);
}

const addressRefused = (spec: SftpSpec, { message }: ForbiddenAddress): DocketError =>
  new DocketError('deliver.target_refused', `Docket does not connect to ${sftpServerUrl(spec)}: ${message}.`);
