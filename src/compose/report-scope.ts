import { dirname, resolve } from 'node:path';
import { DocketError } from '../base/error.ts';
import { ownCredentialFiles } from '../base/own-variables.ts';
import { type SecretRef, type SecretSource, secretSource } from '../base/secret.ts';
import { formatFault } from '../define/fault.ts';
import type { Jobs } from '../define/load.ts';
import type { OrgSettings } from '../define/org.ts';
import { type ScopePolicy, scopeFaults } from '../define/scope-faults.ts';
import { secretRefsIn, secretScope } from '../define/secret-scope.ts';
import type { DestinationPolicy } from '../deliver/destination-guard.ts';
import type { OrgsInForce } from './key-limits.ts';
import type { Surroundings } from './ports.ts';

type Parts = Pick<Surroundings, 'config' | 'env' | 'workingDirectory'>;

/** What the environment says of what reports may refer to and where they may be delivered to. */
export function scopePolicy({ config, env, workingDirectory = process.cwd() }: Parts): ScopePolicy {
  const { DOCKET_SECRET_FOLDERS: folders = [], DOCKET_ADMIN_TOKENS: tokens, DOCKET_ARCHIVE: place, ...others } = config;
  const archive = place ?? { kind: 'directory' as const, folder: resolve('archive') };
  const archiveFolder = archive.kind === 'directory' ? archive.folder : archive.staging;
  const whole = [config.DOCKET_JOBS, config.DOCKET_TEMPLATES, archiveFolder, ...folders];
  return {
    secrets: {
      folders,
      // Of whatever variable: one that is added is among them.
      ownRefs: secretRefsIn(others).map(({ ref }) => ref),
      archiveRefs: secretRefsIn(archive).map(({ ref }) => ref),
      ownFiles: [archiveFolder, ...ownCredentialFiles(env)],
      enforce: config.DOCKET_REPORT_SCOPE === 'enforce',
    },
    destinations: {
      required: config.DOCKET_REQUIRE_DESTINATIONS === 'on',
      ownFolders: [
        ...whole.flatMap((path) => (path === undefined ? [] : [{ path: resolve(path), within: true }])),
        // Beside a file of tokens there may be anything, the folders of deliveries too.
        ...(tokens === undefined ? [] : [{ path: dirname(resolve(tokens)), within: false }]),
      ],
    },
    workingDirectory,
  };
}

/** The scope of reports, as runs have it. */
export interface ReportScope {
  /** The secrets that an organization's reports may read. Throws `config.secret_refused` for others. */
  secretsOf(settings: OrgSettings): SecretSource;
  readonly destinations: DestinationPolicy;
  /** Logs what of these definitions is refused, or will be by a later version; each once, and not again when it is used. */
  logFaults(jobs: Jobs): Promise<void>;
}

/** @param orgs of the definitions in force */
export function reportScope(
  around: Parts & Pick<Surroundings, 'log' | 'learn' | 'redact'>,
  orgs: () => OrgsInForce,
): ReportScope {
  const policy = scopePolicy(around);
  const { log } = around;
  const source = secretSource(around.env, around);
  const logged = new Set<string>();
  const isNew = (line: string): boolean => !logged.has(line) && logged.add(line) !== undefined;
  const warn = (why: string, path?: string): void => {
    if (isNew(why))
      log.warn('A later version will refuse what a report refers to, or where it is delivered', {
        ...(path === undefined ? {} : { path }),
        why,
      });
  };
  let areLogged = false;
  return {
    secretsOf: (settings) => {
      const scoped = async (ref: SecretRef) => {
        const refusal = await secretScope([...orgs().values()], policy.secrets)(ref, settings);
        if (refusal?.enforced) {
          const { message, expected, got, next } = refusal;
          throw new DocketError('config.secret_refused', `A report of ${settings.id} may not read ${message}.`, {
            where: got,
            expected,
            got,
            next: `${next.charAt(0).toUpperCase()}${next.slice(1)}.`,
          });
        }
        if (refusal !== undefined && !areLogged) {
          const { message, expected, got, next } = refusal;
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
    },
    logFaults: async (jobs) => {
      const { faults, warnings } = await scopeFaults(jobs, policy);
      areLogged = true;
      for (const fault of warnings) warn(formatFault(fault), fault.file);
      for (const fault of faults) {
        const why = formatFault(fault);
        if (isNew(why))
          log.error('What a report refers to, or where it is delivered, is refused', { path: fault.file, why });
      }
    },
  };
}
