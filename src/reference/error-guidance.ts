/**
 * What each error means for an integrator, and what to do. With `src/platform/problems/errors.ts` it makes
 * the error pages and `docs/errors.md`.
 */
import type { ErrorCode } from '../platform/problems/errors.js';
import { ADMIN_ERROR_GUIDANCE } from './admin-error-guidance.js';
import { RETRY_LATER, type ErrorGuidance } from './guidance-words.js';

const NEW_KEY = 'Get a new key from whoever gave you this one, and put it in its place.';

/** Markdown with nothing but `code`; one entry for every code. */
export const ERROR_GUIDANCE: Readonly<Record<ErrorCode, ErrorGuidance>> = {
  bad_request: {
    meaning: 'The request is not valid HTTP, or contradicts itself, for example in its length or its headers.',
    action: 'Send it with an HTTP library instead of by hand; look at what a proxy between you and us changes.',
  },
  invalid_path: {
    meaning: 'The path has an encoded slash, an empty or a dot segment, or characters that are not valid there.',
    action: 'Build the path from the documented template, and percent-encode each parameter by itself.',
  },
  request_timeout: {
    meaning: 'The request was not complete when the time for it was over.',
    action: 'Look at your connection, and send the body without long pauses.',
  },
  content_too_large: {
    meaning: 'The body is larger than the operation accepts.',
    action: 'Send less at once, for example in several requests.',
  },
  uri_too_long: { meaning: 'The URL is too long.', action: 'Use fewer or shorter parameters.' },
  unsupported_media_type: {
    meaning: 'The operation does not read this content type.',
    action: 'Set `Content-Type` to what the reference names, mostly `application/json`.',
  },
  misdirected_request: {
    meaning: 'The request names a host that is not served here.',
    action: 'Use the documented address. Operators add names to `gateway.hosts` or `admin.hosts`.',
  },
  tls_required: {
    meaning: 'The request came over http, where anyone on the way can read the key. The key was not looked at.',
    action: 'Use `https://`, and replace a key that was sent in clear text.',
  },
  headers_too_large: {
    meaning: 'The headers are too large together.',
    action: 'Send fewer or shorter headers; leave cookies out.',
  },
  not_implemented: {
    meaning:
      'The method is none that HTTP knows, or the body is coded for its way (`Transfer-Encoding`) as no HTTP/1.1 ' +
      'server has to know.',
    action: 'Send one of the methods that the reference names, in capitals, and no `Transfer-Encoding` but `chunked`.',
  },
  route_not_found: {
    meaning: 'There is no operation at this path.',
    action: 'Compare the path with the reference, upper and lower case included.',
  },
  method_not_allowed: {
    meaning: 'The path exists, but not with this method.',
    action: 'Use one of the methods in the `Allow` header.',
  },
  operation_brownout: {
    meaning: 'The version or operation is deprecated, and answers for some hours as it will after its last day.',
    action: 'Move to the successor that the `Link` header names, before the date in `Sunset`.',
  },
  operation_sunset: {
    meaning: 'The version or operation was deprecated, and its last day is over.',
    action: 'Move to the successor that the `Link` header names.',
  },
  origin_not_allowed: {
    meaning:
      'The MCP server was asked under a host name that is not its own, or by a page of another site in a browser.',
    action:
      'Use the address that you were given; let the operator add the name, or the page, to `mcp` in `gateway.yaml`.',
  },
  too_many_failed_attempts: {
    meaning: 'Too many requests from your address had a wrong key.',
    action: 'Stop, put the right key in place, and go on after `Retry-After`.',
  },
  malformed_authorization: {
    meaning: 'The `Authorization` header stands there twice, or a key is in the URL as well.',
    action: 'Send exactly one header: `Authorization: Bearer tg_live_…`.',
  },
  missing_api_key: {
    meaning: 'The request has no API key, or not as `Bearer`.',
    action: 'Send `Authorization: Bearer` with your key. A key in the URL is not read.',
  },
  invalid_api_key: {
    meaning: 'The key does not exist or was not copied whole, or the service behind the operation does not accept it.',
    action: 'Compare it with where you keep it, character by character. Do not retry with the same key.',
  },
  expired_api_key: { meaning: 'The key, or the time after its rotation, has run out.', action: NEW_KEY },
  revoked_api_key: { meaning: 'Someone of your account has revoked the key.', action: `Ask who and why. ${NEW_KEY}` },
  key_paused: {
    meaning: 'Someone of your account has paused the key. It works again as it is when they let it go on.',
    action: 'Do not retry on your own: ask who paused it and why, and until when.',
  },
  ip_not_allowed: {
    meaning: 'The key may be used from some addresses only, and yours is none of them.',
    action: 'Send the request from an allowed address, or add yours to the key.',
  },
  account_suspended: { meaning: 'The account is suspended; none of its keys work.', action: 'Ask support.' },
  authentication_unavailable: {
    meaning: 'We cannot look up keys at the moment. Your key may be right.',
    action: RETRY_LATER,
  },
  insufficient_scope: {
    meaning: 'The key does not have every scope that the operation needs. `detail` names those that are missing.',
    action: 'Use a key with these scopes, or add them to this one.',
  },
  invalid_idempotency_key: {
    meaning: 'There are several `Idempotency-Key` headers, or the one is empty, too long or has other characters.',
    action: 'Send one of 1 to 255 printable characters of ASCII, such as a UUID, in quotes or without.',
  },
  idempotency_in_progress: {
    meaning: 'A request with the same `Idempotency-Key` has not ended yet. This one was not counted.',
    action: 'Send it again after `Retry-After`, and you hear what came of it.',
  },
  idempotency_outcome_unknown: {
    meaning:
      'The first request with this `Idempotency-Key` was sent on, and its response was lost: it may have been ' +
      'carried out. It is not carried out again.',
    action:
      'Look whether it had its effect. If it had none, send it with a new key; with the same one you hear this again ' +
      'until the key is forgotten.',
  },
  idempotency_not_stored: {
    meaning:
      'The first request with this `Idempotency-Key` was carried out; `detail` has its status. Its response was too ' +
      'large to be kept, or could not be, and said so by `Idempotency-Stored: false`.',
    action: 'Read what it has made. It is not carried out again under this key.',
  },
  idempotency_mismatch: {
    meaning: 'The `Idempotency-Key` was sent before, with another path, query, type or body. Nothing was done.',
    action: 'Take a new key for each new request, and the same one for its repetitions only.',
  },
  too_many_idempotent_retries: {
    meaning:
      'More than 600 requests with an `Idempotency-Key` were repetitions within a minute, or came to nothing. The ' +
      'limits of your plan are not used up.',
    action: 'Wait for `Retry-After`, and longer each time between two tries.',
  },
  idempotency_unavailable: {
    meaning: 'We cannot look up idempotency keys at the moment. The request was not carried out, and not counted.',
    action: RETRY_LATER,
  },
  rate_limited: {
    meaning:
      'The limit of a minute is used up, for the key or the account; `violated-policies` says which. The request ' +
      'was not counted.',
    action:
      'Wait for the seconds in `Retry-After`, then go on more slowly: watch `RateLimit`. Without `Retry-After` ' +
      'the request costs more than the limit, and never fits.',
  },
  quota_exceeded: {
    meaning: 'The quota of the month is used up. The request was not counted.',
    action: 'Do not retry before `resets_at`; ask for a larger plan.',
  },
  quota_unavailable: {
    meaning:
      'We cannot read the counters at the moment. Your plan says not to go on without, or you asked for what they say.',
    action: RETRY_LATER,
  },
  too_many_usage_queries: {
    meaning:
      '`/usage` with `group_by` was asked for too often with this key. The limits of your plan are not used up; ' +
      '`violated-policies` names `usage-queries`.',
    action: 'Wait for `Retry-After`, and keep what you were told. Without `group_by` there is no such limit.',
  },
  too_many_concurrent_requests: {
    meaning: 'The account has too many requests under way at the same time. The request was not counted.',
    action: 'Wait for some of them to end, at least for `Retry-After`; send fewer at a time.',
  },
  backend_unreachable: {
    meaning: 'The part of our system that handles this could not be reached. The request was not counted.',
    action: RETRY_LATER,
  },
  backend_bad_response: {
    meaning: 'The part of our system that handles this gave no usable answer. The request was not counted.',
    action: 'A request that changes something may have had its effect: look before you repeat it.',
  },
  backend_unavailable: {
    meaning: 'The part of our system that handles this is unavailable. The request was not counted.',
    action: RETRY_LATER,
  },
  backend_timeout: {
    meaning: 'The part of our system that handles this took too long. The request was not counted.',
    action: 'A request that changes something may have had its effect: look before you repeat it.',
  },
  backend_error: {
    meaning: 'The part of our system that handles this failed.',
    action:
      'A request that changes something may have had its effect: look before you repeat it. If it lasts, tell ' +
      'support the `request_id`.',
  },
  request_refused: {
    meaning: 'The request was understood and refused; `detail` says why.',
    action: 'Change the request as `detail` says.',
  },
  validation_failed: {
    meaning: 'Fields of the body are missing or wrong; `errors` names each of them.',
    action: 'Correct the fields that `errors` points to.',
  },
  payment_required: { meaning: 'The account has to pay for this first.', action: 'Look at the plan of the account.' },
  forbidden: {
    meaning: 'The key is right, but this is not allowed to its account.',
    action: 'Do not retry; ask the owner of the account.',
  },
  resource_not_found: {
    meaning: 'There is nothing with this id in your account.',
    action: 'Compare the id; it may have been deleted, or belong to another account.',
  },
  not_acceptable: { meaning: 'What `Accept` asks for is not available.', action: 'Accept `application/json`.' },
  conflict: {
    meaning: 'The request contradicts what is there, for example a value that must be unique.',
    action: 'Read the current state, then decide anew.',
  },
  resource_gone: { meaning: 'It was there and was removed for good.', action: 'Forget its id.' },
  precondition_failed: {
    meaning: 'A condition such as `If-Match` did not hold: someone changed it in between.',
    action: 'Read it again, and repeat the change on the new state.',
  },
  backend_rate_limited: {
    meaning: 'The part of our system that handles this asks for a slower pace, apart from your limits.',
    action: 'Wait for `Retry-After`, or a few seconds where it is missing.',
  },
  invalid_parameter: {
    meaning: 'A query or path parameter is wrong or not known; `errors` names it.',
    action: 'Correct it as `errors` says.',
  },
  invalid_cursor: {
    meaning: 'The cursor was changed, or belongs to another list or other filters.',
    action: 'Begin again without `cursor`.',
  },
  ...ADMIN_ERROR_GUIDANCE,
  shutting_down: { meaning: 'This server is about to stop; others go on.', action: 'Try again at once.' },
  gateway_overloaded: {
    meaning:
      'We have no room for the request at the moment. Nothing was sent anywhere, and the request was not counted.',
    action:
      'Wait for `Retry-After`, then try again with increasing pauses. If it lasts, tell support the `request_id`.',
  },
  internal_error: { meaning: 'Something failed on our side that should not.', action: RETRY_LATER },
};
