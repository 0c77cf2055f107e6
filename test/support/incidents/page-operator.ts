import type { Locator, Page } from 'playwright-core';
import { type Step, stepLog } from './steps.ts';

/** The time until something must be visible. It ends a test that hangs. */
const TIMEOUT_MS = 45_000;

type Role = 'link' | 'button' | 'radio' | 'checkbox';

export interface PageOperator {
  readonly page: Page;
  readonly steps: readonly Step[];
  /** Opens the overview, where every operator starts. */
  opens(): Promise<void>;
  /** Waits until this is visible in the content of the page. Returns the text of the element. */
  reads(text: string | RegExp): Promise<string>;
  /** Clicks a link of the menu. */
  visits(name: string): Promise<void>;
  /** Clicks the first visible element with this role and accessible name. */
  clicks(role: Role, name: string | RegExp): Promise<void>;
  /** Opens the form behind a button such as `Retry deliveries…`. */
  opensForm(label: string | RegExp): Promise<void>;
  fills(label: string | RegExp, value: string): Promise<void>;
  /** Chooses an option of a list by its text. */
  chooses(label: string | RegExp, option: string): Promise<void>;
  /** Repairs something outside of Docket. The page must name it. */
  repairs(what: string, named: string | RegExp, repair: () => unknown): Promise<void>;
}

/** @param url of the overview, for a signed-in page */
export function pageOperator(page: Page, url: string): PageOperator {
  const log = stepLog();
  page.setDefaultTimeout(TIMEOUT_MS);
  const main = page.locator('main');
  /** The first visible element. The error shows what the page says instead. */
  const shown = async (locator: Locator, what: string | RegExp): Promise<Locator> => {
    const found = locator.filter({ visible: true }).first();
    await found.waitFor().catch(async (cause: unknown) => {
      throw new Error(`The page does not show ${what}. It shows:\n${await main.innerText()}`, { cause });
    });
    return found;
  };
  const reads = async (text: string | RegExp): Promise<string> => {
    const found = await shown(main.getByText(text), text);
    return (await found.textContent()) ?? '';
  };
  return {
    page,
    get steps() {
      return log.steps;
    },
    opens: async () => {
      log.add('click', 'Overview');
      await page.goto(url);
    },
    reads,
    visits: async (name) => {
      const target = await shown(page.locator('header').getByRole('link', { name, exact: true }), name);
      log.add('click', name);
      await target.click();
    },
    clicks: async (role, name) => {
      const target = await shown(main.getByRole(role, { name }), name);
      log.add('click', (await nameOf(target)) || String(name));
      await target.click();
    },
    opensForm: async (label) => {
      const target = await shown(main.locator('summary').filter({ hasText: label }), label);
      log.add('click', ((await target.textContent()) ?? '').trim());
      await target.click();
    },
    fills: async (label, value) => {
      const target = await shown(main.getByLabel(label), label);
      log.add('field', String(label));
      await target.fill(value);
    },
    chooses: async (label, option) => {
      const target = await shown(main.getByLabel(label), label);
      log.add('field', String(label));
      await target.selectOption({ label: option });
    },
    repairs: async (what, named, repair) => {
      await reads(named);
      log.add('outside', what);
      await repair();
    },
  };
}

/** The visible name of a control: its label or its text. */
const nameOf = async (control: Locator): Promise<string> => {
  const name = await control.evaluate(
    (element: {
      readonly labels?: ArrayLike<{ readonly textContent: string | null }>;
      readonly textContent: string | null;
    }) => element.labels?.[0]?.textContent ?? element.textContent ?? '',
  );
  return ((await control.getAttribute('aria-label')) ?? name).trim();
};
