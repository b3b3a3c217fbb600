/**
 * Creates errors of connections, identified by `code`. They have no stack trace, because the cause is outside the
 * program's code.
 */

export type ConnectionErrorCode =
  /** The connection was not established within the timeout. */
  | 'TRAILGATE_CONNECT_TIMEOUT'
  /** The connection was not opened, because the process is out of file descriptors or of memory for sockets. */
  | 'TRAILGATE_OUT_OF_RESOURCES'
  /** The connection was not opened, because all local ports for the address are in use. */
  | 'TRAILGATE_OUT_OF_PORTS'
  /** The peer closed the connection before the response was complete. */
  | 'TRAILGATE_BACKEND_CLOSED'
  /** The response is not valid HTTP/1.1, or the peer sent bytes without a request. */
  | 'TRAILGATE_BAD_ANSWER'
  /** The response head, a chunk size line or the trailer fields exceed their size limit. */
  | 'TRAILGATE_ANSWER_HEAD_TOO_LARGE'
  /** The request body ended early, or does not have the length in its `Content-Length`. */
  | 'TRAILGATE_BODY_LENGTH'
  /** The connection pool is closed, or has closed an idle connection. */
  | 'TRAILGATE_POOL_CLOSED';

export function connectionError(code: ConnectionErrorCode, detail = ''): Error {
  return errorOfPeer(code, detail);
}

/** Creates an error with a `code` and without a stack trace. */
export function errorOfPeer(code: string, detail = ''): Error {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  const error = Object.assign(new Error(detail === '' ? code : `${code}: ${detail}`), { code });
  Error.stackTraceLimit = limit;
  return error;
}

/**
 * Creates the error for an invalid response.
 * @param part names the invalid part of the response. Must not contain the content of the response, which must not be
 *   logged.
 */
export function protocolError(part: string): Error {
  return connectionError('TRAILGATE_BAD_ANSWER', part);
}
