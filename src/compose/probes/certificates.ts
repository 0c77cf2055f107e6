import { isIP } from 'node:net';
import { connect } from 'node:tls';
import type { AccountSetup } from '../../admin/auth/account-method.ts';
import type { AppContext } from '../../base/context.ts';
import { type FindProxy, findProxyBy } from '../../base/net/proxies.ts';
import { secretSource } from '../../base/secrets/secret.ts';
import { DAY_MS, SECOND_MS } from '../../base/time.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import { resolveMailServer } from '../../deliver/targets/email/mail-routes.ts';
import { readSmtpCertificate } from '../../deliver/targets/email/smtp/smtp-probe.ts';
import { type CheckResult, type Finding, fail, ok, warn } from '../../services/deployment/probe.ts';

const TIMEOUT_MS = 10 * SECOND_MS;
/** A certificate is reported from this many days before it expires. */
const WARNING_DAYS = 14;

/** @param until epoch ms of its expiry @param affects what fails afterwards */
export function evaluateCertificate(until: number, now: number, affects = 'every call fails'): CheckResult {
  const days = Math.floor((until - now) / DAY_MS);
  const day = new Date(until).toISOString().slice(0, 10);
  const remedy = `The operator of the service has to renew it: after that day ${affects}.`;
  const found = { problem: 'certificate.expires', affects: `After ${day} ${affects}.`, orgs: [] };
  if (days < 0) return { ...fail(`the certificate expired on ${day}`, remedy), ...found, since: until };
  if (days < WARNING_DAYS)
    return { ...warn(`the certificate is valid until ${day}, for ${days} days`, remedy), ...found };
  return ok(`valid until ${day}`);
}

/**
 * When a server's certificate expires, epoch ms, even if it is not trusted. Undefined if it cannot be read. Sends no
 * data.
 */
export async function readCertificateExpiry(url: URL, findProxy: FindProxy): Promise<number | undefined> {
  const [host, port] = [url.hostname.replace(/^\[|\]$/g, ''), Number(url.port || 443)];
  const tunnel = await findProxy(url)?.tunnel(host, port, AbortSignal.timeout(TIMEOUT_MS));
  return new Promise((resolve) => {
    const socket = connect(
      {
        host,
        port,
        ...(tunnel === undefined ? {} : { socket: tunnel }),
        timeout: TIMEOUT_MS,
        // Only the dates are read, even of an expired certificate.
        rejectUnauthorized: false,
        ...(isIP(host) === 0 ? { servername: host } : {}),
      },
      () => {
        const end = Date.parse(socket.getPeerCertificate().valid_to);
        socket.destroy();
        resolve(Number.isFinite(end) ? end : undefined);
      },
    );
    const stop = () => {
      socket.destroy();
      resolve(undefined);
    };
    socket.once('error', stop);
    socket.once('timeout', stop);
  });
}

interface Addressed {
  readonly jobs: Pick<Definitions, 'orgs'>;
  readonly context: AppContext;
  readonly signIn?: Pick<AccountSetup, 'issuer'> | undefined;
}

/** Which way the deployment's own connections go; undefined without a proxy. Targets are checked on their own. */
export async function checkProxies({ jobs, context, signIn }: Addressed): Promise<CheckResult | undefined> {
  const { config } = context;
  if (config.HTTPS_PROXY === undefined && config.HTTP_PROXY === undefined) return undefined;
  const { DOCKET_ARCHIVE: archive } = config;
  const addresses = [
    config.COMPLIANCE_API_URL,
    archive?.kind === 's3' ? (archive.endpoint ?? `https://${archive.bucket}.s3.amazonaws.com`) : undefined,
    signIn?.issuer,
    ...[...jobs.orgs.values()].map(({ smtp }) => smtp?.oauth2?.token_url),
    config.SMTP_OAUTH2_TOKEN_URL,
    context.env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? context.env.OTEL_EXPORTER_OTLP_ENDPOINT,
  ].flatMap((address) => (address !== undefined && URL.canParse(address) ? new URL(address).origin : []));
  const findProxy = findProxyBy(config, secretSource(context.env, context));
  const ways = [...new Set(addresses)].map((origin) => {
    const proxy = findProxy(new URL(origin));
    return `${origin} ${proxy === undefined ? 'directly' : `through the proxy ${proxy.name}`}`;
  });
  return ok(ways.join('; '));
}

/**
 * Checks the certificates of mail servers, of the sign-in provider and of the archive's store. The API's certificate is
 * checked with the API.
 */
export async function checkCertificates({
  jobs,
  context,
  signIn,
  now,
}: Addressed & { readonly now: number }): Promise<readonly Finding[]> {
  const { config } = context;
  const { DOCKET_ARCHIVE: archive } = config;
  const store = archive?.kind === 's3' ? archive.endpoint : undefined;
  const findProxy = findProxyBy(config, secretSource(context.env, context));
  const looks: readonly (readonly [what: string, affects: string, until: Promise<number | undefined>])[] = [
    ...[...(config.SMTP_URL === undefined ? [] : [{ id: undefined, smtp: undefined }]), ...jobs.orgs.values()]
      .filter(({ id, smtp }) => id === undefined || smtp?.url !== undefined)
      .map(
        (settings) =>
          [
            `Certificate of the mail server${settings.id === undefined ? '' : ` of ${settings.id}`}`,
            'no mail is sent',
            resolveMailServer(settings, context).then(
              (server) => server && readSmtpCertificate(server.url, server.options),
            ),
          ] as const,
      ),
    ...[
      ['Certificate of the sign-in provider', 'nobody can sign in but with a token', signIn?.issuer] as const,
      ['Certificate of the archive’s store', 'no run can be published', store] as const,
    ].flatMap(([what, affects, address]) =>
      address?.startsWith('https:')
        ? [[what, affects, readCertificateExpiry(new URL(address), findProxy)] as const]
        : [],
    ),
  ];
  const found = await Promise.all(
    looks.map(async ([what, affects, read]): Promise<Finding[]> => {
      // A server that does not answer has a finding of its own probe.
      const until = await read.catch(() => undefined);
      if (until === undefined) return [];
      const result = evaluateCertificate(until, now, affects);
      return [{ what, ...result, detail: result.state === 'ok' ? result.detail : `${what}: ${result.detail}` }];
    }),
  );
  return found.flat();
}
