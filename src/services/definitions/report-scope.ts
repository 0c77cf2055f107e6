import { dirname, resolve } from 'node:path';
import { reservedCredentialFiles } from '../../base/config/reserved-variables.ts';
import type { AppContext } from '../../base/context.ts';
import { DocketError } from '../../base/error.ts';
import { findProxyBy } from '../../base/net/proxies.ts';
import { type SecretRef, type SecretSource, secretSource } from '../../base/secrets/secret.ts';
import { type AllowListPolicy, checkAllowLists } from '../../definitions/allow-lists/check-allow-lists.ts';
import { secretAuthorizer, secretRefsIn } from '../../definitions/allow-lists/secrets.ts';
import { formatDiagnostic } from '../../definitions/diagnostics/diagnostic.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import type { DefinitionKinds } from '../../definitions/schema/kinds.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { ActiveOrgs } from '../budgets/key-limits.ts';

type Parts = Pick<AppContext, 'config' | 'env' | 'accessFiles' | 'workingDirectory'>;

/** Reads the environment's allow-lists for reports: secrets that they may read, and destinations. */
export function readScopePolicy({
  config,
  env,
  accessFiles = [],
  workingDirectory = process.cwd(),
}: Parts): AllowListPolicy {
  const {
    DOCKET_SECRET_FOLDERS: allowedFolders = [],
    DOCKET_ADMIN_TOKENS: tokens,
    DOCKET_ARCHIVE: place,
    ...others
  } = config;
  const archive = place ?? { kind: 'directory' as const, folder: resolve('archive') };
  const archiveFolder = archive.kind === 'directory' ? archive.folder : archive.staging;
  const whole = [config.DOCKET_JOBS, config.DOCKET_TEMPLATES, archiveFolder, ...allowedFolders];
  return {
    secrets: {
      allowedFolders,
      // All variables except those above, so that a new variable is included.
      deploymentRefs: secretRefsIn(others).map(({ ref }) => ref),
      archiveRefs: secretRefsIn(archive).map(({ ref }) => ref),
      deploymentFiles: [archiveFolder, ...reservedCredentialFiles(env)],
      enforce: config.DOCKET_REPORT_SCOPE === 'enforce',
    },
    destinations: {
      required: config.DOCKET_REQUIRE_DESTINATIONS === 'on',
      reservedFolders: [
        ...whole.flatMap((path) => (path === undefined ? [] : [{ path: resolve(path), includesSubfolders: true }])),
        // The folders of access files may contain anything, even folders of deliveries.
        ...[tokens, ...accessFiles].flatMap((path) =>
          path === undefined ? [] : [{ path: dirname(resolve(path)), includesSubfolders: false }],
        ),
      ],
    },
    workingDirectory,
  };
}

/** What an organization's reports may access. */
export type ReportScope = ReturnType<typeof createReportScope>;

/** @param orgs the active organizations */
export function createReportScope(
  context: Parts & Pick<AppContext, 'log' | 'registerSecret' | 'redact'>,
  orgs: () => ActiveOrgs,
  kinds: DefinitionKinds,
) {
  const policy = readScopePolicy(context);
  const { log } = context;
  const source = secretSource(context.env, context);
  const logged = new Set<string>();
  const isNew = (line: string): boolean => !logged.has(line) && logged.add(line) !== undefined;
  const warn = (why: string, path?: string): void => {
    if (isNew(why))
      log.warn('Secret or destination of a report is allowed only by DOCKET_REPORT_SCOPE=warn', {
        ...(path === undefined ? {} : { path }),
        why,
      });
  };
  let areLogged = false;
  return {
    /** The secrets that an organization's reports may read. Throws `config.secret_refused` for others. */
    secretsOf: (settings: OrgSettings): SecretSource => {
      const scoped = async (ref: SecretRef) => {
        const refusal = await secretAuthorizer([...orgs().values()], policy.secrets)(ref, settings);
        if (refusal === undefined) return source(ref);
        const { message, expected, got, next } = refusal;
        if (refusal.enforced) {
          throw new DocketError('config.secret_refused', `A report of ${settings.id} may not read ${message}.`, {
            where: got,
            expected,
            got,
            next: `${next.charAt(0).toUpperCase()}${next.slice(1)}.`,
          });
        }
        if (!areLogged) {
          warn(`A report of ${settings.id} refers to ${message}: expected ${expected}, got ${got}; do: ${next}`);
        }
        return source(ref);
      };
      return Object.assign(scoped, { redactor: source.redactor });
    },
    destinations: {
      ...policy.destinations,
      enforcePrivate: policy.secrets.enforce,
      warn,
      findProxy: findProxyBy(context.config, source),
    },
    /**
     * Logs what these definitions may not access, or may access only with DOCKET_REPORT_SCOPE=warn. Logs each message
     * once.
     */
    logDiagnostics: async (jobs: Definitions): Promise<void> => {
      const { errors, warnings } = await checkAllowLists(jobs, policy, kinds);
      areLogged = true;
      for (const fault of warnings) warn(formatDiagnostic(fault), fault.file);
      for (const fault of errors) {
        const why = formatDiagnostic(fault);
        if (isNew(why)) log.error('Secret or destination of a report is not allowed', { path: fault.file, why });
      }
    },
  };
}
