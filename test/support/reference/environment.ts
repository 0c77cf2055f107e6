/** A group of variables of the reference page: their names, what they set, and their default. */
interface VariableGroup {
  readonly title: string;
  readonly variables: Readonly<Record<string, { readonly what: string; readonly absent: string }>>;
}

const v = (what: string, absent = '–') => ({ what, absent });

export const VARIABLE_GROUPS: readonly VariableGroup[] = [
  {
    title: 'The service and Redis',
    variables: {
      COMPLIANCE_API_URL: v(
        'Base URL of the Compliance Service. Needed to run reports, and to check them against the catalog.',
      ),
      REDIS_URL: v(
        'Redis 6.2 or later, or Valkey, with `noeviction` and an append-only log. Forms: [move to another Redis](../how-to/move-to-another-redis.md#addresses).',
        '`redis://127.0.0.1:6379`',
      ),
    },
  },
  {
    title: 'E-mail',
    variables: {
      SMTP_URL: v(
        'Mail server, `smtp://` or `smtps://`. A password in `smtp://` requires STARTTLS except on this machine; `?tls=required`, `offered` or `off`.',
      ),
      MAIL_FROM: v(
        'Sender, with a name if you like: `Acme Compliance <reports@example.com>`. Without a name, each organization’s name is shown.',
      ),
      SMTP_OAUTH2_USER: v('Account of the login by access token, instead of a password in `SMTP_URL`.'),
      SMTP_OAUTH2_TOKEN_URL: v('Where access tokens are requested, `https://`.'),
      SMTP_OAUTH2_CLIENT_ID: v('Client id of the application.'),
      SMTP_OAUTH2_CLIENT_SECRET_FILE: v('File with the client’s secret. This or a refresh token is needed.'),
      SMTP_OAUTH2_REFRESH_TOKEN_FILE: v('File with a refresh token.', 'client credentials'),
      SMTP_OAUTH2_SCOPE: v('Scope to request, where the server wants one.'),
      SMTP_DKIM_DOMAIN: v('Signs e-mails of senders of this domain.'),
      SMTP_DKIM_SELECTOR: v('Selector of the public key in DNS.'),
      SMTP_DKIM_KEY_FILE: v('File with the RSA private key, PEM.'),
    },
  },
  {
    title: 'Definitions and the archive',
    variables: {
      DOCKET_JOBS: v('Folder of the definitions.', '`jobs`'),
      DOCKET_TEMPLATES: v('Folder of your own templates.', 'the built-in ones'),
      DOCKET_ARCHIVE: v(
        '`file:///folder`, or `s3://bucket/prefix` with parameters: `endpoint`, `region`, `path_style`, `sse`, `access_key_id=env:NAME`, `secret_access_key=file:PATH`, `session_token`, `staging`, `links`.',
        '`archive/` in the working directory',
      ),
      DOCKET_ARCHIVE_DAYS: v(
        'Days, 7 or more, after which runs leave the archive. `retention_days` in `org.yaml` overrides it.',
        'never',
      ),
      DOCKET_SIGNING_KEY: v(
        '`env:NAME` or `file:PATH` of the Ed25519 key that [signs the archive](../how-to/sign-the-archive.md).',
        'nothing is signed',
      ),
      DOCKET_REPEAT: v(
        '`ask`: a period that was delivered is delivered again on demand only if you insist. `allow`: without a question.',
        '`ask`',
      ),
    },
  },
  {
    title: 'HTTP proxy',
    variables: {
      HTTPS_PROXY: v('[HTTP proxy](../how-to/http-proxy.md) for `https://` addresses.', '–'),
      HTTP_PROXY: v('The same for `http://` addresses.', '–'),
      NO_PROXY: v('Hosts, addresses and CIDR networks that are connected to directly, or `*`.', '–'),
      DOCKET_PROXY_CREDENTIALS: v('`env:NAME` or `file:PATH` of `user:password` for the proxy.', '–'),
    },
  },
  {
    title: 'What reports may use',
    variables: {
      DOCKET_SECRET_FOLDERS: v(
        'Absolute folders, separated by `:` (`;` on Windows). Secret files of reports outside of them are refused.',
        'any readable file; `docket doctor` warns',
      ),
      DOCKET_REQUIRE_DESTINATIONS: v(
        '`on`: an organization without `destinations` delivers by e-mail alone.',
        '`off`; `docket doctor` warns',
      ),
      DOCKET_REPORT_SCOPE: v(
        '`enforce`, or `warn` for definitions of versions before 0.2.0. See [limits](../how-to/limit-what-reports-may-use.md).',
        '`enforce`',
      ),
    },
  },
  {
    title: 'The admin route',
    variables: {
      DOCKET_ADMIN_HOST: v('Address on which it listens.', '`127.0.0.1`'),
      DOCKET_ADMIN_PORT: v('Its port; 0 takes a free one.', '`8787`'),
      DOCKET_ADMIN_TOKENS: v(
        'File of token hashes. `docket tokens create` makes it.',
        'nobody can sign in with a token',
      ),
      DOCKET_ADMIN_NAMES: v(
        'Further host names, separated by commas.',
        'addresses, `localhost` and `DOCKET_ADMIN_HOST`',
      ),
      DOCKET_ADMIN_TRUSTED_PROXIES: v(
        'Addresses and networks of proxies whose `X-Forwarded-*` headers are believed, separated by commas.',
        'none',
      ),
      DOCKET_ADMIN_RATE: v('Requests a minute of one token or account, 10 to 1,000,000.', '`600`'),
      DOCKET_ADMIN_BULL_BOARD: v(
        '`on`: shows BullMQ’s queues, read-only, under `/queues`. Needs Bull Board beside Docket.',
        '`off`',
      ),
      DOCKET_PUBLIC_URL: v('Where readers open the page. E-mails and notices link to it.', 'no links'),
      DOCKET_TOKEN: v(
        'Token with which commands sign in that record a person, such as `docket comment` and `runs approve`.',
        'a prompt, or the shell’s user',
      ),
    },
  },
  {
    title: 'Company accounts (OpenID Connect)',
    variables: {
      DOCKET_OIDC_ISSUER: v('Issuer, `https://`. See [sign-in](../how-to/reverse-proxy-sign-in.md).', 'tokens only'),
      DOCKET_OIDC_CLIENT_ID: v('Id of the client.'),
      DOCKET_OIDC_CLIENT_SECRET: v('`env:NAME` or `file:PATH` of the client’s secret.'),
      DOCKET_OIDC_REDIRECT_URL: v(
        'Where the provider sends browsers; ends with `/sign-in/callback`.',
        '`DOCKET_PUBLIC_URL` and `/sign-in/callback`',
      ),
      DOCKET_OIDC_SCOPES: v('Scopes to request.', '`openid profile email`, and `offline_access` where offered'),
      DOCKET_OIDC_ACCOUNTS: v('YAML file that gives accounts access.', 'this or the claim is needed'),
      DOCKET_OIDC_ROLES_CLAIM: v(
        'Claim with groups or roles: a name, or a path such as `realm_access.roles`. Its values may give access.',
        '`groups`, for the file alone',
      ),
    },
  },
  {
    title: 'Log and traces',
    variables: {
      LOG_LEVEL: v('`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.', '`info`'),
      LOG_FORMAT: v('`json`, `pretty`, or `auto`: `pretty` on a terminal.', '`auto`'),
      OTEL_EXPORTER_OTLP_ENDPOINT: v(
        'Collector to which [traces](traces.md) go, e.g. `http://127.0.0.1:4318`.',
        'no traces',
      ),
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: v('The same, with the complete path.'),
      OTEL_EXPORTER_OTLP_PROTOCOL: v('`http/protobuf` or `http/json`.', '`http/protobuf`'),
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: v('The same, for traces.'),
      OTEL_EXPORTER_OTLP_TIMEOUT: v('Milliseconds until a batch of spans is given up.', '`3000`'),
      OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: v('The same, for traces.'),
      OTEL_TRACES_EXPORTER: v('`otlp` or `none`.', '`otlp`'),
      OTEL_SDK_DISABLED: v('`true`: no traces.', '`false`'),
    },
  },
];

export const environmentReference = (): string =>
  `${[
    '# Environment',
    '<!-- Generated by `npm test -- test/docs/reference.test.ts -u`; a test compares it with the configuration. -->',
    'Docket is configured by environment variables. At the start it reports every invalid one. Empty variables count as unset. Node.js and AWS’s SDK read their own, such as `NODE_EXTRA_CA_CERTS` and `AWS_REGION`; `NO_COLOR` and `FORCE_COLOR` control colours.',
    ...VARIABLE_GROUPS.flatMap(({ title, variables }) => [
      `## ${title}`,
      [
        '| variable | what it sets | default |',
        '|---|---|---|',
        ...Object.entries(variables).map(([name, { what, absent }]) => `| \`${name}\` | ${what} | ${absent} |`),
      ].join('\n'),
    ]),
  ].join('\n\n')}\n`;
