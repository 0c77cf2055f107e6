/** Collects the texts of pages, including texts for screen readers. Each page contributes only what no earlier page had. */
export function textCollector(): (html: string) => readonly string[] {
  const shown = new Set<string>();
  return (html) => {
    const texts = html
      .replace(/<(?!time|code)[^>]* (?:aria-label|title|placeholder)="([^"]*)"[^>]*>/g, '\n$1\n')
      .replace(/<\/?(?:strong|a|code|time|span|b|i|em|small)\b[^>]*>/g, '')
      .replace(/<[^>]*>/g, '\n')
      .split('\n')
      .map((line) => line.replace(/\s+/g, ' ').trim())
      .filter((line) => /\p{L}{2}/u.test(line) && !shown.has(line));
    for (const line of texts) shown.add(line);
    return [...new Set(texts)];
  };
}
