import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const PACKAGE_FOLDER = /.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/;
const LICENSE_FILE = /^(licen[cs]e|notice|copying)(\.|-|$)/i;

/**
 * The licenses of the packages that contain these modules, as Markdown. Each text appears once, below the packages that
 * use it.
 *
 * @param {Iterable<string>} modules paths
 */
export function licensesOf(modules) {
  const folders = new Set(Array.from(modules, (path) => PACKAGE_FOLDER.exec(path)?.[0] ?? ''));
  folders.delete('');
  /** @type {Map<string, Set<string>>} */
  const packages = new Map();
  for (const folder of folders) {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
    const texts = files
      .filter((file) => LICENSE_FILE.test(file.name))
      .map((file) => readFileSync(join(folder, file.name), 'utf8').trim());
    const text = texts.join('\n\n') || `License: ${license}`;
    packages.set(text, (packages.get(text) ?? new Set()).add(`${name} ${version}`));
  }
  const parts = [...packages].map(([text, names]) => {
    const title = [...names].sort().join(', ');
    return `## ${title}\n\n\`\`\`\`\n${text}\n\`\`\`\`\n`;
  });
  return ['# Licenses of the packages that these files contain\n', ...parts.sort()].join('\n');
}
