/** Renders the HTML of the API reference: escaping, page layout, styles and Trailgate's own Markdown. */
import { parse } from 'marked';

/** Escapes text for an element or a double-quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/**
 * Renders a page of the reference with its navigation. Doesn't escape `body`.
 * @param root path of the reference, such as `/docs`
 * @param title heading as text
 * @param body HTML below the heading
 * @param site name of the API, for the end of the window title
 */
export function renderPage(root: string, title: string, body: string, site: string, windowTitle = title): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(`${windowTitle} · ${site}`)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}/assets/pages.css">
</head>
<body>
<nav aria-label="Reference"><a href="${root}">API reference</a> <a href="${root}/guide">Guide</a> \
<a href="${root}/webhooks">Webhooks</a> <a href="${root}/errors">Errors</a> <a href="${root}/versioning">Versioning</a></nav>
<main>
<h1>${escapeHtml(title)}</h1>
${body}
</main>
</body>
</html>
`;
}

/** Renders Trailgate's own Markdown. Never pass untrusted text, because HTML is not escaped. */
export function markdownToHtml(markdown: string): string {
  return parse(markdown, { async: false })
    .replaceAll('<table>', '<div class="wide"><table>')
    .replaceAll('</table>', '</table></div>');
}

/** Renders a line of text with `code` and **bold**. Escapes HTML. */
export function renderInline(text: string): string {
  return escapeHtml(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>');
}

/** Styles of all pages except the interactive reference. */
export const PAGES_CSS = `:root { color-scheme: light dark; --edge: #8884; --soft: #8881; }
body { margin: 0; font: 16px/1.6 system-ui, sans-serif; }
nav { padding: 0.75rem 1.25rem; border-bottom: 1px solid var(--edge); }
nav a { margin-right: 1.25rem; }
main { max-width: 60rem; margin: 0 auto; padding: 1rem 1.25rem 4rem; }
h1 { font-size: 1.75rem; line-height: 1.25; }
h2 { margin-top: 2rem; font-size: 1.25rem; }
code { padding: 0.1em 0.3em; border-radius: 4px; background: var(--soft); font-size: 0.9em; overflow-wrap: anywhere; }
pre { padding: 0.75rem 1rem; border-radius: 6px; background: var(--soft); overflow-x: auto; line-height: 1.45; }
pre code { padding: 0; background: none; overflow-wrap: normal; }
.wide { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 0.5rem 0.75rem 0.5rem 0; border-bottom: 1px solid var(--edge); text-align: left; \
vertical-align: top; }
dt { margin-top: 1rem; font-weight: 600; }
dd { margin: 0; }
@media (max-width: 40rem) { th:nth-child(n + 3), td:nth-child(n + 3) { display: none; } }
`;
