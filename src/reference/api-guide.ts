/**
 * Writes the texts of the API reference for integrators, as Markdown: the guide, the introduction and the versioning
 * policy.
 */
import { publicPaths, type ApiConfig } from '../config/model/apis.js';
import type { Config, LifeCycleDates, Operation } from '../config/model/schema.js';
import { REFERENCE_ROOT } from '../proxy/routing/built-in-paths.js';

/**
 * Returns the guide as Markdown: authentication, errors, limits and pagination.
 * @param api API of the example request
 * @param publicUrl origin of this API, without a trailing slash
 */
export function apiGuide(config: Config, { name, basePath }: ApiConfig, publicUrl: string): string {
  const [example] = config.operations.filter(
    (operation) => operation.api === name && operation.method === 'GET' && !operation.template.includes('{'),
  );
  const url = `${publicUrl}${basePath}${example?.template ?? '/usage'}`;
  return `## Authentication
An administrator of your account creates API keys in the admin panel, under Settings → Developers → API keys, and \
webhook endpoints under Webhooks.

Send your API key with every request: \`Authorization: Bearer tg_live_…\`. A key is never accepted in a URL. \
Keep it on your servers, out of browsers and apps.

\`\`\`sh
curl ${url} \\
  -H "Authorization: Bearer $API_KEY"
\`\`\`

Each operation names the scopes that a key needs, such as \`customers:read\`. \
Without them, the answer is 403 with the missing scopes. \`customers:*\` grants all scopes of a resource, \`*\` all scopes.

## Errors
Every error is a JSON problem (RFC 9457, \`application/problem+json\`). \
Let your program decide by \`code\`, show \`detail\` to people, and quote \`request_id\` when you ask for help. \
\`errors\` names each wrong field. Retry 502, 503 and 504 with increasing pauses, and 429 after \`Retry-After\`. Repeat \
a \`POST\` or \`PATCH\` with its \`Idempotency-Key\`, or check first whether it took effect. \
Other 4xx answers stay the same until you change the request. [All codes](${publicUrl}/docs/errors)

## Repeating requests
Send an \`Idempotency-Key\` with a \`POST\` or \`PATCH\`: a new UUID for each request, and the same one when you \
repeat it. An operation that accepts one is carried out once. A repeat returns the stored response with \
\`Idempotent-Replayed: true\`, and is free. \`idempotency_outcome_unknown\` means that the result was lost. Check whether \
the request took effect, and send it with a new key if it did not.

## Limits
Limits apply to each key and to the account, in any 60 seconds, a day and a month. Every answer to a known key has \
their state:

- \`RateLimit-Policy\` lists the limits, \`RateLimit\` what is left of each: \
\`"account-month";r=9873;t=911541\` is 9,873 requests for the next 911,541 seconds.
- \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\` (in seconds from now) \
say the same of the tightest limit.
- 429 means that a limit is used up. With the \`code\` \`rate_limited\`, wait for the seconds in \`Retry-After\`, \
about a minute at most. With \`quota_exceeded\`, nothing is left until \`resets_at\`. Don't wait for it, but ask for a \
larger plan.

A refused request is not counted, and neither is one that fails with 502, 503 or 504. \
\`GET ${basePath}/usage\` shows your usage at any time, and is free.

## Pagination
Lists answer \`{"data": […], "has_more": true, "next_cursor": "…"}\` for \`?limit=1\` to \`100\`. \
While \`has_more\` is true, ask again with \`cursor=next_cursor\`, or follow \`Link: <…>; rel="next"\`. Cursors are opaque. Don't keep \
them longer than the loop that uses them.

`;
}

/**
 * Returns the introduction of the OpenAPI document. Keep the text short, because client generators copy it into every
 * file.
 */
export function apiIntroduction(publicUrl: string): string {
  const pages = publicUrl + REFERENCE_ROOT;
  return `Send your API key with every request, from your servers only: \`Authorization: Bearer tg_live_…\`. Each \
operation names the scopes that a key needs.

- [Guide](${pages}/guide): API keys, errors, limits, pagination, repeating requests
- [Webhooks](${pages}/webhooks): receive events and verify them, with code in five languages
- [Errors](${pages}/errors): each code with what to do
- [Versioning](${pages}/versioning): what may change, and how it is announced`;
}

/**
 * Returns the versioning policy as Markdown: breaking changes, announcements, support period.
 * @param apis APIs that the reader can see
 */
export function versioningPolicy(config: Config, apis: readonly ApiConfig[]): string {
  const supportMonths = Math.min(...apis.map((api) => api.supportMonths));
  const [only] = apis;
  const { deprecation, sunset } = apis.length === 1 && only !== undefined ? only : { deprecation: null, sunset: null };
  return `## Versioning
The version is in the path: ${apis.map(({ basePath }) => `\`${basePath}\``).join(', ')}. A change that could break a working integration comes with a new version \
only. These are breaking:

- an operation, a parameter value, a field or a value of a field is removed, or changes its name, type or meaning;
- something optional becomes required, or a limit on input becomes tighter;
- a status or a \`code\` of an error changes for the same request, or an operation needs another scope.

These are not, and can come at any time: new operations, new optional parameters, new fields in answers, \
new values where a
field says that there may be more, new error codes, new headers, another order of fields, \
another text in \`title\` and \`detail\`.
Write your integration so that it ignores what it does not know.

A version or an operation is deprecated only when its successor is available. It works for at least \
${supportMonths} months after that. Each of its answers then has \`Deprecation\` (RFC 9745), \`Sunset\` (RFC 8594) with \
the date of its end, and \`Link\` with further information, or with rel="successor-version" if there is a successor. \
Before its end there can be brownouts. In these announced hours it answers 410 \`operation_brownout\`, so that remaining \
users notice. After its end it answers 410 \
\`operation_sunset\`.${deprecation === null ? '' : `\n\n**This version is deprecated from ${deprecation}.**`}${
    sunset === null ? '' : `\n\n**This version ends on ${sunset}.**`
  }
${endingOperations(config, apis)}`;
}

/**
 * Returns a Markdown table of the operations and versions with a deprecation, a sunset or brownouts. Empty if there are
 * none.
 */
function endingOperations({ operations, file }: Config, apis: readonly ApiConfig[]): string {
  const pathOf = publicPaths(file);
  const nameOf = (operation: Operation): string => (file.apis === undefined ? operation.template : pathOf(operation));
  const rows = [
    ...apis.map((api) => ({ what: `All of ${api.basePath}`, dates: api })),
    ...operations
      .filter((operation) => apis.some(({ name }) => name === operation.api))
      .map((operation) => ({ what: `${operation.method} ${nameOf(operation)}`, dates: operation.lifeCycle })),
  ].flatMap(({ what, dates }) => (dates === undefined || !isEnding(dates) ? [] : [tableRow(what, dates)]));
  if (rows.length === 0) return '';
  return `
| what | deprecated | ends | instead | brownouts |
|---|---|---|---|---|
${rows.join('\n')}
`;
}

/** Reports whether a deprecation, a sunset or a brownout is configured. */
function isEnding({ deprecation, sunset, brownouts }: LifeCycleDates): boolean {
  return deprecation !== null || sunset !== null || brownouts.length > 0;
}

function tableRow(subject: string, { deprecation, sunset, successor, brownouts }: LifeCycleDates): string {
  const spans = brownouts.map(({ from, to }) => `${from} to ${to}`).join(', ');
  return `| \`${subject}\` | ${deprecation ?? ''} | ${sunset ?? ''} | ${successor ?? ''} | ${spans} |`;
}
