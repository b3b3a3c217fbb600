/** Sends the files of the panel, and its HTML page for paths that a browser opens and that no other route matches. */
import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { contentSecurityPolicy } from './content-security-policy.js';
import type { Coding, PanelFile, PanelFiles } from './panel-files.js';

const NONCE_BYTES = 16;
/** `Cache-Control` of files that never change. One year is the longest useful `max-age`. */
const IMMUTABLE = 'public, max-age=31536000, immutable';
/**
 * Matches the paths of APIs, probes and files. If a matching path does not exist, the client gets a problem document
 * instead of the page.
 */
const OTHER_THAN_PANEL = /^\/(?:admin|assets|livez|readyz|metrics)(?:\/|$)|\.\w+$/;
/**
 * Codings in order of preference, each with a pattern that matches an `Accept-Encoding` header that accepts the coding.
 */
const REQUESTED_CODINGS: readonly (readonly [Coding, RegExp])[] = [
  ['br', /(?:^|[ ,])br(?! *; *q=0(?:\.0*)?(?:,|$))/i],
  ['gzip', /(?:^|[ ,])gzip(?! *; *q=0(?:\.0*)?(?:,|$))/i],
];

/**
 * Sends the file of a request path, or the page.
 * @returns whether a response was sent. False if the method is not GET or HEAD, or the panel does not serve the path.
 */
export function sendPanel(panel: PanelFiles, request: FastifyRequest, reply: FastifyReply): boolean {
  if (request.method !== 'GET' && request.method !== 'HEAD') return false;
  const path = request.url.split('?', 1)[0] ?? '';
  const file = panel.files.get(path);
  if (file !== undefined) {
    sendFile(file, request, reply);
    return true;
  }
  if (path !== '/' && (OTHER_THAN_PANEL.test(path) || !wantsPage(request))) return false;
  sendPage(panel, request, reply);
  return true;
}

/** Reports whether a request accepts HTML, as browsers do on navigation and API clients do not. */
const wantsPage = (request: FastifyRequest): boolean => /\btext\/html\b/i.test(request.headers.accept ?? '');

/** Sends the page with a new nonce. The response must not be cached, because each nonce is for one response. */
function sendPage({ page: [before, after] }: PanelFiles, request: FastifyRequest, reply: FastifyReply): void {
  const nonce = randomBytes(NONCE_BYTES).toString('base64');
  reply
    .header('Content-Security-Policy', contentSecurityPolicy(nonce))
    .header('Referrer-Policy', 'no-referrer')
    .header('X-Frame-Options', 'DENY')
    .header('Cross-Origin-Opener-Policy', 'same-origin')
    .header('Permissions-Policy', 'camera=(), geolocation=(), microphone=(), payment=()')
    .header('Cache-Control', 'no-store')
    .type('text/html; charset=utf-8');
  send(Buffer.from(`${before}${nonce}${after}`), request, reply);
}

function sendFile(file: PanelFile, request: FastifyRequest, reply: FastifyReply): void {
  reply
    .header('Cache-Control', file.isImmutable ? IMMUTABLE : 'no-cache')
    .header('Cross-Origin-Resource-Policy', 'same-origin')
    .header('ETag', file.etag)
    .header('Vary', 'Accept-Encoding')
    .type(file.contentType);
  if (request.headers['if-none-match']?.includes(file.etag) === true) {
    void reply.status(304).send();
    return;
  }
  const accepted = String(request.headers['accept-encoding'] ?? '');
  const coding = REQUESTED_CODINGS.find(([name, pattern]) => file.coded.has(name) && pattern.test(accepted))?.[0];
  if (coding !== undefined) reply.header('Content-Encoding', coding);
  send((coding === undefined ? undefined : file.coded.get(coding)) ?? file.bytes, request, reply);
}

function send(bytes: Buffer, request: FastifyRequest, reply: FastifyReply): void {
  reply.header('Content-Length', bytes.length);
  void reply.send(request.method === 'HEAD' ? undefined : bytes);
}
