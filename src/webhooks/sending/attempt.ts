/**
 * Makes one webhook attempt: check the destination, sign, send, evaluate the response. Failures are results, not
 * errors.
 */
import type { GuardedConnections } from '../../http/outbound/guarded-agent.js';
import { parseDestination, type OutboundRules } from '../../http/outbound/destination.js';
import { sendGuarded, type GuardedResponse } from '../../http/outbound/guarded-request.js';
import { OutboundFailed, type FailureReason } from '../../http/outbound/outbound-failed.js';
import { OutboundRefused } from '../../http/outbound/outbound-refused.js';
import type { Clock } from '../../platform/clock.js';
import { METRICS, type OwnResource, type WebhookAttemptOutcome } from '../../platform/metrics.js';
import { resourceOf, SHORTAGES } from '../../platform/resources/shortages.js';
import { formatUtc } from '../../platform/rfc3339.js';
import { VERSION } from '../../platform/version.js';
import { attemptResult, type AttemptResult } from './attempt-outcome.js';
import { signatureFields, type SigningKeys } from '../signing/webhook-signature.js';

/** Bytes of the response that are stored for display. */
const KEPT_BYTES = 1_024;
const USER_AGENT = `Trailgate-Webhooks/${VERSION}`;
const NUL = /\0/g;

/** A webhook and its destination. */
export interface WebhookToSend {
  /** Current URL of the endpoint. */
  readonly url: string;
  /** `evt_…` */
  readonly eventId: string;
  /** Result of `payloadOf`. */
  readonly body: Buffer;
  readonly keys: SigningKeys;
  /** Timeout of the whole attempt. */
  readonly timeoutMs: number;
  /** Trace context of the request that caused the event. */
  readonly traceparent?: string | undefined;
}

/** An event to send. */
export interface EventToSend {
  /** `evt_…`, also sent as `webhook-id`. */
  readonly id: string;
  readonly type: string;
  readonly accountId: string;
  readonly occurredAtMs: number;
  /** JSON as accepted. */
  readonly data: string;
}

/**
 * Builds the body. `data` is inserted unchanged. Parsing would lose the digits of large numbers and duplicate members.
 */
export function payloadOf({ id, type, accountId, occurredAtMs, data }: EventToSend): Buffer {
  const head = JSON.stringify({ id, type, timestamp: formatUtc(occurredAtMs), account_id: accountId });
  return Buffer.from(`${head.slice(0, -1)},"data":${data}}`);
}

/** Result of an attempt. */
export interface AttemptMade extends AttemptResult {
  readonly atMs: number;
  readonly durationMs: number;
  readonly statusCode: number | null;
  /** Reason for a missing response, with the system's error code if any; otherwise null. */
  readonly error: string | null;
  /** Remote address of the response. */
  readonly address: string | null;
  /** Beginning of the response body as text. */
  readonly responseBody: string | null;
}

/** No attempt was made because this process lacked resources. It does not count as a failure and is retried soon. */
export interface AttemptPutOff {
  readonly shortOf: OwnResource;
}

/** Dependencies of `WebhookSender`. */
export interface WebhookSenderParts {
  readonly connections: GuardedConnections;
  /** Read at each attempt, because the configuration can change. */
  readonly rules: () => OutboundRules;
  readonly clock: Clock;
}

/** WebhookSender makes attempts. */
export class WebhookSender {
  constructor(private readonly parts: WebhookSenderParts) {}

  /** Makes an attempt. Rejects only if there is no signing key. */
  async attempt(webhook: WebhookToSend): Promise<AttemptMade | AttemptPutOff> {
    const atMs = this.parts.clock.now();
    const signature = signatureFields(webhook.eventId, atMs, webhook.body, webhook.keys);
    const startMs = performance.now();
    try {
      const response = await this.send(webhook, { ...signature });
      return this.made(atMs, startMs, response, undefined);
    } catch (error) {
      const shortOf = shortageIn(error);
      if (shortOf === undefined) return this.made(atMs, startMs, undefined, error);
      SHORTAGES.note(shortOf, 'webhook', (error as OutboundFailed).code);
      return { shortOf };
    }
  }

  private async send(webhook: WebhookToSend, signature: Record<string, string>): Promise<GuardedResponse> {
    const { connections } = this.parts;
    const rules = this.parts.rules();
    const { url, body, timeoutMs, traceparent } = webhook;
    const headers = {
      'content-type': 'application/json',
      'user-agent': USER_AGENT,
      'accept-encoding': 'identity',
      ...signature,
      ...(traceparent === undefined ? {} : { traceparent }),
    };
    const destination = parseDestination(url, rules);
    return await sendGuarded(
      { destination, method: 'POST', headers, body, timeoutMs, keepBytes: KEPT_BYTES },
      { ...connections.options, rules, connections },
    );
  }

  private made(atMs: number, startMs: number, response: GuardedResponse | undefined, error: unknown): AttemptMade {
    const durationMs = Math.round(performance.now() - startMs);
    const result = attemptResult(response === undefined ? undefined : judgedPart(response), this.parts.clock.now());
    const outcome = response === undefined ? outcomeOf(error) : result.outcome;
    METRICS.webhookAttempts.series(outcome).inc();
    METRICS.webhookAttemptDuration.series(outcome).observe(durationMs / 1_000);
    if (error instanceof OutboundRefused) METRICS.webhookRefusedDestinations.series(error.reason).inc();
    return {
      ...result,
      atMs,
      durationMs,
      statusCode: response?.statusCode ?? null,
      error: response === undefined ? errorText(error) : null,
      address: response?.address ?? null,
      responseBody: response === undefined ? null : textOf(response.body),
    };
  }
}

function judgedPart({ statusCode, headers }: GuardedResponse): Parameters<typeof attemptResult>[0] {
  const field = headers['webhook-delivery'];
  return { statusCode, retryAfter: headers['retry-after'], webhookDelivery: Array.isArray(field) ? field[0] : field };
}

/** Decodes UTF-8. Drops a truncated last character, and replaces NUL, which PostgreSQL rejects. */
function textOf(body: Buffer): string {
  return new TextDecoder().decode(body, { stream: body.length >= KEPT_BYTES }).replaceAll(NUL, '\uFFFD');
}

/**
 * Returns the error text without the resolved address. The owner of the endpoint must not learn internal DNS results.
 */
function errorText(error: unknown): string {
  if (error instanceof OutboundRefused) return `address_refused (${error.reason})`;
  return error instanceof Error ? error.message : String(error);
}

/** Returns the local resource whose shortage caused the failure, if any. */
function shortageIn(error: unknown): OwnResource | undefined {
  if (!(error instanceof OutboundFailed)) return undefined;
  const isAboutName = error.reason === 'name_not_found' || error.reason === 'name_unresolved';
  // A resolver that cannot open a socket reports that the name does not exist.
  if (isAboutName) return SHORTAGES.isOutOfDescriptors ? 'file_descriptors' : undefined;
  return resourceOf(error.code);
}

const OUTCOME_OF: Readonly<Record<FailureReason, WebhookAttemptOutcome>> = {
  name_not_found: 'dns',
  name_unresolved: 'dns',
  connect_failed: 'connect',
  connect_timeout: 'timeout',
  tls_failed: 'tls',
  connection_closed: 'failed',
  response_timeout: 'timeout',
  malformed_response: 'failed',
  head_too_large: 'failed',
};

function outcomeOf(error: unknown): WebhookAttemptOutcome {
  if (error instanceof OutboundRefused) return 'refused';
  return error instanceof OutboundFailed ? OUTCOME_OF[error.reason] : 'failed';
}
