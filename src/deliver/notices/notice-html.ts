import { balanceBidiControls, toSingleLine } from '../../base/text/bidi.ts';
import { DEFAULT_LOCALE, messagesFor, selectLanguage } from '../../i18n/messages.ts';
import type { Notice, NoticeGroup, NoticeLine } from './notice-text.ts';

/** The colours of the report e-mails, for light and dark mode. */
const STYLE = `
:root{color-scheme:light dark}
body{margin:0;background:#eef2f6}
p,h1,h2,ul,pre{margin:0}
h1{font-size:22px;line-height:28px;color:#1b2a41}
h2{font-size:16px;line-height:22px;color:#1b2a41;padding-top:18px}
ul{padding-left:18px}
ul+p,pre+p{padding-top:8px}
.text{overflow-wrap:anywhere}
.label{white-space:nowrap}
pre{margin-top:6px;padding:8px 10px;background:#eef2f6;color:#1b2a41;font:13px/19px Consolas,Menlo,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
a{color:#0b6e69}
.quiet{color:#5b6472;font-size:13px;line-height:19px}
.org{color:#0b6e69;font-weight:600}
@media (prefers-color-scheme:dark){
body{background:#0f151d !important}
.page{background:#161e29 !important}
.text{color:#dde3ea !important}
h1,h2{color:#f1f5f9 !important}
.org,a{color:#5fd0c8 !important}
.quiet{color:#a3afbd !important}
pre{background:#212c3a !important;color:#f1f5f9 !important}
}
`.trim();

const FONT = "font-family:'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:15px;line-height:22px;color:#22272e";

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for HTML, including quoted attributes. */
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');

/** Text from outside, escaped so that it cannot change the direction of the text after it. */
const foreign = (text: string): string => escapeHtml(balanceBidiControls(text)).replaceAll('\n', '<br>');

const paragraph = (line: NoticeLine): string =>
  line.kind === 'command' ? `<pre>${foreign(line.text)}</pre>` : `<p dir="auto">${foreign(line.text)}</p>`;

function groupHtml({ heading, lines }: NoticeGroup): string {
  const items = lines.filter(({ kind }) => kind === 'item');
  const others = lines.filter(({ kind }) => kind !== 'item');
  const list = items.map(({ text }) => `<li dir="auto">${foreign(text)}</li>`).join('');
  return [`<h2>${foreign(heading)}</h2>`, list === '' ? '' : `<ul>${list}</ul>`, ...others.map(paragraph)].join('\n');
}

/** The notice as HTML, without pictures and without external requests. */
export function noticeHtml(notice: Notice): string {
  const { locale = DEFAULT_LOCALE, lead, groups, facts, closing, organization, label, pageUrl } = notice;
  const subject = toSingleLine(notice.subject);
  // Keeps a label such as 2026-W46 from breaking at its hyphen.
  const heading = subject.endsWith(label)
    ? `${foreign(subject.slice(0, -label.length))}<span class="label">${foreign(label)}</span>`
    : foreign(subject);
  const link =
    pageUrl === undefined
      ? ''
      : `<p style="padding-top:12px"><a href="${escapeHtml(pageUrl)}">${messagesFor(locale).mail.template.open_page}</a></p>`;
  return `<!doctype html>
<html lang="${selectLanguage(locale)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<meta name="format-detection" content="telephone=no,date=no,address=no,email=no">
<title>${foreign(subject)}</title>
<style>
${STYLE}
</style>
</head>
<body>
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr><td align="center">
<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:640px;background:#ffffff;border-top:6px solid #1b2a41"><tr><td class="text" style="padding:24px;${FONT}">
<p class="org">${foreign(toSingleLine(organization))}</p>
<h1>${heading}</h1>
<p style="padding-top:8px">${foreign(lead)}</p>
${link}
${groups.map(groupHtml).join('\n')}
<p class="quiet" style="padding-top:24px">${facts.map(([name, value]) => `${name}: ${foreign(value)}`).join('<br>')}</p>
<p class="quiet">${closing}</p>
</td></tr></table>
</td></tr></table>
</body>
</html>
`;
}
