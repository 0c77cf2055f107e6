import { z } from 'zod';
import { canonicalPath, isBelow } from '../base/canonical-path.ts';
import { isOwnVariable } from '../base/own-variables.ts';
import { type SecretRef, secretRefSchema } from '../base/secret.ts';
import type { OrgSettings } from './org.ts';
import type { Path } from './source.ts';
import { lineSchema } from './words.ts';

/** The only secrets that an organization's reports may refer to. */
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
    "The only secrets that the organization's reports may refer to. Absent: all but Docket's own, those of other organizations and files outside DOCKET_SECRET_FOLDERS.",
  );

/** What the deployment says of the secrets that reports refer to. */
export interface SecretPolicy {
  /** The only folders that files may be in; any when there is none. */
  readonly folders: readonly string[];
  /** What only the deployment itself refers to. Refused always: no version allowed it, and no `org.yaml` shares it. */
  readonly ownRefs: readonly SecretRef[];
  /** The credentials of the archive, which an organization's `org.yaml` may share with its reports. */
  readonly archiveRefs: readonly SecretRef[];
  /** Files, and folders with all that is in them, that are the deployment's. */
  readonly ownFiles: readonly string[];
  /** true: what versions before allowed is refused, instead of warned of. */
  readonly enforce: boolean;
}

/** Why a report may not refer to a secret. Without `enforced` it is only warned of. */
export interface SecretRefusal {
  readonly message: string;
  readonly expected: string;
  readonly got: string;
  readonly next: string;
  readonly enforced: boolean;
}

export type SecretOwner = Pick<OrgSettings, 'id' | 'api_key' | 'smtp' | 'secrets'>;

/** Every reference in a value, and where it stands. */
export function secretRefsIn(value: unknown, path: Path = []): { readonly path: Path; readonly ref: SecretRef }[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('env' in value || 'file' in value) {
    const read = secretRefSchema.safeParse(value);
    if (read.success) return [{ path, ref: read.data }];
  }
  const inner: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return inner.flatMap(([name, part]) => secretRefsIn(part, [...path, name]));
}

/**
 * Decides which secrets reports may refer to, for one look at all organizations: paths are followed once.
 * @param orgs those of all definitions
 */
export function secretScope(
  orgs: readonly SecretOwner[],
  policy: SecretPolicy,
): (ref: SecretRef, org: SecretOwner) => Promise<SecretRefusal | undefined> {
  const paths = new Map<string, Promise<string>>();
  const canonical = (path: string): Promise<string> => {
    const known = paths.get(path) ?? canonicalPath(path);
    paths.set(path, known);
    return known;
  };
  const isIn = async (file: string, places: readonly string[]): Promise<boolean> => {
    for (const place of places) if (isBelow(await canonical(file), await canonical(place))) return true;
    return false;
  };
  const lists = async ({ env, files }: NonNullable<SecretOwner['secrets']>, ref: SecretRef): Promise<boolean> => {
    if ('file' in ref) return isIn(ref.file, files);
    return env.some((name) => (name.endsWith('*') ? ref.env.startsWith(name.slice(0, -1)) : ref.env === name));
  };
  const named = namedIn(orgs);
  /** The organizations whose `org.yaml` names it. */
  const ownersOf = async (ref: SecretRef): Promise<ReadonlySet<string>> => {
    const owners = new Set('env' in ref ? named.byVariable.get(ref.env) : []);
    if ('file' in ref) {
      for (const { file, id } of named.files) {
        if ((await canonical(file)) === (await canonical(ref.file))) owners.add(id);
      }
    }
    for (const { id, secrets } of named.lists) if (await lists(secrets, ref)) owners.add(id);
    return owners;
  };
  const isAmong = async (ref: SecretRef, refs: readonly SecretRef[]): Promise<boolean> => {
    if ('env' in ref) return refs.some((own) => 'env' in own && own.env === ref.env);
    return isIn(
      ref.file,
      refs.flatMap((own) => ('file' in own ? [own.file] : [])),
    );
  };
  const isDeployments = async (ref: SecretRef, owners: ReadonlySet<string>, org: SecretOwner): Promise<boolean> =>
    ('env' in ref ? isOwnVariable(ref.env) : await isIn(ref.file, policy.ownFiles)) ||
    (!owners.has(org.id) && (await isAmong(ref, policy.archiveRefs)));

  return async (ref, org) => {
    const { folders, enforce } = policy;
    const refuse = (rule: Rule, enforced = true): SecretRefusal => ({
      ...RULES[rule],
      got: 'env' in ref ? ref.env : ref.file,
      enforced,
    });
    // The process's own environment is a file there, with every secret in it.
    if ('file' in ref && (await isIn(ref.file, ['/proc']))) return refuse('deployment');
    if (await isAmong(ref, policy.ownRefs)) return refuse('deployment');
    if (org.secrets !== undefined && !(await lists(org.secrets, ref))) return refuse('unlisted');
    if ('file' in ref && folders.length > 0 && !(await isIn(ref.file, folders))) return refuse('outside');
    const owners = await ownersOf(ref);
    if (await isDeployments(ref, owners, org)) return refuse('deployment', enforce);
    return owners.size === 0 || owners.has(org.id) ? undefined : refuse('others', enforce);
  };
}

/** What each `org.yaml` names, in the forms that a reference is looked for in. */
function namedIn(orgs: readonly SecretOwner[]) {
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
    next: "correct it, or have it added to secrets in the organization's org.yaml",
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
