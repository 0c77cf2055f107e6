import type { AppContext } from '../../base/context.ts';
import type { SecretSource } from '../../base/secrets/secret.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { Archive } from '../../deliver/archive/archive.ts';
import type { RunChain } from '../../deliver/archive/chain/run-chain.ts';
import type { CorrectionArchive } from '../../deliver/archive/corrections/correction-archive.ts';
import type { ArchiveStorage } from '../../deliver/archive/storage/archive-storage.ts';
import type { CircuitBreaker } from '../../deliver/circuit/circuit-breaker.ts';
import type { Denials } from '../../deliver/denials/shared-denials.ts';
import type { Ledger } from '../../deliver/ledger/ledger.ts';
import type { Switches } from '../../deliver/switches/shared-switches.ts';
import type { GetMailRoute } from '../../deliver/targets/email/mail-routes.ts';
import type { DefinitionStore } from '../../queue/definitions/definition-store.ts';
import type { RunQueue } from '../../queue/jobs/run-queue.ts';
import type { NoticeOutbox } from '../../queue/runs/notice-outbox.ts';
import type { RedisRunStore } from '../../queue/runs/run-store.ts';
import type { SearchIndex } from '../../queue/runs/search-index.ts';
import type { Pauses } from '../../queue/schedules/pauses.ts';
import type { RedisClient } from '../../redis/client.ts';
import type { Reviews } from '../../run/review/load-review.ts';
import type { RunEvent } from '../../run/run-events.ts';
import type { RunOrder } from '../../run/run-record.ts';
import type { AuditLog } from '../audit-log.ts';

/**
 * What a process's services work with: its environment, and what all processes share in Redis and the archive. Built
 * once, in `compose/`. A service takes all of it, plus its own parameters.
 */
export interface Deployment extends Omit<AppContext, 'redis'> {
  readonly redis: RedisClient;
  /** Prefix of all Redis keys. */
  readonly prefix: string;
  readonly secrets: SecretSource;
  /** The organizations as configured now. Empty in a command that does not load them. */
  readonly orgs: () => ReadonlyMap<string, OrgSettings>;
  readonly runs: RedisRunStore;
  readonly definitions: DefinitionStore;
  readonly searchIndex: SearchIndex;
  readonly queue: RunQueue;
  readonly pauses: Pauses;
  readonly noticeOutbox: NoticeOutbox;
  readonly audit: AuditLog;
  readonly ledger: Ledger;
  readonly archive: Archive;
  /** The storage behind `archive`. */
  readonly storage: ArchiveStorage;
  /** Undefined without a signing key: nothing is signed or verified then. */
  readonly signing: RunChain | undefined;
  /** The delivery stop and the legal hold. */
  readonly switches: Switches;
  readonly denials: Denials;
  readonly reviews: Reviews;
  readonly corrections: CorrectionArchive;
}

/** What a worker needs to send notices. */
export interface Sending {
  /** Works without the API key, because a missing key is one reason for a notice. */
  readonly mailOf: GetMailRoute;
  readonly circuit?: CircuitBreaker | undefined;
  readonly observe: (order: RunOrder, event: RunEvent) => void;
}
