/** Labels of webhook states, reasons and errors. */
import { Badge } from '@mantine/core';
import { useLingui } from '@lingui/react/macro';
import type { Delivery, DeliveryStatus, Endpoint, EndpointStatus, EventType } from './webhooks.js';

const COLORS: Readonly<Record<EndpointStatus | DeliveryStatus, string>> = {
  enabled: 'river',
  paused: 'orange',
  disabled: 'red',
  pending: 'orange',
  succeeded: 'river',
  failed: 'red',
};

/** Shows the state of an endpoint; an active one that fails is marked as failing. */
export function EndpointState({ of: { status, failing_since: failingSince } }: { readonly of: Endpoint }) {
  const { t } = useLingui();
  const words = { enabled: t({ message: 'Active', context: 'an endpoint' }), paused: t`Paused`, disabled: t`Disabled` };
  const isFailing = status === 'enabled' && failingSince !== null;
  return (
    <Badge variant="light" color={isFailing ? 'red' : COLORS[status]} style={{ flexShrink: 0 }}>
      {isFailing ? t`Failing` : words[status]}
    </Badge>
  );
}

export function useDeliveryWords(): Readonly<Record<DeliveryStatus, string>> {
  const { t } = useLingui();
  return { pending: t`Pending`, succeeded: t`Delivered`, failed: t({ message: 'Failed', context: 'a delivery' }) };
}

export function DeliveryState({ of: { status } }: { readonly of: Delivery }) {
  return (
    <Badge variant="light" color={COLORS[status]} style={{ flexShrink: 0 }}>
      {useDeliveryWords()[status]}
    </Badge>
  );
}

/** Translates the description of an event type. Descriptions of the operator's own types stay as they are. */
export function useEventDescription(): (type: EventType) => string | null {
  const { i18n } = useLingui();
  return ({ source, description }) =>
    source === 'gateway' && description !== null ? i18n._(description) : description;
}

/** Returns the reasons why delivery stopped. */
export function useReasonWords(): (reason: NonNullable<Delivery['reason']>) => string {
  const { t } = useLingui();
  const words: Readonly<Record<NonNullable<Delivery['reason']>, string>> = {
    exhausted: t`All attempts failed.`,
    test_failed: t`The test did not arrive. A test is sent once.`,
    gone: t`The receiver responded with 410 Gone.`,
    aborted: t`The receiver asked for no more attempts.`,
    expired: t`Pending for more than 30 days.`,
    skipped: t`Skipped when the endpoint was resumed.`,
    endpoint_deleted: t`The endpoint was deleted.`,
  };
  return (reason) => words[reason];
}

/** Returns the texts for a rejected URL by the API's reason. */
export function useDestinationWords(): (reason: string) => string {
  const { t } = useLingui();
  const inside = t`This URL leads to a private network or to this server. Use a public address.`;
  const special = t`This URL leads to an address that isn't public.`;
  const spelled = t`Write the host as a plain domain name, such as shop.example.com.`;
  const words: Readonly<Record<string, string>> = {
    not_a_url: t`Enter a full URL, e.g. https://shop.example.com/webhooks.`,
    too_long: t`Use at most 2,048 characters.`,
    scheme: t`Use an https:// URL.`,
    userinfo: t`Remove the username and password.`,
    fragment: t`Remove the # fragment.`,
    port: t`This port is not allowed.`,
    host_spelling: spelled,
    trailing_dot: spelled,
    name_malformed: spelled,
    name_not_public: inside,
    denied: t`Your API provider doesn't allow this address.`,
    unspecified: inside,
    loopback: inside,
    private: inside,
    shared: inside,
    link_local: inside,
    cloud_metadata: inside,
  };
  return (reason) => words[reason] ?? special;
}

/** Returns the texts for a missing response. */
export function useErrorWords(): (error: string) => string {
  const { t } = useLingui();
  const destination = useDestinationWords();
  const words: Readonly<Record<string, string>> = {
    name_not_found: t`Host not found.`,
    name_unresolved: t`The host name could not be looked up.`,
    connect_failed: t`Connection refused.`,
    connect_timeout: t`The connection took too long.`,
    tls_failed: t`Invalid TLS certificate or connection.`,
    connection_closed: t`The receiver closed the connection without a response.`,
    response_timeout: t`The receiver took too long to respond.`,
    malformed_response: t`Invalid HTTP response.`,
    head_too_large: t`The response headers are too large.`,
  };
  return (error) => {
    const [, code = error, detail = ''] = /^(\w+)(?: \((.*)\))?$/.exec(error) ?? [];
    if (code === 'address_refused') return destination(detail);
    return words[code] ?? error;
  };
}
