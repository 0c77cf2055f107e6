import { DocketError } from '../base/error.ts';
import { ROLES, type Role } from '../compose/docket.ts';

/** `--role worker,admin` → what the process does; `all` is every role. Throws `usage.invalid`. */
export function readRoles(flag: string): ReadonlySet<Role> {
  const names = flag.split(',').map((name) => name.trim());
  const roles = names.flatMap((name) => (name === 'all' ? ROLES : ROLES.filter((role) => role === name)));
  const unknown = names.filter((name) => name !== 'all' && !ROLES.some((role) => role === name));
  if (unknown.length === 0) return new Set(roles);
  throw new DocketError('usage.invalid', `--role names something that is no role.`, {
    where: '--role',
    expected: `${ROLES.join(', ')} or all; several with commas`,
    got: flag,
    next: 'See docket start --help.',
  });
}
