/** All failures of backend calls, and the error that the caller gets. */
import { describe, expect, it } from '@jest/globals';
import { ERRORS } from '../../platform/problems/errors.js';
import { failureDetail, upstreamFailure, type UpstreamOutcome } from './upstream-errors.js';

const withCode = (code: string): Error => Object.assign(new Error(`connect ${code} 10.1.2.3:4001`), { code });

const TABLE: readonly [string, number, string, UpstreamOutcome][] = [
  ['ECONNREFUSED', 502, 'backend_unreachable', 'unreachable'],
  ['EHOSTUNREACH', 502, 'backend_unreachable', 'unreachable'],
  ['ENETUNREACH', 502, 'backend_unreachable', 'unreachable'],
  ['EHOSTDOWN', 502, 'backend_unreachable', 'unreachable'],
  ['EADDRNOTAVAIL', 502, 'backend_unreachable', 'unreachable'],
  ['ENOTFOUND', 502, 'backend_unreachable', 'unreachable'],
  ['EAI_AGAIN', 502, 'backend_unreachable', 'unreachable'],
  ['TRAILGATE_POOL_CLOSED', 502, 'backend_unreachable', 'unreachable'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 502, 'backend_unreachable', 'unreachable'],
  ['CERT_HAS_EXPIRED', 502, 'backend_unreachable', 'unreachable'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 502, 'backend_unreachable', 'unreachable'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 502, 'backend_unreachable', 'unreachable'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 502, 'backend_unreachable', 'unreachable'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 502, 'backend_unreachable', 'unreachable'],
  ['TRAILGATE_OUT_OF_RESOURCES', 503, 'gateway_overloaded', 'out_of_resources'],
  ['TRAILGATE_OUT_OF_PORTS', 503, 'gateway_overloaded', 'out_of_ports'],
  ['TRAILGATE_PROBE_FAILED', 503, 'backend_unavailable', 'answered'],
  ['ETIMEDOUT', 504, 'backend_timeout', 'connect_timeout'],
  ['TRAILGATE_CONNECT_TIMEOUT', 504, 'backend_timeout', 'connect_timeout'],
  ['TRAILGATE_FIRST_BYTE_TIMEOUT', 504, 'backend_timeout', 'first_byte_timeout'],
  ['TRAILGATE_TARGET_LOST', 504, 'backend_timeout', 'moved'],
  ['TRAILGATE_IDLE_TIMEOUT', 504, 'backend_timeout', 'idle_timeout'],
  ['ECONNRESET', 502, 'backend_bad_response', 'reset'],
  ['EPIPE', 502, 'backend_bad_response', 'reset'],
  ['TRAILGATE_BACKEND_CLOSED', 502, 'backend_bad_response', 'reset'],
  ['TRAILGATE_ANSWER_HEAD_TOO_LARGE', 502, 'backend_bad_response', 'bad_response'],
  ['TRAILGATE_BAD_ANSWER', 502, 'backend_bad_response', 'bad_response'],
  ['ESOMETHING', 502, 'backend_bad_response', 'bad_response'],
  ['TRAILGATE_REQUEST_TOO_LARGE', 413, 'content_too_large', 'request_too_large'],
  ['TRAILGATE_CLIENT_GONE', 408, 'request_timeout', 'client_gone'],
  ['TRAILGATE_CLIENT_TOO_SLOW', 408, 'request_timeout', 'client_too_slow'],
];

describe('a failed backend call', () => {
  it.each(TABLE)('with %s gets %i %s', (errorCode, status, code, outcome) => {
    const failure = upstreamFailure(withCode(errorCode));
    expect(failure).toEqual({ code, outcome });
    expect(ERRORS[failure.code].status).toBe(status);
  });

  it.each([
    ['an error without a code', new Error('boom')],
    ['no error', undefined],
    ['a text', 'boom'],
    ['a code that is a number', Object.assign(new Error('x'), { code: 7 })],
  ])('with %s is a bad response of the backend', (_what, error) => {
    expect(upstreamFailure(error)).toEqual({ code: 'backend_bad_response', outcome: 'bad_response' });
  });

  it.each([
    ['EBUSY', 'getaddrinfo', 'unreachable'],
    ['EAI_FAIL', 'getaddrinfo', 'unreachable'],
    ['EACCES', 'connect', 'unreachable'],
    ['EPERM', 'connect', 'unreachable'],
    ['ETIMEDOUT', 'connect', 'connect_timeout'],
    ['EPROTO', 'write', 'bad_response'],
  ])('with %s in %s has the outcome %s', (errorCode, syscall, outcome) => {
    expect(upstreamFailure(Object.assign(withCode(errorCode), { syscall })).outcome).toBe(outcome);
  });

  it('takes its code from a cause, and from the errors of several addresses', () => {
    expect(upstreamFailure(new Error('fetch failed', { cause: withCode('ECONNREFUSED') })).outcome).toBe('unreachable');
    const several = new AggregateError([withCode('ECONNREFUSED'), withCode('ETIMEDOUT')]);
    expect(upstreamFailure(several).outcome).toBe('unreachable');
    expect(upstreamFailure(new Error('x', { cause: several })).outcome).toBe('unreachable');
  });

  it('with a circular chain of causes is a bad response', () => {
    const error = new Error('x');
    error.cause = error;
    expect(upstreamFailure(error).outcome).toBe('bad_response');
  });

  it.each(TABLE)('with %s does not expose its error in the detail', (errorCode) => {
    const detail = failureDetail(upstreamFailure(withCode(errorCode)));
    expect(detail).toMatch(/^[A-Z].*\.$/);
    expect(detail).not.toMatch(/10\.1\.2\.3|4001|connect|[A-Z]{4}|undici/);
  });
});
