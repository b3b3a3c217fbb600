/**
 * Errors of connections, identified by `code`. They have no stack trace, because the peer causes them, not the program.
 */

export type ConnectionErrorCode =
  /** The connection was not established within the timeout. */
  | 'TRAILGATE_CONNECT_TIMEOUT'
  /** No connection was opened, because the process is out of file descriptors or of memory for sockets. */
  | 'TRAILGATE_OUT_OF_RESOURCES'
  /** No connection was opened, because all local ports for this address are in use. */
  | 'TRAILGATE_OUT_OF_PORTS'
  /** The peer closed the connection before the response or its body was complete. */
  | 'TRAILGATE_BACKEND_CLOSED'
  /** The response is not valid HTTP/1.1. */
  | 'TRAILGATE_BAD_ANSWER'
  /** The response head or the trailer fields exceed the size limit. */
  | 'TRAILGATE_ANSWER_HEAD_TOO_LARGE'
  /** The request body does not have the length in its Content-Length. */
  | 'TRAILGATE_BODY_LENGTH'
  /** The connection pool is closed, or has discarded an idle connection. */
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
 * @param part names the invalid part of the response. Must not contain its content, which must not be logged.
 */
export function protocolError(part: string): Error {
  return connectionError('TRAILGATE_BAD_ANSWER', part);
}
