// @ts-check
// Optional: keys for people who look at many runs, and a list of commands. The page works without it.

/** Set in this browser if somebody has turned off the single-key shortcuts: speech input may type them by mistake. */
const OFF = 'docket.single-keys-off';
const ROWS = 'main .rows tbody tr, main .active > li, main .entries > li, main .slots > li';
const MAX_SHOWN = 12;

/** @returns {boolean} */
function singleKeysAreOff() {
  try {
    return localStorage.getItem(OFF) !== null;
  } catch {
    return false;
  }
}

function toggleSingleKeys() {
  try {
    if (singleKeysAreOff()) localStorage.removeItem(OFF);
    else localStorage.setItem(OFF, 'yes');
  } catch {
    // In a browser that stores nothing, the shortcuts stay on.
  }
}

/** Moves the focus to the link of the next or the last row. @param {1 | -1} step */
function moveToRow(step) {
  const links = [...document.querySelectorAll(ROWS)].flatMap((row) => {
    const link = row.querySelector('a.id') ?? row.querySelector('a[href]');
    return link instanceof HTMLElement && link.checkVisibility() ? [{ row, link }] : [];
  });
  const current = links.findIndex(({ row }) => row.contains(document.activeElement));
  const next = links[current === -1 ? (step === 1 ? 0 : links.length - 1) : current + step];
  next?.link.focus();
  next?.row.scrollIntoView({ block: 'nearest' });
}

/** @returns {boolean} whether the page has a search */
function goToSearch() {
  const box = document.getElementById('search');
  if (!(box instanceof HTMLInputElement)) return false;
  box.focus();
  box.select();
  return true;
}

/**
 * @typedef {object} Command
 * @property {string} label
 * @property {string} kind
 * @property {() => void} run
 */

/** The commands of this page: its links and actions. @returns {Command[]} */
function commandsOfPage() {
  /** @type {Map<string, Command>} */
  const found = new Map();
  /** @param {Element} element */
  const readText = (element) => (element.textContent ?? '').replaceAll(/\s+/g, ' ').trim();
  for (const form of document.querySelectorAll('main details.action > summary')) {
    const details = form.parentElement;
    if (!(details instanceof HTMLDetailsElement)) continue;
    found.set(`do ${readText(form)}`, {
      label: readText(form),
      kind: 'action',
      run: () => {
        details.open = true;
        const field = details.querySelector('input:not([type="hidden"]), select, textarea');
        if (field instanceof HTMLElement) field.focus();
      },
    });
  }
  for (const link of document.querySelectorAll('.site-header nav a, main a[href^="/"]')) {
    if (!(link instanceof HTMLAnchorElement)) continue;
    const { href } = link;
    const label = link.getAttribute('aria-label') ?? readText(link);
    const kind = link.closest('.site-header') === null ? 'link' : 'page';
    if (label !== '' && !found.has(href)) found.set(href, { label, kind, run: () => location.assign(href) });
  }
  const label = singleKeysAreOff() ? 'Turn the single keys on' : 'Turn the single keys off: / j k ?';
  return [...found.values(), { label, kind: 'setting', run: toggleSingleKeys }];
}

/** @param {string} typed @returns {Command[]} */
function matchingCommands(typed) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const commands = commandsOfPage().filter(({ label, kind }) => {
    const text = `${label} ${kind}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const shown = commands.slice(0, MAX_SHOWN);
  if (words.length === 0 || document.getElementById('search') === null) return shown;
  const run = () => location.assign(`/search?${new URLSearchParams({ q: typed })}`);
  return [...shown, { label: `Search for “${typed.trim()}”`, kind: 'search', run }];
}

/** @param {string} name @param {Readonly<Record<string, string>>} attributes */
function element(name, attributes) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** Opens the command palette. It is built each time, because the page changes. */
function openPalette() {
  if (document.querySelector('dialog.palette') !== null) return;
  const dialog = /** @type {HTMLDialogElement} */ (element('dialog', { class: 'palette', 'aria-label': 'Commands' }));
  const input = /** @type {HTMLInputElement} */ (
    element('input', {
      role: 'combobox',
      'aria-label': 'Go to a page, do something, or search',
      'aria-controls': 'palette-list',
      'aria-expanded': 'true',
      'aria-autocomplete': 'list',
      placeholder: 'Go to a page, do something, or search',
      autocomplete: 'off',
      spellcheck: 'false',
      maxlength: '200',
    })
  );
  const list = element('ul', { id: 'palette-list', role: 'listbox', 'aria-label': 'Commands' });
  const hint = element('p', { class: 'hint' });
  hint.textContent = 'Enter chooses, Esc closes. On lists: j and k move between rows, Enter opens, / searches.';
  dialog.append(input, list, hint);
  let commands = matchingCommands('');
  let chosen = 0;
  const choose = () => {
    const command = commands[chosen];
    dialog.close();
    command?.run();
  };
  const draw = () => {
    const options = commands.map(({ label, kind }, index) => {
      const option = element('li', {
        role: 'option',
        id: `palette-${index}`,
        'aria-selected': String(index === chosen),
      });
      const name = element('span', { class: 'wrap' });
      name.textContent = label;
      const of = element('small', {});
      of.textContent = kind;
      option.append(name, of);
      option.addEventListener('click', () => {
        chosen = index;
        choose();
      });
      return option;
    });
    list.replaceChildren(...options);
    input.setAttribute('aria-activedescendant', `palette-${chosen}`);
    options[chosen]?.scrollIntoView({ block: 'nearest' });
  };
  input.addEventListener('input', () => {
    commands = matchingCommands(input.value);
    chosen = 0;
    draw();
  });
  input.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && commands.length > 0) {
      chosen = (chosen + step + commands.length) % commands.length;
      draw();
    } else if (event.key === 'Enter' && !event.isComposing) choose();
    else return;
    event.preventDefault();
  });
  const before = document.activeElement;
  dialog.addEventListener('close', () => {
    dialog.remove();
    if (before instanceof HTMLElement && document.activeElement === document.body) before.focus();
  });
  draw();
  document.body.append(dialog);
  dialog.showModal();
}

/** @param {string} key @returns {boolean} whether it did something */
function pressSingleKey(key) {
  if (key === '/') return goToSearch();
  if (key === 'j') moveToRow(1);
  else if (key === 'k') moveToRow(-1);
  else if (key === '?') openPalette();
  else return false;
  return true;
}

/** Whether somebody is typing. @param {EventTarget | null} target */
const isTyping = (target) =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'));

addEventListener('keydown', (event) => {
  const { key, ctrlKey, metaKey, altKey, target } = event;
  // Not on the sign-in pages, which have neither lists nor commands.
  if (event.isComposing || altKey || document.querySelector('.site-header') === null) return;
  if ((ctrlKey || metaKey) && key === 'k') openPalette();
  else if (ctrlKey || metaKey || isTyping(target) || singleKeysAreOff()) return;
  else if (document.querySelector('dialog[open]') !== null || !pressSingleKey(key)) return;
  event.preventDefault();
});
