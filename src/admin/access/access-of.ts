import type { Access } from '../access.ts';
import type { Principal } from '../auth/tokens.ts';
import { type AuditPorts, auditAccess } from './audit.ts';
import { type BudgetsPorts, budgetsAccess } from './budgets.ts';
import { type DefinitionsPorts, definitionsAccess } from './definitions.ts';
import { type DeliveriesPorts, deliveriesAccess } from './deliveries.ts';
import { type FilesPorts, filesAccess } from './files.ts';
import { type HeldPorts, heldAccess } from './held.ts';
import { type PausesPorts, pausesAccess } from './pauses.ts';
import { type ReportsPorts, reportsAccess } from './reports.ts';
import { type RunsPorts, runsAccess } from './runs.ts';
import { type SlotsPorts, slotsAccess } from './slots.ts';
import { type WatchPorts, watchAccess } from './watch.ts';

/** Everything that requests may ask of the rest; a handler has it through `Access` alone. */
export type AccessPorts = ReportsPorts &
  RunsPorts &
  FilesPorts &
  HeldPorts &
  DeliveriesPorts &
  PausesPorts &
  AuditPorts &
  SlotsPorts &
  BudgetsPorts &
  DefinitionsPorts &
  WatchPorts;

/** What the principal may see and do, over these ports. Asks nothing of them yet. */
export const accessOf = (ports: AccessPorts, principal: Principal): Access => ({
  principal,
  ...reportsAccess(ports, principal),
  ...runsAccess(ports, principal),
  ...filesAccess(ports, principal),
  ...heldAccess(ports, principal),
  ...deliveriesAccess(ports, principal),
  ...pausesAccess(ports, principal),
  ...slotsAccess(ports, principal),
  ...budgetsAccess(ports, principal),
  ...definitionsAccess(ports, principal),
  ...watchAccess(ports, principal),
  ...auditAccess(ports, principal),
});
