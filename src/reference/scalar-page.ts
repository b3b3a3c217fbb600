/** The interactive reference (Scalar), served from here without third-party requests. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import fastify from 'fastify';
import { escapeHtml } from './html.js';

/** Scalar's script. */
export interface ScriptAsset {
  /** Contains a content hash, so that it can be cached forever. */
  readonly fileName: string;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
}

/** Turns off all features that need another server. */
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

/** Returns the script. It is loaded at first use, because most processes never need its 4 MB. */
export async function scalarScript(): Promise<ScriptAsset> {
  script ??= readScript();
  return script;
}

/** Reads the bundle from Scalar's Fastify plugin, which offers it only as a route. */
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

/** Renders the page. It has no inline script, so that the content security policy can forbid them. */
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

/** Returns headers for every page. Nothing is loaded from, sent to or framed by other origins. */
export function pageHeaders(publicUrl: string): Record<string, string> {
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      // Scalar's script inserts styles into the page.
      "style-src 'self' 'unsafe-inline'",
      "img-src 'self' data: blob:",
      "font-src 'self' data:",
      // "Try it" calls the API, which may have another origin than this page.
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
