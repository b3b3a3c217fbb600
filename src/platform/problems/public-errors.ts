/**
 * Errors of the public API, and those that it shares with the admin API (`admin-errors.ts` has the rest): one row for each
 * code. Error pages, the catalogue of codes, `docs/errors.md` and the advice to assistants are made of these rows.
 */
import { RETRY_LATER, type ErrorEntry } from './error-entry.js';

const NEW_KEY = 'Replace it with a new key.';

// What an assistant is told to do.
const ASK_FOR_SCOPE =
  'Whoever manages the API keys of this account can give the key this scope, or hand out a key that has it. ' +
  'Asking again with this key gives the same refusal.';
const REPLACE_KEY =
  'The API key of this connection cannot be used. The person who set it up has to put another one in its place.';
const TELL_PERSON = 'The fault is in the API, not in the call. Tell the person, with the request_id.';
const CALL_LATER = 'The fault is not in the call. Try the same again after the wait, a few times at the most.';

export const PUBLIC_ERRORS = {
  // Framing and size: what the parser or the server refuses before a route is known.
  bad_request: {
    status: 400,
    title: 'The request could not be understood',
    fault: 'client',
    meaning: 'The request is not valid HTTP, or contradicts itself, for example in its length or its headers.',
    action: 'Use an HTTP library, and check whether a proxy changes the request on its way.',
  },
  invalid_path: {
    status: 400,
    title: 'The path is not in a form that this API accepts',
    fault: 'client',
    meaning: 'The path has an encoded slash, an empty or a dot segment, or characters that are not valid there.',
    action: 'Build the path from the documented template, and percent-encode each parameter by itself.',
  },
  request_timeout: {
    status: 408,
    title: 'The request did not arrive in time',
    fault: 'client',
    meaning: 'The request was not complete when the time for it was over.',
    action: 'Check your connection, and send the body without long pauses.',
  },
  content_too_large: {
    status: 413,
    title: 'The request body is too large',
    fault: 'client',
    meaning: 'The body is larger than the operation accepts.',
    action: 'Send less data at once, for example in several requests.',
  },
  uri_too_long: {
    status: 414,
    title: 'The URL is too long',
    fault: 'client',
    meaning: 'The URL is too long.',
    action: 'Use fewer or shorter parameters.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The content type is not supported',
    fault: 'client',
    meaning: 'The operation does not read this content type.',
    action: 'Set `Content-Type` to a type that the reference names, usually `application/json`.',
  },
  headers_too_large: {
    status: 431,
    title: 'The request headers are too large',
    fault: 'client',
    meaning: 'The headers are too large together.',
    action: 'Send fewer or shorter headers; leave cookies out.',
  },
  misdirected_request: {
    status: 421,
    title: 'This host name is not served here',
    fault: 'client',
    meaning: 'The request names a host that is not served here.',
    action: 'Use the documented address. Operators add names to `gateway.hosts` or `admin.hosts`.',
  },
  tls_required: {
    status: 403,
    title: 'This API is served over HTTPS only',
    fault: 'client',
    meaning: 'The request came over http, where anyone on the way can read the key. The key was not looked at.',
    action: 'Use `https://`, and rotate a key that was sent in clear text.',
    assistant: 'The connection has to use https. The person who set it up has to change its URL and replace the key.',
  },
  not_implemented: {
    status: 501,
    title: 'This server does not know what was asked for',
    fault: 'client',
    meaning:
      'The method is none that HTTP knows, or the body is coded for its way (`Transfer-Encoding`) as no ' +
      'HTTP/1.1 server has to know.',
    action:
      'Send one of the methods that the reference names, in capitals, and no `Transfer-Encoding` but ' + '`chunked`.',
  },

  // Route.
  route_not_found: {
    status: 404,
    title: 'No such path',
    fault: 'client',
    meaning: 'There is no operation at this path.',
    action: 'Compare the path with the reference, upper and lower case included.',
  },
  method_not_allowed: {
    status: 405,
    title: 'This path does not support the method',
    fault: 'client',
    meaning: 'The path exists, but not with this method.',
    action: 'Use one of the methods in the `Allow` header.',
  },
  operation_brownout: {
    status: 410,
    title: 'This operation is switched off for a while before it is retired',
    fault: 'client',
    meaning: 'The version or operation is deprecated, and answers for some hours as it will after its last day.',
    action: 'Move to the successor that the `Link` header names, before the date in `Sunset`.',
  },
  operation_sunset: {
    status: 410,
    title: 'This operation has been retired',
    fault: 'client',
    meaning: 'The version or operation was deprecated, and its last day is over.',
    action: 'Move to the successor that the `Link` header names.',
  },

  // Who asks, of the MCP server.
  origin_not_allowed: {
    status: 403,
    title: 'This host name or origin is not allowed',
    fault: 'client',
    meaning:
      'The MCP server was asked under a host name that is not its own, or by a page of another site in a ' + 'browser.',
    action:
      'Use the address that you were given; let the operator add the name, or the page, to `mcp` in ' +
      '`gateway.yaml`.',
  },

  // Key.
  too_many_failed_attempts: {
    status: 429,
    title: 'Too many failed attempts from this address',
    fault: 'client',
    meaning: 'Too many requests from your address had a wrong key.',
    action: 'Stop, use the correct key, and try again after `Retry-After`.',
  },
  malformed_authorization: {
    status: 400,
    title: 'The Authorization header is malformed',
    fault: 'client',
    meaning: 'The `Authorization` header stands there twice, or a key is in the URL as well.',
    action: 'Send exactly one header: `Authorization: Bearer tg_live_…`.',
  },
  missing_api_key: {
    status: 401,
    title: 'An API key is needed',
    fault: 'client',
    meaning: 'The request has no API key, or not as `Bearer`.',
    action: 'Send `Authorization: Bearer` with your key. A key in the URL is not read.',
    assistant: REPLACE_KEY,
  },
  invalid_api_key: {
    status: 401,
    title: 'The API key is not valid',
    fault: 'client',
    meaning:
      'The key does not exist or was not copied whole, or the service behind the operation does not accept ' + 'it.',
    action: 'Compare it with the key that you stored. Do not retry with the same key.',
    assistant: REPLACE_KEY,
  },
  expired_api_key: {
    status: 401,
    title: 'The API key has expired',
    fault: 'client',
    meaning: 'The key, or the time after its rotation, has run out.',
    action: NEW_KEY,
    assistant: REPLACE_KEY,
  },
  revoked_api_key: {
    status: 401,
    title: 'The API key has been revoked',
    fault: 'client',
    meaning: 'Someone in your account revoked the key.',
    action: `Ask who and why. ${NEW_KEY}`,
    assistant: REPLACE_KEY,
  },
  key_paused: {
    status: 403,
    title: 'The API key is paused',
    fault: 'client',
    meaning: 'Someone in your account paused the key. It works again once it is resumed.',
    action: 'Do not retry until the key is resumed. Ask who paused it, and why.',
    assistant: 'Whoever manages the API keys of this account can resume the key.',
  },
  ip_not_allowed: {
    status: 403,
    title: 'The API key may not be used from this address',
    fault: 'client',
    meaning: 'The key may be used from some addresses only, and yours is none of them.',
    action: 'Send the request from an allowed address, or add yours to the key.',
  },
  account_suspended: {
    status: 403,
    title: 'The account is suspended',
    fault: 'client',
    meaning: 'The account is suspended; none of its keys work.',
    action: 'Contact support.',
    assistant: 'Nothing can be called until the account is active again. Its owner can find out why.',
  },
  authentication_unavailable: {
    status: 503,
    title: 'API keys cannot be checked right now',
    fault: 'gateway',
    meaning: 'We cannot look up keys at the moment. Your key may be right.',
    action: RETRY_LATER,
    assistant: CALL_LATER,
  },

  // Scope.
  insufficient_scope: {
    status: 403,
    title: 'The API key lacks a scope',
    fault: 'client',
    meaning: 'The key does not have every scope that the operation needs. `detail` names those that are missing.',
    action: 'Use a key with the missing scopes, or add them to this one.',
    assistant: ASK_FOR_SCOPE,
  },

  // Idempotency key.
  invalid_idempotency_key: {
    status: 400,
    title: 'The Idempotency-Key is malformed',
    fault: 'client',
    meaning: 'There are several `Idempotency-Key` headers, or the one is empty, too long or has other characters.',
    action: 'Send one of 1 to 255 printable characters of ASCII, such as a UUID, in quotes or without.',
  },
  idempotency_in_progress: {
    status: 409,
    title: 'The request is still under way',
    fault: 'client',
    meaning: 'A request with the same `Idempotency-Key` has not ended yet. This one was not counted.',
    action: 'Send it again after `Retry-After` to get its response.',
  },
  idempotency_outcome_unknown: {
    status: 409,
    title: 'The outcome of the request is unknown',
    fault: 'client',
    meaning:
      'The first request with this `Idempotency-Key` was sent on, and its response was lost: it may have ' +
      'been carried out. It is not carried out again.',
    action:
      'Check whether it took effect. If it did not, send it with a new key. The same key gives this error until it ' +
      'expires.',
  },
  idempotency_not_stored: {
    status: 409,
    title: 'The request was carried out, but its response was not kept',
    fault: 'client',
    meaning:
      'The first request with this `Idempotency-Key` was carried out; `detail` has its status. Its response ' +
      'was too large to be kept, or could not be, and said so by `Idempotency-Stored: false`.',
    action: 'Read what it created or changed. It is not carried out again with this key.',
  },
  idempotency_mismatch: {
    status: 422,
    title: 'The Idempotency-Key belongs to another request',
    fault: 'client',
    meaning: 'The `Idempotency-Key` was sent before, with another path, query, type or body. Nothing was done.',
    action: 'Use a new key for each new request, and the same key only to retry it.',
  },
  too_many_idempotent_retries: {
    status: 429,
    title: 'Too many retries',
    fault: 'client',
    meaning:
      'More than 600 requests with an `Idempotency-Key` were repetitions within a minute, or came to ' +
      'nothing. The limits of your plan are not used up.',
    action: 'Wait for `Retry-After`, then retry with increasing pauses.',
  },
  idempotency_unavailable: {
    status: 503,
    title: 'Idempotency keys cannot be looked up right now',
    fault: 'gateway',
    meaning: 'We cannot look up idempotency keys at the moment. The request was not carried out, and not counted.',
    action: RETRY_LATER,
  },

  // Quota.
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    fault: 'client',
    meaning:
      'The limit of a minute is used up, for the key or the account; `violated-policies` says which. The ' +
      'request was not counted.',
    action:
      'Wait for the seconds in `Retry-After`, then slow down and watch `RateLimit`. Without `Retry-After` the ' +
      'request costs more than the limit and can never succeed.',
    assistant: 'Wait for retry_after seconds, then go on more slowly. get_usage says what is left, and costs nothing.',
  },
  quota_exceeded: {
    status: 429,
    title: 'Quota used up',
    fault: 'client',
    meaning: 'The quota of the month, or of the day, is used up. The request was not counted.',
    action: 'Do not retry before `resets_at`, or ask for a larger plan.',
    assistant: 'Do not call again before resets_at: it would be refused. Tell the person; a larger plan may help.',
  },
  quota_unavailable: {
    status: 503,
    title: 'Limits cannot be checked right now',
    fault: 'gateway',
    meaning:
      'We cannot read the counters at the moment. Your plan says not to go on without, or you asked for ' +
      'what they say.',
    action: RETRY_LATER,
    assistant: CALL_LATER,
  },
  too_many_usage_queries: {
    status: 429,
    title: 'Too many usage queries',
    fault: 'client',
    meaning:
      '`/usage` with `group_by` was asked for too often with this key. The limits of your plan are not used ' +
      'up; `violated-policies` names `usage-queries`.',
    action: 'Wait for `Retry-After`, and keep the response. Without `group_by` there is no such limit.',
  },

  // Forward: how much of a service one account may hold.
  too_many_concurrent_requests: {
    status: 429,
    title: 'Too many requests at the same time',
    fault: 'client',
    meaning: 'The account has too many requests under way at the same time. The request was not counted.',
    action: 'Wait for `Retry-After`, then send fewer requests at the same time.',
    assistant: 'Make fewer calls at the same time.',
  },

  // Forward: our own words for what went wrong between us and the backend.
  backend_unreachable: {
    status: 502,
    title: 'The backend could not be reached',
    fault: 'backend',
    meaning: 'The part of our system that handles this could not be reached. The request was not counted.',
    action: RETRY_LATER,
    assistant: CALL_LATER,
  },
  backend_bad_response: {
    status: 502,
    title: 'The backend returned an invalid response',
    fault: 'backend',
    meaning: 'The part of our system that handles this returned no usable response. The request was not counted.',
    action: 'A request that changes something may have taken effect. Check before you repeat it.',
    assistant: TELL_PERSON,
  },
  backend_unavailable: {
    status: 503,
    title: 'The backend is unavailable',
    fault: 'backend',
    meaning: 'The part of our system that handles this is unavailable. The request was not counted.',
    action: RETRY_LATER,
    assistant: CALL_LATER,
  },
  backend_timeout: {
    status: 504,
    title: 'The backend did not answer in time',
    fault: 'backend',
    meaning: 'The part of our system that handles this took too long. The request was not counted.',
    action: 'A request that changes something may have taken effect. Check before you repeat it.',
    assistant: `${CALL_LATER} It may have been done all the same: look before something is created twice.`,
  },
  backend_error: {
    status: 500,
    title: 'The backend failed',
    fault: 'backend',
    meaning: 'The part of our system that handles this failed.',
    action:
      'A request that changes something may have taken effect. Check before you repeat it. If it keeps happening, ' +
      'give support the `request_id`.',
    assistant: TELL_PERSON,
  },

  // What a backend refused, in our shape, with its own status.
  request_refused: {
    status: 400,
    title: 'The request was refused',
    fault: 'client',
    meaning: 'The request was understood and refused; `detail` says why.',
    action: 'Change the request as `detail` says.',
  },
  validation_failed: {
    status: 422,
    title: 'Some fields are not valid',
    fault: 'client',
    meaning: 'Fields of the body are missing or wrong; `errors` names each of them.',
    action: 'Correct the fields that `errors` points to.',
    assistant: 'Correct what errors or detail name, and call it again.',
  },
  payment_required: {
    status: 402,
    title: 'Payment is required',
    fault: 'client',
    meaning: 'The account has to pay for this first.',
    action: 'Check the plan of the account.',
  },
  forbidden: {
    status: 403,
    title: 'This is not allowed',
    fault: 'client',
    meaning: 'The key is right, but this is not allowed to its account.',
    action: 'Do not retry; ask the owner of the account.',
  },
  resource_not_found: {
    status: 404,
    title: 'No such resource',
    fault: 'client',
    meaning: 'There is nothing with this id in your account.',
    action: 'Compare the id; it may have been deleted, or belong to another account.',
    assistant: 'There is nothing with this id, or this key may not see it. Look it up with a tool that lists.',
  },
  not_acceptable: {
    status: 406,
    title: 'The requested form is not available',
    fault: 'client',
    meaning: 'What `Accept` asks for is not available.',
    action: 'Accept `application/json`.',
  },
  conflict: {
    status: 409,
    title: 'The request conflicts with the current state',
    fault: 'client',
    meaning: 'The request contradicts what is there, for example a value that must be unique.',
    action: 'Read the current state, then decide again.',
    assistant: 'Something else stands in the way. Look up how it is now, and call again with what fits that.',
  },
  resource_gone: {
    status: 410,
    title: 'The resource is gone',
    fault: 'client',
    meaning: 'It was there and was removed for good.',
    action: 'Stop using its id.',
  },
  precondition_failed: {
    status: 412,
    title: 'A precondition was not met',
    fault: 'client',
    meaning: 'A condition such as `If-Match` did not hold: someone changed it in between.',
    action: 'Read it again, and repeat the change on the new state.',
  },
  backend_rate_limited: {
    status: 429,
    title: 'The backend limits the rate of requests',
    fault: 'client',
    meaning: 'The part of our system that handles this limits the rate of requests, apart from your limits.',
    action: 'Wait for `Retry-After`, or a few seconds where it is missing.',
    assistant: 'Wait for retry_after seconds, then go on more slowly.',
  },

  // Lists and parameters of our own endpoints and of the admin API.
  invalid_parameter: {
    status: 400,
    title: 'A parameter is not valid',
    fault: 'client',
    meaning: 'A query or path parameter is wrong or not known; `errors` names it.',
    action: 'Correct it as `errors` says.',
  },
  invalid_cursor: {
    status: 400,
    title: 'The cursor is not valid',
    fault: 'client',
    meaning: 'The cursor was changed, or belongs to another list or other filters.',
    action: 'Start again without `cursor`.',
  },

  // Ourselves.
  shutting_down: {
    status: 503,
    title: 'This server is shutting down',
    fault: 'gateway',
    meaning: 'This server is about to stop; others go on.',
    action: 'Try again immediately.',
  },
  gateway_overloaded: {
    status: 503,
    title: 'The gateway is overloaded',
    fault: 'gateway',
    meaning:
      'We have no room for the request at the moment. Nothing was sent anywhere, and the request was not ' + 'counted.',
    action:
      'Wait for `Retry-After`, then retry with increasing pauses. If it keeps happening, give support the ' +
      '`request_id`.',
  },
  internal_error: {
    status: 500,
    title: 'Something went wrong on our side',
    fault: 'gateway',
    meaning: 'Something failed on our side that should not.',
    action: RETRY_LATER,
  },
} as const satisfies Record<string, ErrorEntry>;
