/** The body of a webhook. It is built once for each reading of its event, and has the same bytes in every attempt. */
import { formatUtc } from '../../platform/rfc3339.js';

/** What a receiver is told of an event. */
export interface EventToSend {
  /** `evt_…`, which is the `webhook-id`, too. */
  readonly id: string;
  readonly type: string;
  readonly accountId: string;
  readonly occurredAtMs: number;
  /** JSON as it was accepted. */
  readonly data: string;
}

/**
 * Builds the body. `data` is put in as it is: read and written again, a number of more digits than JavaScript has, or
 * two members of one name, would come out as something else than was handed in.
 */
export function payloadOf({ id, type, accountId, occurredAtMs, data }: EventToSend): Buffer {
  const head = JSON.stringify({ id, type, timestamp: formatUtc(occurredAtMs), account_id: accountId });
  return Buffer.from(`${head.slice(0, -1)},"data":${data}}`);
}
