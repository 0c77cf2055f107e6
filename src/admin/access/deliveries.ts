import { addressKey } from '../../definitions/allow-lists/recipients.ts';
import { positionedSource } from '../../definitions/load/load-definitions.ts';
import { locate, type SourceFile } from '../../definitions/yaml/source-file.ts';
import type { RunIdLookup } from '../../queue/runs/run-ids.ts';
import type { ReadingSummary } from '../../queue/schedules/reading-index.ts';
import type { ProposedRecipient } from '../../run/review/added-recipients.ts';
import { isOrganization } from '../../services/definitions/current-report.ts';
import type { DecisionService, DeliveryPage, DeliveryRow } from '../../services/deliveries/decisions.ts';
import type { DeliveryFilter } from '../../services/deliveries/query-deliveries.ts';
import type { AddedDelivery, RecipientRequest, RecipientService } from '../../services/deliveries/recipients.ts';
import { createDenialService, type Denial, denyListOf, NOBODY_DENIED } from '../../services/denials/denial-service.ts';
import { findMentions, type Mention } from '../../services/listings/address-mentions.ts';
import { runPartsFilter } from '../../services/listings/match-reports.ts';
import { listReceived, type ReceivedPage } from '../../services/listings/received.ts';
import { resolveDeliveryId, resolveRunId } from '../../services/runs/resolve-id.ts';
import {
  createSwitchService,
  type ReleaseChoice,
  type ReleaseResult,
  type StoppedRun,
  type Switch,
  type SwitchTarget,
} from '../../services/switches/switch-service.ts';
import { canSee, type Principal } from '../auth/tokens.ts';
import { assertOperator, assertVisible, auditActor, getVisibleRun, notFoundError, visibleOrgs } from './guards.ts';
import type { RunsFilter } from './runs.ts';
import type { AdminServices } from './services.ts';

/** The deny list of the deployment, for principals of all organizations, and where definitions name an address. */
export const denialsAccess = (services: AdminServices, principal: Principal) => {
  const assertMayChange = (): void => {
    if (principal.orgs !== '*') throw notFoundError();
    assertOperator(principal);
  };
  return {
    /** Oldest first. Throws `request.not_found`, `switch.unreadable`. */
    denials: async (): Promise<readonly Denial[]> => {
      if (principal.orgs !== '*') throw notFoundError();
      return createDenialService(services).list();
    },

    /** Returns a check of addresses. While the list is unknown, no address counts as denied. */
    isDenied: async (): Promise<(address: string) => boolean> => {
      const list = denyListOf((await services.denials.known()) ?? NOBODY_DENIED);
      return (address) => list.find(address) !== undefined;
    },

    /** The places in the definitions of the visible organizations that name the address. */
    mentions: (address: string): Promise<readonly Mention[]> => findMentions(address, services.jobs(), principal.orgs),

    /**
     * Adds addresses to the list. @param text one address or domain per line, or CSV. Throws `usage.invalid`. @returns
     * the added entries
     */
    deny: async (text: string, reason: string): Promise<readonly Denial[]> => {
      assertMayChange();
      return createDenialService(services).deny(text, auditActor(principal, reason));
    },

    /** Removes addresses from the list. @returns the removed entries */
    allow: async (text: string, reason: string): Promise<readonly Denial[]> => {
      assertMayChange();
      return createDenialService(services).allow(text, auditActor(principal, reason));
    },
  };
};

/**
 * The stop of deliveries and the legal hold. Only operators of all organizations may change those of the whole
 * deployment.
 */
export const switchesAccess = (services: AdminServices, principal: Principal) => {
  const assertMayChange = ({ org }: SwitchTarget): void => {
    if (org === null) {
      if (principal.orgs !== '*') throw notFoundError();
    } else assertVisible(principal, org);
    assertOperator(principal);
  };
  return {
    /**
     * The switches of the visible organizations and of the whole deployment. Empty if neither Redis nor the archive
     * knows them.
     */
    switches: async (): Promise<readonly Switch[]> =>
      ((await services.switches.known())?.switches ?? []).filter(({ org }) => org === null || canSee(principal, org)),

    /** The runs whose deliveries wait for the release of a stop, newest first. */
    stoppedRuns: (): Promise<readonly StoppedRun[]> =>
      createSwitchService(services, services.decisions).waiting(principal.orgs),

    /** Throws `archive.*` and `switch.unreadable`. @returns the switch in force, which may have been set before */
    setSwitch: async (target: SwitchTarget, reason: string): Promise<Switch> => {
      assertMayChange(target);
      if (target.org !== null && !isOrganization(services.jobs(), target.org)) throw notFoundError();
      return createSwitchService(services, services.decisions).set(target, auditActor(principal, reason));
    },

    /** Throws `archive.*` and `switch.unreadable`. */
    releaseSwitch: async (target: SwitchTarget, reason: string, choice: ReleaseChoice): Promise<ReleaseResult> => {
      assertMayChange(target);
      return createSwitchService(services, services.decisions).release(target, auditActor(principal, reason), choice);
    },
  };
};

interface Services extends Pick<AdminServices, 'jobs'> {
  readonly recipients: RecipientService;
  readonly runs: RunIdLookup;
}

/** Sends the files of a run to additional recipients. The definition, not the role, says who may approve one. */
export function recipientsAccess(services: Services, principal: Principal) {
  const { name, kind, subject, from } = principal;
  const author = { name, kind, subject, from };
  return {
    /** Throws what `RecipientService.send` throws. `line`: what to add to the definition. */
    sendTo: async (
      id: string,
      request: RecipientRequest,
      reason: string,
    ): Promise<AddedDelivery & { readonly line: RecipientLine | null }> => {
      const run = await getVisibleRun(services, principal, id);
      assertOperator(principal);
      const added = await services.recipients.send(run.id, request, reason, author);
      const source = positionedSource(services.jobs(), `${run.org}/${run.report}`);
      return { ...added, line: recipientLine(source, request, added.delivery.target) ?? null };
    },

    /** The recipients that people added to an approved run. Throws `archive.*`. */
    addedRecipients: async (id: string): Promise<readonly ProposedRecipient[]> =>
      services.recipients.proposals(await getVisibleRun(services, principal, id)),

    /** Throws what `RecipientService.decide` throws. */
    decideRecipient: async (
      id: string,
      delivery: string,
      admitted: boolean,
      reason: string,
    ): Promise<AddedDelivery> => {
      const run = await getVisibleRun(services, principal, id);
      return services.recipients.decide(run.id, delivery, admitted, reason, author);
    },
  };
}

/** The line of a definition that names the recipients. Somebody who corrected a run must fix it for later runs. */
export interface RecipientLine {
  /** `file:line`. */
  readonly at: string;
  /** The current text of the line. */
  readonly text: string;
}

/**
 * Where to fix the report's recipients: the line with the replaced address, otherwise the delivery's recipients.
 * Changes nothing. Undefined if this machine does not have the file.
 */
export function recipientLine(
  source: SourceFile | undefined,
  { replaces }: Pick<RecipientRequest, 'replaces'>,
  target: string,
): RecipientLine | undefined {
  if (source === undefined) return undefined;
  const lines = source.text.split('\n');
  const key = replaces === undefined ? undefined : addressKey(replaces);
  const named =
    key === undefined ? -1 : lines.findIndex((line) => wordsOf(line).some((word) => addressKey(word) === key));
  const index = Number.parseInt(target, 10);
  const to = locate(source, ['deliveries', index, 'email', 'to'], 'key');
  const number = named < 0 ? to.line : named + 1;
  return { at: `${source.file}:${number}`, text: (lines[number - 1] ?? '').trim() };
}

const wordsOf = (line: string): readonly string[] => line.split(/[\s,"'[\]{}]+/).filter((word) => word.includes('@'));

type DeliveriesFilter = Omit<DeliveryFilter, 'orgs'> & Pick<RunsFilter, 'org'>;

/** `limit`: maximum number of runs to read, newest first. */
export type ReceivedFilter = Omit<RunsFilter, 'error' | 'states' | 'since' | 'until'> & Pick<DeliveryFilter, 'state'>;

/** One delivery, and the decisions about deliveries. */
export function deliveriesAccess(
  services: Pick<AdminServices, 'decisions'> & { readonly runs: RunIdLookup },
  principal: Principal,
) {
  const { decisions, runs } = services;
  const visible = async (text: string, find: DecisionService['find']): Promise<DeliveryRow> => {
    const id = await resolveDeliveryId(text, { runs, deliveries: decisions }, principal.orgs);
    const row = id === undefined ? undefined : await find(id);
    if (row === undefined) throw notFoundError();
    assertVisible(principal, row.org);
    return row;
  };
  return {
    deliveries: async ({ org, run, ...filter }: DeliveriesFilter): Promise<DeliveryPage> => {
      const orgs = visibleOrgs(principal, org);
      if (run === undefined) return decisions.page({ orgs, ...filter });
      const id = await resolveRunId(run, runs, principal.orgs);
      return id === undefined ? { deliveries: [], next: null } : decisions.page({ orgs, run: id, ...filter });
    },

    delivery: (text: string): Promise<DeliveryRow> => visible(text, decisions.find),

    /** Throws `delivery.conflict`. */
    resolve: async (text: string, as: 'sent' | 'resend', reason: string): Promise<DeliveryRow> => {
      // Recovery searches the archive, so only operators may cause it.
      const recover = (id: string) => decisions.recover(id, principal.orgs);
      const { id } = await visible(text, principal.role === 'operator' ? recover : decisions.find);
      assertOperator(principal);
      return decisions.resolve(id, as, auditActor(principal, reason));
    },

    /**
     * Decides about several deliveries of a run, or about none if one cannot be decided: the given ones, or `all` with
     * an unknown result. Returns their new states. Throws `delivery.conflict`.
     */
    resolveMany: async (
      text: string,
      which: readonly string[] | 'all',
      as: 'sent' | 'resend',
      reason: string,
    ): Promise<readonly DeliveryRow[]> => {
      const { id } = await getVisibleRun(services, principal, text);
      assertOperator(principal);
      return decisions.resolveMany(id, which, as, auditActor(principal, reason));
    },
  };
}

/** Listings of the visible organizations. */
export const listingsAccess = (services: AdminServices, principal: Principal) => ({
  /** The deliveries to matching recipients, grouped by run, newest first. */
  received: async ({ org, report, match, to, period, ...filter }: ReceivedFilter): Promise<ReceivedPage> => {
    const orgs = visibleOrgs(principal, org);
    const { reports, begins } = await runPartsFilter({ match, period }, orgs, services, services.jobs());
    return listReceived({ ...filter, orgs, to, begins, report, reports }, services);
  },

  /** Organizations that store readings of current counts, with the readings missed lately. */
  readings: async (): Promise<readonly ReadingSummary[]> =>
    (await services.readings.list()).filter(({ org }) => canSee(principal, org)),
});
