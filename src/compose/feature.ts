import type { AdminServices } from '../admin/access/services.ts';
import type { AccountSetup } from '../admin/auth/account-method.ts';
import type { AdminPart } from '../admin/part.ts';
import type { ConfigPart } from '../base/config/config.ts';
import type { AppContext } from '../base/context.ts';
import type { Probe } from './probes/probe-context.ts';

/**
 * A part of Docket that the pipeline does not need, in one folder below `src/features/`. Each field is something that a
 * feature can add. A feature imports code that only some processes need when it is used.
 */
export interface Feature {
  readonly name: string;
  /** Environment variables. */
  readonly config?: ConfigPart;
  /** A way to sign in besides tokens; undefined if it is not configured. Only one feature may have it. */
  readonly signIn?: (context: AppContext) => AccountSetup | undefined;
  /** Lines of `docket doctor`, checks of `/readyz`, and trial writes. */
  readonly probes?: readonly Probe[];
  /** Routes and pages for processes with the role `admin`. */
  readonly admin?: () => Promise<(services: AdminServices) => AdminPart>;
}

/** The environment of a process, with its features. Absent: no features. */
export interface DocketContext extends AppContext {
  readonly features?: readonly Feature[];
}

/** How people sign in with accounts; undefined if they cannot. */
export const findSignIn = (context: DocketContext): AccountSetup | undefined =>
  context.features?.flatMap(({ signIn }) => signIn?.(context) ?? [])[0];
