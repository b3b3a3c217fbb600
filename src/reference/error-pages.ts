/** Renders the HTML pages of the error codes. The `type` of a problem links to the page of its code. */
import type { ErrorEntry, Fault } from '../platform/problems/error-entry.js';
import { ERRORS, type ErrorCode } from '../platform/problems/errors.js';
import { escapeHtml, renderInline, renderPage } from './html.js';

/** Texts that say whose fault an error is. */
const FAULTS: Readonly<Record<Fault, string>> = {
  client: 'The request has to change. Sending the same again gives the same answer.',
  backend: 'The fault is in our system, in the service behind this operation. The request may be right.',
  gateway: 'The fault is in our system. The request may be right.',
};

/** Codes of valid requests that came too early or too slowly, in addition to the codes with status 429. */
const MISTIMED: ReadonlySet<ErrorCode> = new Set(['idempotency_in_progress', 'request_timeout']);

/** Maximum number of characters of an unknown code that its page shows. */
const LONGEST_NAME = 100;

/** Reports whether a text is an error code of the gateway. */
export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}

/**
 * Renders the list of all codes, by status.
 * @param root path of the reference, such as `/docs`
 * @param site name of the API
 */
export function errorListPage(root: string, site: string): string {
  return renderPage(
    root,
    'Errors',
    `<p>Every error is <code>application/problem+json</code> (RFC 9457). Program against <code>code</code>; \
show <code>detail</code> to people;
quote <code>request_id</code> when you ask for help.</p>
${codeTable(root)}`,
    site,
  );
}

/** Renders the page for an unknown code, with the list of all codes. */
export function unknownCodePage(root: string, name: string, site: string): string {
  return renderPage(
    root,
    'No such error code',
    `<p>There is no error code <code>${escapeHtml(name.slice(0, LONGEST_NAME))}</code>. \
A code never changes its meaning, so every code of older documentation is in this list:</p>
${codeTable(root)}`,
    site,
  );
}

function codeTable(root: string): string {
  const codes = Object.keys(ERRORS).filter(isErrorCode);
  const rows = codes
    .toSorted((a, b) => ERRORS[a].status - ERRORS[b].status)
    .map((code) => {
      const { status, title } = ERRORS[code];
      const link = `<a href="${root}/errors/${code}"><code>${code}</code></a>`;
      return `<tr><td>${status}</td><td>${link}</td><td>${escapeHtml(title)}</td></tr>`;
    });
  return `<table>
<thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">Title</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>`;
}

/** Renders the page of a code: meaning, action, status and whose fault the error is. */
export function errorPage(root: string, code: ErrorCode, site: string): string {
  const entry: ErrorEntry = ERRORS[code];
  return renderPage(
    root,
    entry.title,
    `<p>${renderInline(entry.meaning)}</p>
<h2>What to do</h2>
<p>${renderInline(entry.action)}</p>
<dl>
<dt>code</dt><dd><code>${code}</code></dd>
<dt>status</dt><dd>${entry.status}</dd>
<dt>Whose fault it is</dt><dd>${faultOf(code, entry)}</dd>
</dl>`,
    site,
    `${code}: ${entry.title}`,
  );
}

function faultOf(code: ErrorCode, { status, fault }: ErrorEntry): string {
  const isMistimed = fault === 'client' && (status === 429 || MISTIMED.has(code));
  return isMistimed
    ? 'Nothing is wrong with the request: it came too early, or too slowly. Send the same again later.'
    : FAULTS[fault];
}
