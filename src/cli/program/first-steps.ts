import { Option } from 'commander';
import type { CommandIo } from '../io.ts';
import type { DocketCommand } from './command.ts';

export function addFirstSteps(program: DocketCommand, io: CommandIo): void {
  program.commandsGroup('First steps:');
  const more = io.features.flatMap(({ init }) => init ?? []);

  program
    .command('demo')
    .description('Run four demo reports through the queue, with sandboxes of the API and the mail server')
    .option('--out <dir>', 'output folder; replaced if it exists', 'demo-out')
    .option('--page', 'wait until you comment on the board pack and approve it on the page')
    .option('--json', 'one JSON document on stdout: the folder, and the record of each run')
    .details(`
The board pack needs a comment and an approval before it is sent. The demo does both through the API. With --page you do them
in a browser.

Needs Redis: REDIS_URL, or redis-server on the PATH, or (as root) the distribution’s package, which it installs. It leaves
nothing in the Redis of REDIS_URL, and needs no API, no mail server and no key.

Environment: REDIS_URL, LOG_LEVEL (default: error)

Exit codes: 0 all reports are done; 1 one of them is not

Examples:
  docket demo
  docket demo --page
  docket demo --out /tmp/docket-demo --json`)
    .action(async (flags) => (await import('../commands/demo.ts')).demo(flags, io));

  const init = program
    .command('init')
    .description(
      'Create a first organization and report, and check them: prompts on a terminal, or takes everything as flags',
    )
    .argument('[folder]', 'where jobs/ and docket.env are written; default: the working directory')
    .option('--url <url>', 'URL of the Compliance Service; default: COMPLIANCE_API_URL')
    .addOption(
      new Option('--key-env <name>', 'environment variable that contains the API key (never the key itself)').conflicts(
        'keyFile',
      ),
    )
    .option('--key-file <path>', 'file that contains the API key')
    .option('--org <id>', 'short name of the organization, also of its folder; default: from its name at the service')
    .option('--service-org <id>', 'its number at the service, or `current` for the organization of the key')
    .option('--timezone <zone>', 'IANA zone of periods and schedules; default: the zone of this machine')
    .option('--to <address...>', 'recipients of the reports')
    .choice('--allow <what>', 'allowed recipients: these addresses, or all addresses of their domains', [
      'address',
      'domain',
    ])
    .option('--owner <address>', 'who is notified when a run fails; default: the first recipient')
    .option(
      '--report <which>',
      `which report to write: weekly, monthly or both${more.map(({ report }) => report).join('')}`,
    )
    .option('--smtp-url <url>', 'mail server, without a password; default: SMTP_URL')
    .option('--mail-from <address>', 'sender; default: MAIL_FROM')
    .option('--signing-key <file>', 'instead of a report: create the key that signs the archive, or rotate it')
    .option('--lost-key <reason>', 'with --signing-key: replace a private key that is lost, and record why');
  for (const { flags, description } of more) init.option(flags, description);
  init
    .option('--yes', 'do not prompt: use the defaults')
    .option('--offline', 'do not call the service: use only metrics that every organization has, and skip the checks')
    .option('--json', 'one JSON document on stdout; does not prompt')
    .details(`
Lists the organizations that the key reaches, fetches their metric catalog (one metrics call), and writes sections that the
key may read. Overwrites no file: either all files are written, or none. Writes no secret.
Then it checks everything, as \`docket doctor\` does.
${more.map(({ details }) => details).join('')}
Environment: COMPLIANCE_API_URL, REDIS_URL, SMTP_URL, MAIL_FROM, LOG_LEVEL; the variable of --key-env

Exit codes: 0 written and checked; 1 written, but a check failed; 2 usage or configuration

Examples:
  docket init
  docket init --to lead@acme.example --report both --yes
  docket init --signing-key /etc/docket/signing.pem
  docket init --signing-key /etc/docket/signing.pem --lost-key 'disk of worker-1 failed'
${more.map(({ example }) => `  ${example}\n`).join('')}  docket init /srv/reports --url https://api.example.com --key-env ACME_API_KEY --org acme --timezone Europe/Zurich \\
    --to lead@acme.example --allow domain --report weekly --yes`)
    .action(async (folder, flags) => (await import('../commands/init.ts')).init(folder, flags, io));

  program
    .command('doctor')
    .description(
      'Check everything that `docket start` needs: Redis, definitions, API keys, mail server, targets, archive, sign-in',
    )
    .option('--catalog', 'also fetch each organization’s metric catalog: one metrics call per key')
    .option('--json', 'one JSON document on stdout')
    .details(`
Sends nothing, leaves no file behind, and without --catalog spends no metrics call: a key is checked by listing the
organizations that it reaches. With REDIS_URL set, calls share the workers' rate limiter.
Each line is ok, warn or fail, with a remedy.

Environment: all that docket start reads: COMPLIANCE_API_URL, REDIS_URL, SMTP_URL, MAIL_FROM, DOCKET_JOBS, DOCKET_ARCHIVE,
DOCKET_SECRET_FOLDERS, DOCKET_REQUIRE_DESTINATIONS, DOCKET_REPORT_SCOPE, DOCKET_ADMIN_TOKENS, DOCKET_OIDC_…, LOG_LEVEL, and the
organizations' secrets

Exit codes: 0 no check failed, warnings are allowed; 1 a check failed; 2 usage or configuration

Examples:
  docket doctor
  docket doctor --catalog                          after a change of keys: checks that they can read the metrics
  docket doctor --json | jq '.findings[] | select(.state != "ok")'`)
    .action(async (flags) => (await import('../commands/doctor.ts')).doctor(flags, io));

  program
    .command('sandbox')
    .description('Run the sandbox of the Compliance Service alone; prints its URL and keys')
    .option(
      '--host <host>',
      'address to listen on; unless it is loopback, everybody who can connect sees the keys',
      '127.0.0.1',
    )
    .option('--port <port>', 'port to listen on; 0: any free port', '8600')
    .option('--seed <n>', 'seed of the generated history and keys', '1')
    .option('--now <instant>', 'ISO instant at which the history ends; default: the current time')
    .option('--window <seconds>', 'length of the rate limit window; 60 at the real service', '60')
    .choice('--limiter <algorithm>', 'rate limiting algorithm', ['sliding', 'fixed', 'token-bucket'], 'sliding')
    .option('--fault <fault...>', 'faults to serve, e.g. reset:0.1 or status=502:3')
    .option('--dump <file>', 'write the history as NDJSON and exit')
    .option('--mail <dir>', 'also run a mail server that stores each message as a file there')
    .option('--mail-port <port>', 'port of that mail server; 0: any free port', '1025')
    .option('--redis', 'also start a Redis until exit, on port 6379 if it is free; with REDIS_URL, use that one')
    .option('--json', 'one JSON document on stdout: URL, organizations, keys and companion services')
    .details(`
Environment: LOG_LEVEL; REDIS_URL with --redis

Exit codes: 0 stopped; 1 failed; 2 usage or configuration

Examples:
  docket sandbox                                  the service on http://127.0.0.1:8600
  docket sandbox --mail mailbox --redis           everything for a first report (docs/tutorials/first-report.md)
  docket sandbox --port 0 --json                  for scripts: the document has the port
  docket sandbox --window 6 --limiter fixed       windows of six seconds, aligned to the clock
  docket sandbox --fault reset:0.1                resets every tenth connection
  docket sandbox --dump events.ndjson             all generated events, to recompute the metrics elsewhere`)
    .action(async (flags) => (await import('../commands/sandbox.ts')).sandbox(flags, io));
}
