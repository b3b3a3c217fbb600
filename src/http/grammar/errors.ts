/**
 * What goes wrong on a connection, named by `code`. Made without a stack, because it
 * describes the peer and not the program.
 */

/** What can be wrong with a peer or its connection. */
export type ConnectionErrorCode =
  /** No connection in time. */
  | 'TRAILGATE_CONNECT_TIMEOUT'
  /** No connection, because this process has run out of file descriptors, or of memory for sockets. */
  | 'TRAILGATE_OUT_OF_RESOURCES'
  /** No connection, because every port that may lead to this address is in use. */
  | 'TRAILGATE_OUT_OF_PORTS'
  /** Closed before the response, or its body, was whole. */
  | 'TRAILGATE_BACKEND_CLOSED'
  /** Not HTTP/1.1 to the letter. */
  | 'TRAILGATE_BAD_ANSWER'
  /** A head, or fields behind a body, larger than allowed. */
  | 'TRAILGATE_ANSWER_HEAD_TOO_LARGE'
  /** The request body is not as long as its Content-Length says. */
  | 'TRAILGATE_BODY_LENGTH'
  /** The pool takes no more calls, or has been cut off. */
  | 'TRAILGATE_POOL_CLOSED';

export function connectionError(code: ConnectionErrorCode, detail = ''): Error {
  return errorOfPeer(code, detail);
}

/** An error that names itself by `code`, without a stack. */
export function errorOfPeer(code: string, detail = ''): Error {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  const error = Object.assign(new Error(detail === '' ? code : `${code}: ${detail}`), { code });
  Error.stackTraceLimit = limit;
  return error;
}

/** @param part of the response that is wrong; never its bytes, which are the backend's and belong in no log. */
export function protocolError(part: string): Error {
  return connectionError('TRAILGATE_BAD_ANSWER', part);
}
