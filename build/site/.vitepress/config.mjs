// The pages and their order come from `build.mjs`.
const { pages, out, version, sidebar } = JSON.parse(process.env.DOCKET_SITE ?? '{}');

/** Vue would evaluate what stands in double braces. */
function showBraces(md) {
  for (const rule of ['text', 'code_inline']) {
    const render = md.renderer.rules[rule];
    md.renderer.rules[rule] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;');
  }
}

export default {
  title: 'Docket',
  description: 'Scheduled reports from rate-limited metrics APIs',
  srcDir: pages,
  outDir: out,
  cacheDir: `${out}-cache`,
  // A version is published under its own path: DOCKET_SITE_BASE=/0.3/.
  base: process.env.DOCKET_SITE_BASE ?? '/',
  // Lines of a terminal's output are long.
  head: [['style', {}, '.language-text pre { white-space: pre-wrap }']],
  // Angle brackets and braces in the pages are text.
  markdown: { html: false, config: showBraces },
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'First report', link: '/docs/tutorials/first-report' },
      { text: 'Recipes', link: '/docs/recipes/' },
      { text: 'All pages', link: '/docs/README' },
      { text: version, link: '/CHANGELOG' },
    ],
    sidebar: { '/': sidebar },
    outline: [2, 3],
  },
};
