import { ERRORS, type ErrorCode } from '../../../src/base/error.ts';

/** The cause and remedy of each code. A code in `ERRORS` that is missing here does not compile. */
const CAUSES: Readonly<Record<ErrorCode, readonly [cause: string, remedy: string]>> = {
  'usage.invalid': ['An option or argument is wrong.', 'See `--help` of the command.'],
  'config.invalid': ['An environment variable is missing or wrong.', 'Correct the variables that the message lists.'],
  'config.secret_missing': [
    'The variable or file of a secret does not exist or cannot be read.',
    'Create it, readable for Docket’s user.',
  ],
  'config.secret_refused': [
    'A report refers to a secret that it may not use.',
    'List it in `secrets` of `org.yaml`, or use another.',
  ],
  'auth.forbidden': [
    'The token or account may not do this.',
    'Use one with the role and organization that the message names.',
  ],
  'auth.invalid': ['The token is unknown or revoked.', 'Create one with `docket tokens create`.'],
  'auth.expired': ['The token’s last day has passed.', 'Create a new one.'],
  'request.not_found': [
    'There is no such page or route, or the token may not see it.',
    'Compare the address with the HTTP API.',
  ],
  'definition.invalid': ['A definition has errors.', 'Run `docket check`; each error has its line.'],
  'definition.busy': ['Too many definitions are being checked.', 'Try again after the seconds in `Retry-After`.'],
  'definition.not_found': [
    'There is no report or organization with this name.',
    'Compare the name with the files in the jobs folder.',
  ],
  'plan.invalid': [
    'The service cannot run the report as it is defined.',
    'Change what the message names; `docket check` finds it beforehand.',
  ],
  'catalog.missing': [
    'No metric catalog is cached, and this process cannot fetch it now.',
    'Run a report of the organization, or give the process `COMPLIANCE_API_URL` and the API key.',
  ],
  'api.unreachable': ['The service cannot be reached.', 'Check `COMPLIANCE_API_URL` and the network. Runs try again.'],
  'api.timeout': ['The service did not respond in time.', 'Docket retries.'],
  'api.unavailable': [
    'The service answered 5xx.',
    'Runs try again; ask the service’s support with the `correlation_id`.',
  ],
  'api.unreadable': [
    'The response does not follow the specification.',
    'Docket retries; check whether a proxy answers instead of the service.',
  ],
  'api.throttled': ['The service answered 429.', 'Docket slows down; find the other program that uses the key.'],
  'api.unauthorized': [
    'The service refused the API key, or it has expired.',
    'Put a valid key in place: [rotate an API key](../how-to/rotate-an-api-key.md).',
  ],
  'api.forbidden': [
    'The API key lacks a permission.',
    'Give the key the scope or organization that the message names.',
  ],
  'api.not_found': [
    'The service does not know the organization or address.',
    'Compare `org` in `org.yaml` and the URL.',
  ],
  'api.refused': ['The service refused the request.', 'Its reason is in the message; correct the definition.'],
  'api.unsafe': [
    'The service answered with a redirect, or a list has too many pages or does not end.',
    'Set `COMPLIANCE_API_URL` to the final address; narrow the list with `search`.',
  ],
  'oidc.unavailable': ['The OpenID provider cannot be reached.', 'Sign in with a token, or try again.'],
  'oidc.client_refused': ['The provider refused Docket as a client.', 'Compare id, secret, redirect URL and scopes.'],
  'oidc.refused': ['The provider refused the sign-in.', 'Its reason is in the message.'],
  'oidc.invalid_response': ['The response of the provider is invalid.', 'Compare `DOCKET_OIDC_ISSUER` and the clocks.'],
  'redis.unreachable': [
    'Redis does not answer, is loading or is failing over.',
    'Start it, or correct `REDIS_URL`. Docket tries again.',
  ],
  'redis.unauthorized': [
    'Redis rejected the credentials or a command.',
    'Correct `REDIS_URL` or the rights of the user.',
  ],
  'redis.out_of_memory': ['Redis has reached `maxmemory`.', 'Raise it, and keep `noeviction`.'],
  'redis.unwritable': ['Redis cannot write to its disk, or has too few replicas.', 'See the log of Redis.'],
  'redis.wrong_type': [
    'A key of Docket has a value of another program.',
    'Give Docket its own Redis or database. Delete the key, and run the report again.',
  ],
  'redis.script_failed': ['A script met an unexpected value or a missing command.', 'Report it, with the message.'],
  'redis.unsuitable': [
    'The version, policy or kind of server is not supported.',
    'Use Redis 6.2 or later with `noeviction`.',
  ],
  'search.not_ready': ['The search index is being built.', 'Try again after some seconds.'],
  'run.incomplete': [
    'Figures are missing, and the report says `on_incomplete: fail`.',
    'Run it again when the service has them.',
  ],
  'run.held': [
    'Figures are missing, and the report says `on_incomplete: hold`.',
    'Release it with `docket runs release`, or run it again.',
  ],
  'run.comments_missing': ['A required comment is missing.', 'Write it on the page or with `docket comment`.'],
  'run.awaiting_approval': ['The run waits for approval.', 'Ask the people in the message to approve it.'],
  'run.cancelled': ['Somebody cancelled the run.', 'Trigger it again if it is needed.'],
  'run.not_found': ['There is no record of the run.', 'List runs with `docket runs`.'],
  'run.ambiguous': ['Several runs begin with this id.', 'Write more digits.'],
  'run.unreadable': ['The record is of a newer version, or damaged.', 'Upgrade this process.'],
  'run.conflict': ['The run is not in a state for this action.', 'Look at it with `docket runs show`.'],
  'review.not_approved': [
    'The report needs an approval that it does not have. Nothing was sent.',
    'Trigger it again on the workers (`--queue`); the new run waits for approval.',
  ],
  'period.not_begun': [
    'The first day of the period is after today, in the time zone of the report.',
    'Choose a period that has begun.',
  ],
  'period.unfinished': [
    'The last day of the requested period is not over.',
    'Choose a period that has ended, or add `--unfinished`.',
  ],
  already_delivered: ['The period was delivered already.', 'Add `--again` to deliver it a second time.'],
  'review.content_changed': [
    'The content is not the one that was approved.',
    'Look at it again and approve the new content.',
  ],
  'review.not_allowed': [
    'The person may not approve this run.',
    'Ask somebody in `approval.by` who took no part to approve it.',
  ],
  'review.comment_invalid': ['A comment has an error, such as an unknown figure.', 'Correct what the message names.'],
  'approval.unreachable': [
    'After this comment or trigger too few people could approve the run (`four_eyes`).',
    'Ask somebody who is not an approver to do it.',
  ],
  'run.skipped': [
    'The slot was missed and not caught up; the message says why.',
    'Run its period with `docket run --period`.',
  ],
  'run.unfinished': ['The run had not ended when the command stopped waiting.', 'Follow it with `docket runs watch`.'],
  'run.deadline': ['The run took longer than its `deadline`.', 'See what it waited for, and run it again.'],
  'run.abandoned': [
    'The process of an inline run ended, or lost Redis.',
    'Continue it on a worker with `docket runs retry`.',
  ],
  'run.poison': ['The run crashed its worker several times.', 'Reduce its rows, or give the worker more memory.'],
  'render.failed': [
    'A file could not be created.',
    'The reason is in the message; limits are in the guides of each format.',
  ],
  'template.invalid': ['A template has an error.', 'It has file, line and column, or sheet and cell.'],
  'disk.unavailable': [
    'A disk is full, read-only or failing, or too many files are open.',
    'Free space, mount it for writing, or raise the limit of open files. Runs wait.',
  ],
  'archive.corrupt': [
    'A file is not the one that was archived.',
    'Run `docket archive verify`, and restore it from a backup.',
  ],
  'archive.unwritable': ['The archive cannot be written.', 'Check its permissions.'],
  'archive.unreachable': ['The store does not answer.', 'Runs wait; check the network and credentials.'],
  'archive.key_unknown': [
    'An entry is signed with a key that this process does not know.',
    'Give every process the file of the new signing key. Runs wait.',
  ],
  'archive.unconditional': [
    'The store of the archive ignores or refuses `If-None-Match`, which signing, approval, commentary and corrections need.',
    'Use another store or a folder, or turn these features off.',
  ],
  'archive.marker_missing': [
    'The archive has lost its marker: it is not mounted, or another folder.',
    'Mount it; runs then continue.',
  ],
  'archive.marker_changed': ['The archive belongs to another deployment.', 'Mount the right one.'],
  'deployment.conflict': [
    'Redis and archive belong to different deployments.',
    'Mount the archive, or correct `REDIS_URL` or `DOCKET_ARCHIVE`. Runs then go on; a process that did not start must be started again. `docket start --adopt` joins them, once.',
  ],
  'deployment.mass_removal': [
    'The jobs folder lacks most scheduled reports.',
    'Compare with `docket diff`; start once with `--adopt` if it is meant.',
  ],
  'reading.wrong_day': [
    'The service answered a reading for another day.',
    'Compare the clocks. It is requested again within the hour.',
  ],
  'reading.too_old': [
    'The service computed the reading too early.',
    'Compare the clocks. It is requested again within the hour.',
  ],
  'reading.late': ['The reading arrived after its hour.', 'The day stays a gap.'],
  'reading.incomplete': [
    'The response lacks rows or metrics, or cannot be right.',
    'It is requested again within the hour.',
  ],
  'correction.not_found': ['There is no such correction.', 'List them with `docket corrections`.'],
  'correction.conflict': ['The correction was decided, or has changed.', 'Look at it again.'],
  'selection.not_found': ['There is no such preview, or it is older than two days.', 'Make the preview again.'],
  'selection.conflict': [
    'Somebody else has decided about the selection, or another process is deciding.',
    'Look at its result, or make a new preview.',
  ],
  'archive.locked': ['The store keeps the object (Object Lock).', 'Retention tries again each day.'],
  'delivery.not_found': ['There is no such delivery.', 'List them with `docket deliveries`.'],
  'delivery.ambiguous': ['Several deliveries begin with this id.', 'Write more digits.'],
  'delivery.conflict': ['The delivery needs no decision, or has changed.', 'Look at it again.'],
  'delivery.stopped': [
    'Deliveries are stopped, and a command cannot wait for the release.',
    'Use `--no-deliver`, or retry the run after the release (`docket stop`).',
  ],
  'switch.unreadable': [
    'Docket cannot read whether deliveries are stopped or a legal hold is in force.',
    'Mount the archive or start its store; restore a damaged file of `.switches/` or `.denied/` from a backup.',
  ],
  'deliver.recipient_refused': [
    'A server refused a recipient, or `org.yaml` does not allow it.',
    'Correct the address or `recipients` in the definition, then run the period again.',
  ],
  'deliver.recipient_denied': [
    'The recipient is on the deny list, or all recipients of a run are.',
    'Name somebody else, or take the entry off the list with `docket deny`.',
  ],
  'deliver.target_refused': [
    'A target refused the files, or it is not allowed.',
    'Correct the target, then `docket runs retry`; or the definition, then run the period again.',
  ],
  'deliver.target_failed': ['A target could not be reached.', 'Docket tries again.'],
  'deliver.unknown': ['A delivery may have arrived.', 'Decide with `docket deliveries resolve`.'],
  'internal.defect': ['A defect of Docket.', 'Report it with the log lines of the run.'],
};

const CODES = Object.entries(ERRORS) as [ErrorCode, (typeof ERRORS)[ErrorCode]][];
const CODES_SORTED = [...CODES].sort(([one], [other]) => one.localeCompare(other, 'en'));

export const errorReference = (): string =>
  `${[
    '# Error codes',
    '<!-- Generated by `npm test -- test/docs/reference.test.ts -u`; a test compares it with the codes. -->',
    'A code never changes its meaning; messages may. Each error also says what was expected, what was found, where, and what to do. “Again” means that Docket or you can try again without a change.',
    [
      '| code | cause | remedy | exit code | again |',
      '|---|---|---|---|---|',
      ...CODES_SORTED.map(([code, { exit, retryable }]) => {
        const [cause, remedy] = CAUSES[code];
        return `| \`${code}\` | ${cause} | ${remedy} | ${exit} | ${retryable ? 'yes' : 'no'} |`;
      }),
    ].join('\n'),
  ].join('\n\n')}\n`;

const EXITS: readonly (readonly [code: string, meaning: string])[] = [
  ['0', 'Done. Warnings are allowed.'],
  ['1', 'The run, check or action failed.'],
  ['2', 'Usage or configuration: nothing was done.'],
  ['3', 'Held, awaiting approval, or delivered only in part: somebody must decide.'],
  ['130', 'Stopped by Ctrl-C.'],
  ['143', 'Stopped by SIGTERM.'],
];

export const exitReference = (): string =>
  `${[
    '# Exit codes',
    '<!-- Generated by `npm test -- test/docs/reference.test.ts -u`; a test compares it with the error codes. -->',
    'All commands use the same codes. With `--json`, an error is one document on stdout, `{"error": {"code", "message", …}}`.',
    [
      '| exit code | meaning | error codes |',
      '|---|---|---|',
      ...EXITS.map(([exit, meaning]) => {
        const codes = CODES_SORTED.filter(([, error]) => String(error.exit) === exit).map(([code]) => `\`${code}\``);
        return `| ${exit} | ${meaning} | ${codes.join(', ')} |`;
      }),
    ].join('\n'),
    'A command’s `--help` says which of them it uses.',
  ].join('\n\n')}\n`;
