import { createContext, useContext } from 'hono/jsx';
import type { Pause } from '../../../../queue/schedules/pauses.ts';

/** How a page shows instants and links. */
export interface PageSettings {
  /** IANA zone of every instant on the page. */
  readonly zone: string;
  /** Epoch ms: the time of the request. */
  readonly now: number;
  /** The title of a current report. Undefined if this process does not know it, or the principal may not see it. */
  readonly titleOf: (org: string, report: string) => string | undefined;
  /** Pauses: a paused run is not late. Absent: no run is shown as late. */
  readonly pauses?: readonly Pause[] | undefined;
}

const SettingsContext = createContext<PageSettings | null>(null);

/** Provides the settings to all components below it. `PageLayout` does this for each page. */
export const SettingsProvider = SettingsContext.Provider;

/** Null outside of a page, e.g. in a part that is rendered on its own. */
export const usePageSettings = (): PageSettings | null => useContext(SettingsContext);
