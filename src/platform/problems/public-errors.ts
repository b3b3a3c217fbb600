/**
 * Lists the errors of the public API, some of which the admin API also uses. The error pages, `docs/errors.md` and the
 * advice for assistants are generated from the rows.
 */
import { RETRY_LATER, type ErrorEntry } from './error-entry.js';

const NEW_KEY = 'Replace it with a new key.';

// Texts for AI assistants.
const ASK_FOR_SCOPE =
  'An administrator of the API keys can give the key this scope, or create a key that has it. ' +
  'Calling again with this key fails in the same way.';
const REPLACE_KEY = 'The API key of this connection cannot be used. The person who set it up must replace it.';
const TELL_PERSON = 'The API is at fault, not the call. Tell the person, with the request_id.';
const CALL_LATER = 'The call is not at fault. Retry it after the wait, a few times at most.';

export const PUBLIC_ERRORS = {
  // Framing and size. The parser or the server refuses these requests before the route is known.
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
    meaning: 'The headers are too large in total.',
    action: 'Send fewer or shorter headers. Leave out cookies.',
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
    meaning: 'The request was sent over http, where others can read the key. The key was not checked.',
    action: 'Use `https://`, and rotate a key that was sent in clear text.',
    assistant: 'The connection must use https. The person who set it up must change its URL and replace the key.',
  },
  not_implemented: {
    status: 501,
    title: 'The server does not support this request',
    fault: 'client',
    meaning: 'The method is not an HTTP method, or the server does not support the `Transfer-Encoding`.',
    action: 'Use a method of the reference, in capitals, and no `Transfer-Encoding` other than `chunked`.',
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
    title: 'This operation is temporarily off before it is retired',
    fault: 'client',
    meaning: 'The version or operation is deprecated. For some hours, it answers as it will after its end.',
    action: 'Move to the successor that the `Link` header names, before the date in `Sunset`.',
  },
  operation_sunset: {
    status: 410,
    title: 'This operation has been retired',
    fault: 'client',
    meaning: 'The version or operation was deprecated, and has ended.',
    action: 'Move to the successor that the `Link` header names.',
  },

  // Callers of the MCP server.
  origin_not_allowed: {
    status: 403,
    title: 'This host name or origin is not allowed',
    fault: 'client',
    meaning: 'The request to the MCP server has an unknown host name, or comes from a page of another site.',
    action:
      'Use the address that you were given, or ask the operator to add the name or page to `mcp` in `gateway.yaml`.',
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
    meaning: 'The request has two `Authorization` headers, or also a key in the URL.',
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
    meaning: 'The key does not exist or was not copied completely, or the backend does not accept it.',
    action: 'Compare it with the key that you stored. Do not retry with the same key.',
    assistant: REPLACE_KEY,
  },
  expired_api_key: {
    status: 401,
    title: 'The API key has expired',
    fault: 'client',
    meaning: 'The key has expired, or the time after its rotation is over.',
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
    assistant: 'An administrator of the API keys can resume the key.',
  },
  ip_not_allowed: {
    status: 403,
    title: 'The API key cannot be used from this address',
    fault: 'client',
    meaning: 'The key is restricted to other addresses.',
    action: 'Send the request from an allowed address, or add yours to the key.',
  },
  account_suspended: {
    status: 403,
    title: 'The account is suspended',
    fault: 'client',
    meaning: 'The account is suspended. None of its keys work.',
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
    meaning:
      'The request has several `Idempotency-Key` headers, or one that is empty, too long or has invalid characters.',
    action: 'Send 1 to 255 printable ASCII characters, such as a UUID, with or without quotes.',
  },
  idempotency_in_progress: {
    status: 409,
    title: 'The request is still in progress',
    fault: 'client',
    meaning: 'A request with the same `Idempotency-Key` has not ended yet. This one was not counted.',
    action: 'Send it again after `Retry-After` to get its response.',
  },
  idempotency_outcome_unknown: {
    status: 409,
    title: 'The outcome of the request is unknown',
    fault: 'client',
    meaning:
      'The first request with this `Idempotency-Key` was forwarded, and its response was lost. It may have been ' +
      'carried out, and is not carried out again.',
    action:
      'Check whether it took effect. If it did not, send it with a new key. The same key gives this error until it ' +
      'expires.',
  },
  idempotency_not_stored: {
    status: 409,
    title: 'The request was carried out, but its response was not kept',
    fault: 'client',
    meaning:
      'The first request with this `Idempotency-Key` was carried out. `detail` has its status. Its response ' +
      'was too large, or could not be stored, and had `Idempotency-Stored: false`.',
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
      'More than 600 requests with an `Idempotency-Key` within a minute were repeats, or were refused. The limits of ' +
      'your plan are not used up.',
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
      'The limit per minute of the key or the account is used up. `violated-policies` says which. The request was not ' +
      'counted.',
    action:
      'Wait for the seconds in `Retry-After`, then slow down and watch `RateLimit`. Without `Retry-After` the ' +
      'request costs more than the limit and can never succeed.',
    assistant: 'Wait for retry_after seconds, then continue more slowly. get_usage shows what is left, and is free.',
  },
  quota_exceeded: {
    status: 429,
    title: 'Quota used up',
    fault: 'client',
    meaning: 'The quota of the month or day is used up. The request was not counted.',
    action: 'Do not retry before `resets_at`, or ask for a larger plan.',
    assistant:
      'Do not call again before resets_at, because the call would fail. Tell the person that a larger plan may help.',
  },
  quota_unavailable: {
    status: 503,
    title: 'Limits cannot be checked right now',
    fault: 'gateway',
    meaning: 'We cannot read the counters at the moment, and your plan or your request needs them.',
    action: RETRY_LATER,
    assistant: CALL_LATER,
  },
  too_many_usage_queries: {
    status: 429,
    title: 'Too many usage queries',
    fault: 'client',
    meaning:
      'Too many requests of this key to `/usage` with `group_by`. The limits of your plan are not used up. ' +
      '`violated-policies` names `usage-queries`.',
    action: 'Wait for `Retry-After`, and cache the response. There is no such limit without `group_by`.',
  },

  // Forwarding: the part of a service's capacity that one account can use.
  too_many_concurrent_requests: {
    status: 429,
    title: 'Too many requests at the same time',
    fault: 'client',
    meaning: 'The account has too many requests in progress. The request was not counted.',
    action: 'Wait for `Retry-After`, then send fewer requests at the same time.',
    assistant: 'Make fewer calls at the same time.',
  },

  // Forwarding: failures between the gateway and the backend.
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
    assistant: `${CALL_LATER} It may have taken effect. Check, so that nothing is created twice.`,
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

  // Refusals by a backend, in our format but with the backend's status.
  request_refused: {
    status: 400,
    title: 'The request was refused',
    fault: 'client',
    meaning: 'The request was understood and refused. `detail` says why.',
    action: 'Change the request as `detail` says.',
  },
  validation_failed: {
    status: 422,
    title: 'Some fields are not valid',
    fault: 'client',
    meaning: 'Fields of the body are missing or wrong. `errors` names each of them.',
    action: 'Correct the fields that `errors` points to.',
    assistant: 'Correct what errors or detail name, and call again.',
  },
  payment_required: {
    status: 402,
    title: 'Payment is required',
    fault: 'client',
    meaning: 'The account must pay for this first.',
    action: 'Check the plan of the account.',
  },
  forbidden: {
    status: 403,
    title: 'This is not allowed',
    fault: 'client',
    meaning: 'The key is valid, but its account is not allowed to do this.',
    action: 'Do not retry. Ask the owner of the account.',
  },
  resource_not_found: {
    status: 404,
    title: 'No such resource',
    fault: 'client',
    meaning: 'Your account has no resource with this ID.',
    action: 'Check the ID. The resource may have been deleted, or belong to another account.',
    assistant: 'There is no resource with this ID, or this key cannot see it. Find it with a tool that lists.',
  },
  not_acceptable: {
    status: 406,
    title: 'The requested format is not available',
    fault: 'client',
    meaning: 'The format in `Accept` is not available.',
    action: 'Accept `application/json`.',
  },
  conflict: {
    status: 409,
    title: 'The request conflicts with the current state',
    fault: 'client',
    meaning: 'The request conflicts with the current state, for example with a unique value.',
    action: 'Read the current state, then change the request.',
    assistant: 'The call conflicts with the current state. Read it, and adapt the call.',
  },
  resource_gone: {
    status: 410,
    title: 'The resource is gone',
    fault: 'client',
    meaning: 'The resource existed, and was deleted.',
    action: 'Stop using its ID.',
  },
  precondition_failed: {
    status: 412,
    title: 'A precondition was not met',
    fault: 'client',
    meaning: 'A condition such as `If-Match` failed, because someone changed the resource.',
    action: 'Read it again, and repeat the change on the new state.',
  },
  backend_rate_limited: {
    status: 429,
    title: 'The backend limits the rate of requests',
    fault: 'client',
    meaning: 'The part of our system that handles this has a rate limit of its own.',
    action: 'Wait for `Retry-After`, or a few seconds where it is missing.',
    assistant: 'Wait for retry_after seconds, then continue more slowly.',
  },

  // Lists and parameters of our own endpoints and of the admin API.
  invalid_parameter: {
    status: 400,
    title: 'A parameter is not valid',
    fault: 'client',
    meaning: 'A query or path parameter is wrong or unknown. `errors` names it.',
    action: 'Correct it as `errors` says.',
  },
  invalid_cursor: {
    status: 400,
    title: 'The cursor is not valid',
    fault: 'client',
    meaning: 'The cursor was changed, or belongs to another list or other filters.',
    action: 'Start again without `cursor`.',
  },

  // The gateway.
  shutting_down: {
    status: 503,
    title: 'This server is shutting down',
    fault: 'gateway',
    meaning: 'This server is about to stop. Others continue.',
    action: 'Try again immediately.',
  },
  gateway_overloaded: {
    status: 503,
    title: 'The gateway is overloaded',
    fault: 'gateway',
    meaning: 'We have no capacity for the request at the moment. It was not forwarded, and not counted.',
    action:
      'Wait for `Retry-After`, then retry with increasing pauses. If it keeps happening, give support the ' +
      '`request_id`.',
  },
  internal_error: {
    status: 500,
    title: 'Something went wrong on our side',
    fault: 'gateway',
    meaning: 'An unexpected error occurred on our side.',
    action: RETRY_LATER,
  },
} as const satisfies Record<string, ErrorEntry>;
