import { createContext, useContext } from 'hono/jsx';
import type { Pause } from '../../../../queue/schedules/pauses.ts';

/** What instants and links on a page are shown with. */
export interface PageSettings {
  /** IANA zone of every instant on the page. */
  readonly zone: string;
  /** Epoch ms: the time of the request. */
  readonly now: number;
  /** The title of a current report; undefined where it is not known to this process or not visible. */
  readonly titleOf: (org: string, report: string) => string | undefined;
  /** What is paused: its runs are not late. Absent: no run is shown as late. */
  readonly pauses?: readonly Pause[] | undefined;
}

const SettingsContext = createContext<PageSettings | null>(null);

/** Provides the settings to everything below. `PageLayout` does so for each page. */
export const SettingsProvider = SettingsContext.Provider;

/** Null outside of a page, e.g. in a part that is rendered alone. */
export const usePageSettings = (): PageSettings | null => useContext(SettingsContext);
