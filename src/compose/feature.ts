import type { AdminServices } from '../admin/access/services.ts';
import type { AccountSetup } from '../admin/auth/account-method.ts';
import type { AdminPart } from '../admin/part.ts';
import type { ConfigPart } from '../base/config/config.ts';
import type { AppContext } from '../base/context.ts';
import type { Probe } from './probes/probe-context.ts';

/**
 * A part of Docket that the pipeline can do without, in one folder below `src/features/`. Each field is something that a
 * feature can add. It imports on use what only some processes need.
 */
export interface Feature {
  readonly name: string;
  /** Environment variables. */
  readonly config?: ConfigPart;
  /** A way to sign in beside tokens; undefined where it is not configured. One feature has it. */
  readonly signIn?: (context: AppContext) => AccountSetup | undefined;
  /** Lines of `docket doctor`, checks of `/readyz`, trial writes. */
  readonly probes?: readonly Probe[];
  /** Routes and pages of a process with the role `admin`. */
  readonly admin?: () => Promise<(services: AdminServices) => AdminPart>;
}

/** The environment of a process, with the features that it has; absent: none. */
export interface DocketContext extends AppContext {
  readonly features?: readonly Feature[];
}

/** How people sign in with accounts; undefined where they cannot. */
export const signInOf = (context: DocketContext): AccountSetup | undefined =>
  context.features?.flatMap(({ signIn }) => signIn?.(context) ?? [])[0];
