/** The readable reference: Scalar's API reference, from this server, speaking to nobody else. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import fastify from 'fastify';
import { escapeHtml } from './html.js';

/** The script of the reference, as it is sent. */
export interface ScriptAsset {
  /** Its name changes with its content, so that it may be cached for ever. */
  readonly fileName: string;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
}

/** Switches off everything in the reference that would need another server than this one. */
const CONFIGURATION = {
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  persistAuth: false,
  documentDownloadType: 'json',
  metaData: { referrer: 'no-referrer' },
  theme: 'default',
} as const;

let script: Promise<ScriptAsset> | undefined;

/** The reference's script. Read at the first visit of the page (4 MB that most processes never need), then kept. */
export async function scalarScript(): Promise<ScriptAsset> {
  script ??= readScript();
  return script;
}

/** The bundle is inlined in Scalar's plugin for Fastify, which hands it out as a route and in no other way. */
async function readScript(): Promise<ScriptAsset> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const server = fastify();
  await server.register(scalar, { routePrefix: '/', configuration: { url: '/openapi.json' } });
  const { body } = await server.inject('/js/scalar.js');
  await server.close();
  const plain = Buffer.from(body.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n'));
  const hash = createHash('sha256').update(plain).digest('hex').slice(0, 16);
  return { fileName: `scalar.${hash}.js`, plain, gzipped: await promisify(gzip)(plain) };
}

/** The page: no inline script, so that its content security policy can forbid them. */
export function scalarPage(root: string, title: string, documentUrl: string, scriptFile: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
</head>
<body>
<noscript>This page needs JavaScript. The same in plain form: \
<a href="${documentUrl}">OpenAPI document</a>, <a href="${root}/errors">errors</a>.</noscript>
<script id="api-reference" type="application/json" data-url="${documentUrl}" \
data-configuration="${escapeHtml(JSON.stringify(CONFIGURATION))}"></script>
<script src="${root}/assets/${scriptFile}"></script>
</body>
</html>
`;
}

/** Headers of every page: nothing is loaded from, sent to, or framed by another origin than ours. */
export function pageHeaders(publicUrl: string): Record<string, string> {
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      // the reference puts its styles into the page from its script
      "style-src 'self' 'unsafe-inline'",
      "img-src 'self' data: blob:",
      "font-src 'self' data:",
      // "try it" speaks to the API, which may have another name than the one this page was reached by
      `connect-src 'self' ${publicUrl}`,
      "worker-src 'self' blob:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  };
}
