import { z } from 'zod';
import { isReservedVariable } from '../../base/config/reserved-variables.ts';
import { canonicalPath, isSubpath } from '../../base/files/canonical-path.ts';
import { type SecretRef, secretRefSchema } from '../../base/secrets/secret.ts';
import { lineSchema } from '../schema/values/primitives.ts';
import type { ValuePath } from '../yaml/source-file.ts';

/** The secrets that an organization's reports may refer to; no others. */
export const secretsSchema = z
  .strictObject({
    env: z
      .array(
        z
          .string()
          .regex(/^[A-Za-z_][A-Za-z0-9_]*\*?$/, 'the name of an environment variable, or its beginning and "*"'),
      )
      .default([])
      .describe('Environment variables; ACME_* for all whose names begin with ACME_.'),
    files: z.array(lineSchema(1000)).default([]).describe('Files, and folders with all that is in them.'),
  })
  .describe(
    "The only secrets that the organization's reports may refer to. Default: all but Docket's own, those of other organizations and files outside DOCKET_SECRET_FOLDERS.",
  );

/** Deployment-wide rules for secrets of reports. */
export interface SecretPolicy {
  /** The only folders that secret files may be in. Empty: any folder. */
  readonly allowedFolders: readonly string[];
  /** Secrets that only the deployment itself may read, whatever an `org.yaml` lists. */
  readonly deploymentRefs: readonly SecretRef[];
  /** The credentials of the archive. An `org.yaml` may list them for its reports. */
  readonly archiveRefs: readonly SecretRef[];
  /** Files and folders that belong to the deployment. */
  readonly deploymentFiles: readonly string[];
  /** true: references that earlier versions allowed are refused. false: they cause a warning. */
  readonly enforce: boolean;
}

/** Why a report may not refer to a secret. If it is not `enforced`, it only causes a warning. */
export interface SecretRefusal {
  readonly message: string;
  readonly expected: string;
  readonly got: string;
  readonly next: string;
  readonly enforced: boolean;
}

/** The settings of an organization that refer to secrets, and its allow-list. */
export interface SecretOwner {
  readonly id: string;
  readonly api_key: SecretRef;
  readonly smtp?: unknown;
  readonly secrets?: z.infer<typeof secretsSchema> | undefined;
}

/** Finds every reference in a value, with its path. */
export function secretRefsIn(
  value: unknown,
  path: ValuePath = [],
): { readonly path: ValuePath; readonly ref: SecretRef }[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('env' in value || 'file' in value) {
    const read = secretRefSchema.safeParse(value);
    if (read.success) return [{ path, ref: read.data }];
  }
  const inner: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return inner.flatMap(([name, part]) => secretRefsIn(part, [...path, name]));
}

/**
 * Decides which secrets reports may refer to. It resolves each path once, so create one per check.
 * @param orgs the organizations of all definitions
 */
export function secretAuthorizer(
  orgs: readonly SecretOwner[],
  policy: SecretPolicy,
): (ref: SecretRef, org: SecretOwner) => Promise<SecretRefusal | undefined> {
  const canonicalPaths = new Map<string, Promise<string>>();
  const canonical = (path: string): Promise<string> => {
    const known = canonicalPaths.get(path) ?? canonicalPath(path);
    canonicalPaths.set(path, known);
    return known;
  };
  const isInside = async (file: string, paths: readonly string[]): Promise<boolean> => {
    for (const path of paths) if (isSubpath(await canonical(file), await canonical(path))) return true;
    return false;
  };
  const isListed = async ({ env, files }: NonNullable<SecretOwner['secrets']>, ref: SecretRef): Promise<boolean> => {
    if ('file' in ref) return isInside(ref.file, files);
    return env.some((name) => (name.endsWith('*') ? ref.env.startsWith(name.slice(0, -1)) : ref.env === name));
  };
  const index = indexSecrets(orgs);
  /** The organizations whose `org.yaml` refers to the secret or lists it. */
  const findOwners = async (ref: SecretRef): Promise<ReadonlySet<string>> => {
    const owners = new Set('env' in ref ? index.byVariable.get(ref.env) : []);
    if ('file' in ref) {
      for (const { file, id } of index.files) {
        if ((await canonical(file)) === (await canonical(ref.file))) owners.add(id);
      }
    }
    for (const { id, secrets } of index.lists) if (await isListed(secrets, ref)) owners.add(id);
    return owners;
  };
  const includesRef = async (ref: SecretRef, refs: readonly SecretRef[]): Promise<boolean> => {
    if ('env' in ref) return refs.some((other) => 'env' in other && other.env === ref.env);
    return isInside(
      ref.file,
      refs.flatMap((other) => ('file' in other ? [other.file] : [])),
    );
  };
  const belongsToDeployment = async (ref: SecretRef, owners: ReadonlySet<string>, org: SecretOwner): Promise<boolean> =>
    ('env' in ref ? isReservedVariable(ref.env) : await isInside(ref.file, policy.deploymentFiles)) ||
    (!owners.has(org.id) && (await includesRef(ref, policy.archiveRefs)));

  return async (ref, org) => {
    const { allowedFolders, enforce } = policy;
    const refuse = (rule: Rule, enforced = true): SecretRefusal => ({
      ...RULES[rule],
      got: 'env' in ref ? ref.env : ref.file,
      enforced,
    });
    // `/proc/self/environ` contains the environment of the process, with every secret.
    if ('file' in ref && (await isInside(ref.file, ['/proc']))) return refuse('deployment');
    if (await includesRef(ref, policy.deploymentRefs)) return refuse('deployment');
    if (org.secrets !== undefined && !(await isListed(org.secrets, ref))) return refuse('unlisted');
    if ('file' in ref && allowedFolders.length > 0 && !(await isInside(ref.file, allowedFolders)))
      return refuse('outside');
    const owners = await findOwners(ref);
    if (await belongsToDeployment(ref, owners, org)) return refuse('deployment', enforce);
    return owners.size === 0 || owners.has(org.id) ? undefined : refuse('others', enforce);
  };
}

/** Indexes the references and lists of all `org.yaml` files. */
function indexSecrets(orgs: readonly SecretOwner[]) {
  const byVariable = new Map<string, Set<string>>();
  const files: { readonly file: string; readonly id: string }[] = [];
  const lists: { readonly id: string; readonly secrets: NonNullable<SecretOwner['secrets']> }[] = [];
  for (const { id, api_key, smtp, secrets } of orgs) {
    for (const { ref } of secretRefsIn({ api_key, smtp })) {
      if ('file' in ref) files.push({ file: ref.file, id });
      else byVariable.set(ref.env, (byVariable.get(ref.env) ?? new Set()).add(id));
    }
    if (secrets !== undefined) lists.push({ id, secrets });
  }
  return { byVariable, files, lists };
}

type Rule = 'deployment' | 'unlisted' | 'outside' | 'others';

const RULES: Readonly<Record<Rule, Pick<SecretRefusal, 'message' | 'expected' | 'next'>>> = {
  deployment: {
    message: "a secret of Docket's own",
    expected: "a secret of the organization's own",
    next: 'put what the report needs under a name of its own',
  },
  unlisted: {
    message: 'a secret outside the allow-list',
    expected: 'one of "secrets" of the organization',
    next: "correct it, or ask for it to be added to secrets in the organization's org.yaml",
  },
  outside: {
    message: 'a secret file outside the folders for secrets',
    expected: 'a file in a folder of DOCKET_SECRET_FOLDERS',
    next: 'move it there, or have its folder added to DOCKET_SECRET_FOLDERS',
  },
  others: {
    message: 'a secret of another organization',
    expected: "a secret of the organization's own",
    next: "refer to another, or have it named in secrets of this organization's org.yaml, if it is shared on purpose",
  },
};
